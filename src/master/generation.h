/*
 * generation.h -- one configuration and the descriptors that go with it.
 *
 * A generation is made beside the one that serves, and shares with it the
 * listeners whose address stays.  Whoever serves owns them: generation_open()
 * borrows, generation_take_over() takes.
 */
#ifndef MASTER_GENERATION_H
#define MASTER_GENERATION_H

#include "conf/conf.h"
#include "proc/leash.h"
#include "proc/listener.h"
#include "proc/pidfile.h"

struct generation {
	struct generation *next; /* in the master's list of old ones */
	uint64_t number;
	struct conf *conf;
	/* Of an address that was removed since, the descriptor is -1. */
	struct listener listeners[LEASH_LISTENERS_MAX];
	size_t nlisteners;
	uint64_t removed; /* bit i: listener i is to be drained */
	int error_fd; /* -1 once another generation serves */
	int access_fd; /* -1: no access log */
	struct pidfile pidfile;
	bool pidfile_was_stale; /* it was there, and said: */
	char pidfile_old[PIDFILE_TEXT_MAX];
};

/*
 * Load the configuration and check what conf cannot.  NULL after having added
 * a line for each fault to *errors; it is then the caller's to log them.
 */
struct generation *generation_load(const struct conf_args *args,
	uint64_t number, struct buf *errors, struct buf *notes);

/*
 * Open its pid file, logs and listeners, those that `beside` (or NULL) has not
 * got; what it and the older ones behind it have removed may be draining still.
 * Returns -1 after having added a line to *errors; then nothing stays open.
 */
int generation_open(struct generation *g, struct generation *beside,
	int patience_ms, struct buf *errors);

/*
 * g serves from now on, no longer `from`: what only `from` had is shut and
 * closed, and in it and the `older` ones behind it marked as removed.
 */
void generation_take_over(struct generation *g, struct generation *from);

/*
 * Close what it does not share with `beside` (or NULL), remove unix paths and
 * the pid file.
 */
void generation_close(struct generation *g, const struct generation *beside);

/* The bits of all its listeners, removed ones too. */
uint64_t generation_all(const struct generation *g);

/* Let no more connections in, and close the master's copies. */
void generation_shut(struct generation *g);

/* Log what the operator should know about it, once its log is open. */
void generation_warn(const struct generation *g);

/* In a child: close what it does not share with `mine`. */
void generation_forget(struct generation *g, const struct generation *mine);

/* Its logs are opened anew; -1: there is none, or it stayed as it was. */
void generation_reopen_logs(
	struct generation *g, int *ret_error_fd, int *ret_access_fd);

/* Gives back the memory; what it has open is closed already. */
void generation_free(struct generation *g);

#endif
