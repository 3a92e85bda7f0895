/*
 * forkguard.h -- when an application forks.
 *
 * A child of the application's own must not act for the worker: it gets
 * default signals and none of the worker's descriptors, every call of
 * narwhal/app.h fails there, and if open, handle or close returns in it the
 * process ends.
 */
#ifndef WORKER_FORKGUARD_H
#define WORKER_FORKGUARD_H

#include <stdbool.h>

/*
 * This process is the worker.  forget(arg) is called in every process forked
 * from it: close the listeners, the leash, the epoll set and all connections,
 * with no more than async-signal-safe calls and no shutdown(2).
 */
void forkguard_init(void (*forget)(void *arg), void *arg);

/* Is this a process that fork(2) made from the worker?  Costs nothing. */
bool forkguard_is_child(void);

/* End this process if it is such a child. */
void forkguard_end_child(int status);

#endif
