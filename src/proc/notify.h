/*
 * notify.h -- tell NOTIFY_SOCKET (sd_notify's protocol) how we are.
 */
#ifndef PROC_NOTIFY_H
#define PROC_NOTIFY_H

#include <stdint.h>

/*
 * Remember $NOTIFY_SOCKET (a path, or @name for an abstract one) and take it
 * out of the environment, so that applications do not inherit it.
 */
void notify_init(void);

/*
 * The watchdog of $WATCHDOG_USEC, if $WATCHDOG_PID is this process or not set:
 * say WATCHDOG=1 if it is time, which is twice as often as the supervisor asks
 * for.  Returns the moment (us) to come again, CLOCK_NEVER without one.
 */
int64_t notify_watchdog(int64_t now);

/* Send the text (`READY=1`); without a socket, or on an error, nothing. */
void notify_send(const char *text);

#endif
