/*
 * spawn.h -- fork a worker.
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

#endif
