/*
 * listener.h -- a listening socket.
 */
#ifndef PROC_LISTENER_H
#define PROC_LISTENER_H

#include <stdint.h>
#include <sys/stat.h>

#include "conf/account.h"
#include "conf/addr.h"

#define LISTENER_WHY_MAX 160

struct listener {
	struct addr addr; /* as configured; its text is not kept */
	char text[160]; /* as bound, with the real port; for log lines */
	int fd;
	bool inherited; /* came as fd:N or LISTEN_FDS: others hold it too */
	int reuse_port; /* SO_REUSEPORT before listener_allow_overlap() */
	dev_t inode_dev; /* of a unix socket's path we made, else 0 */
	ino_t inode;
};

struct listener_options {
	int backlog;
	int unix_mode;
	struct account unix_owner; /* not set: as it comes */
	int patience_ms; /* how long to try a TCP address in use again */
	bool overlap; /* see listener_allow_overlap() */
};

/*
 * Bind and listen (or adopt fd:N, checking that it is a listening stream
 * socket): close-on-exec, non-blocking, SO_REUSEADDR, IPV6_V6ONLY,
 * TCP_NODELAY (accepted sockets inherit it), mode and owner on a unix path.  A
 * unix path where nobody listens any more is replaced, a live one is
 * EADDRINUSE.
 * Returns -1 with errno and a reason in why[LISTENER_WHY_MAX].
 */
int listener_open(struct listener *l, const struct addr *a,
	const struct listener_options *o, char *why);

/*
 * While this is on, an address that overlaps l's can be opened with the option
 * of that name: 0.0.0.0:80 beside 127.0.0.1:80.
 */
void listener_allow_overlap(struct listener *l, bool on);

/* Change an open one; inherited ones are left alone. */
void listener_set_backlog(struct listener *l, int backlog);
void listener_set_unix(struct listener *l, const struct listener_options *o);

/*
 * Let no more connections in; those that wait in the queue can still be
 * accepted, by whoever holds the descriptor.  A unix path is removed if it is
 * the one we made.  Inherited ones are left alone.
 */
void listener_shut(struct listener *l);

/*
 * How many connections wait to be accepted, and how many may; false where the
 * kernel does not tell (unix sockets).
 */
bool listener_queue(const struct listener *l, int *ret_waiting, int *ret_max);

/* Close, and with unlink_path remove the unix path if it is the one we made. */
void listener_close(struct listener *l, bool unlink_path);

/*
 * Is it what address a asks for?  Not if the unix path was taken away or
 * replaced meanwhile.
 */
bool listener_serves(const struct listener *l, const struct addr *a);

/* Could a not be bound because of l, although they are different? */
bool listener_overlaps(const struct listener *l, const struct addr *a);

/* Does everything that connects to l's address connect to a's as well? */
bool listener_is_within(const struct listener *l, const struct addr *a);

#endif
