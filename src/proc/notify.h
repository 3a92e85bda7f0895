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
 * Send the text (`READY=1`); without a socket, nothing.  If the supervisor's
 * queue is full it waits for notify_due, with the texts after it in order; of
 * two with one key that follow each other, and of very many, the later ones.
 */
void notify_send(const char *text);

/*
 * Send what waits.  And the watchdog of $WATCHDOG_USEC, if $WATCHDOG_PID is
 * this process or not set: say WATCHDOG=1 if it is time, which is twice as
 * often as the supervisor asks for.  Returns the moment (us) to come again,
 * CLOCK_NEVER if there is no need.
 */
int64_t notify_due(int64_t now);

#endif
