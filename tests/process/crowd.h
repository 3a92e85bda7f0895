/*
 * crowd.h -- forty clients of tests/apps/soak.c, each with whims of its own,
 * who check every byte and remember every request.
 */
#ifndef TESTS_PROCESS_CROWD_H
#define TESTS_PROCESS_CROWD_H

#include "process/harness.h"

#define CROWD 40

struct crowd;

/*
 * Half of them come to the port, the others to the unix socket; half keep
 * their connections.  What they do is up to the seed.
 */
struct crowd *crowd_start(int port, const char *path, uint64_t seed);

long crowd_count(const struct crowd *c); /* requests answered so far */
long crowd_lost(const struct crowd *c); /* with a worker that was killed */

/* Fails the test if one of them met with an error. */
void crowd_check(const struct crowd *c);
void crowd_stop(struct crowd *c); /* and that; they stay for the next: */

/*
 * Is each answered request in these access logs once, and none twice?  Only a
 * worker that was killed may have taken a line with it.
 */
void crowd_check_logs(const struct crowd *c, char *const *logs, int n);
void crowd_free(struct crowd *c);

/* The next of a row of pseudo-random numbers, below n. */
unsigned chance(uint64_t *row, unsigned n);

#endif
