/*
 * queues.h -- say so when clients come faster than workers take them.
 */
#ifndef MASTER_QUEUES_H
#define MASTER_QUEUES_H

#include "master/state.h"

/*
 * A warning for each listener whose queue is full: what comes now is refused
 * or tries again.  At most once in ten seconds.
 */
void queues_watch(struct master *m, int64_t now);

#endif
