/*
 * notify.h -- tell NOTIFY_SOCKET (sd_notify's protocol) how we are.
 */
#ifndef PROC_NOTIFY_H
#define PROC_NOTIFY_H

/*
 * Remember $NOTIFY_SOCKET (a path, or @name for an abstract one) and take it
 * out of the environment, so that applications do not inherit it.
 */
void notify_init(void);

/* Send the text (`READY=1`); without a socket, or on an error, nothing. */
void notify_send(const char *text);

#endif
