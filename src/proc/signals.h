/*
 * signals.h -- all of narwhal's signal handling, master and worker.
 *
 * Handlers raise one flag per signal and do nothing else (a worker's QUIT,
 * which leaves at once, is the exception).  The handled set is blocked except
 * while waiting, so "look at the flags, then wait" loses nothing: in the master
 * for good, in a worker only between signals_hold() and signals_release(), so
 * that applications run with a normal mask.
 */
#ifndef PROC_SIGNALS_H
#define PROC_SIGNALS_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>

/* Install the master's handlers and block them. */
void signals_master(void);

/*
 * In a worker, after signals_forget(): install its handlers and open the mask.
 * HUP, INT, USR1, USR2, WINCH, TTIN, TTOU get an empty handler (SIG_IGN would
 * be inherited over exec), TERM a flag, QUIT leaves by _exit(0), PIPE is
 * empty too; CHLD and ABRT are left at their defaults.
 */
void signals_worker(void);

/*
 * In a worker: TERM when the master dies, however it does, so that the response
 * in the making can still announce the close.  The kernel forgets it when the
 * user changes: ask once that is over.
 */
void signals_follow_master(void);

/*
 * First thing after fork: drop all flags, reset every disposition to its
 * default; the mask stays blocked until signals_worker().
 */
void signals_forget(void);

/* In a fork made by the application: defaults everywhere, empty mask. */
void signals_leave(void);

/* Was this signal raised since the last take?  Clears it. */
bool signals_take(int sig);
bool signals_pending(int sig); /* without clearing */

/* In a worker: block the handled set, open it again. */
void signals_hold(void);
void signals_release(void);

/* The mask to wait with, for ppoll and epoll_pwait. */
const sigset_t *signals_wait_mask(void);

/*
 * ppoll with the mask open; -1 with EINTR after a signal.  timeout_ms -1 waits
 * for ever.
 */
int signals_wait(struct pollfd *p, int n, int timeout_ms);

#endif
