/*
 * spawn.h -- fork: a worker, or oneself into the background.
 */
#ifndef MASTER_SPAWN_H
#define MASTER_SPAWN_H

#include "master/state.h"

/*
 * Fork a worker of g into the slot.  Returns its pid with the master's end of
 * its leash, or -1 with errno.
 */
pid_t
spawn_worker(struct master *m, int slot, struct generation *g, int *ret_leash);

/*
 * Load the application of c in a child, and wait for it.  Returns what
 * waitpid() says, or -1 with errno.
 */
int spawn_check(const struct conf *c);

/*
 * Go into the background: a session of its own, without a terminal; standard
 * error stays for the faults of a start.  Returns in the process that goes on,
 * 0, or -1 with errno in the one that was there before.  That one waits for
 * spawn_report(), and ends.
 */
int spawn_daemon(void);

/*
 * The start is over with this exit status, which the process that was started
 * now ends with.  Without a daemon, or the second time, nothing.
 */
void spawn_report(int status);

#endif
