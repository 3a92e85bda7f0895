/*
 * changes.h -- configurations that follow one another in the soak.
 *
 * Each differs from the last in some keys, so that in time all have changed;
 * some have a fault, and then nothing may change.
 */
#ifndef TESTS_PROCESS_CHANGES_H
#define TESTS_PROCESS_CHANGES_H

#include "process/harness.h"

struct changes {
	const struct server *s;
	uint64_t row; /* of pseudo-random numbers */
	int port, other; /* of the TCP addresses: the one, and the visitor */
	int turn; /* of the last good file */
	int next; /* the row that changes next */
	int fault; /* the fault that comes next */
	int rounds; /* each row has changed so often */
};

/* The first configuration is written, all keys as they are to begin with. */
void changes_init(struct changes *c, const struct server *s, uint64_t seed);

/* Write the next one, in which n keys have changed. */
void changes_next(struct changes *c, int n);

/* Write one that has a fault; returns what it is. */
const char *changes_fault(struct changes *c);

/* All keys as at the beginning, with this instead of one of them, or NULL. */
void changes_back(struct changes *c, const char *key, const char *value);

/* Is the second address among them now? */
bool changes_other_is_open(const struct changes *c);

/* Fails the test unless every key that -T prints has a row, and no other. */
void changes_check_table(const struct changes *c);

#endif
