/*
 * load.h -- a configuration on its way.
 *
 * Shared by conf.c, which gathers the values, and check.c, which judges them
 * together.  Faults are written down, never acted upon at once, so that the
 * operator sees all of them.
 */
#ifndef CONF_LOAD_H
#define CONF_LOAD_H

#include "conf/keys.h"

struct load {
	struct conf *c;
	const struct conf_args *args;
	struct buf *errors;
	struct buf *notes;
	const char *cwd; /* where relative paths of the command line start */
	const char *folder; /* the file's */
	bool refused[CONF_KEYS_MAX]; /* per row: there is a fault already */
	int faults;
};

/* A fault of key k, named as the place its value came from names it. */
void load_fault(struct load *l, const struct key *k, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same for something the operator should know. */
void load_note(struct load *l, const struct key *k, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Judge the values together; resolves the addresses into l->c->addrs. */
void check_all(struct load *l);

#endif
