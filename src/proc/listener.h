/*
 * listener.h -- a listening socket.
 */
#ifndef PROC_LISTENER_H
#define PROC_LISTENER_H

#include <stdint.h>

#include "conf/addr.h"

struct listener {
	struct addr addr;
	char text[160]; /* addr.text, kept over generations */
	int fd;
	bool inherited; /* came as fd:N or LISTEN_FDS: others hold it too */
	uint64_t inode_dev, inode; /* of a unix socket we made, else 0 */
};

/*
 * Bind and listen (or adopt fd:N, checking that it is a listening stream
 * socket): close-on-exec, non-blocking, SO_REUSEADDR, IPV6_V6ONLY,
 * TCP_NODELAY (accepted sockets inherit it), mode on a unix path.  A unix path
 * where nobody listens any more is replaced, a live one is EADDRINUSE.  A TCP
 * address in use is tried again for a bounded time (about 2 s).  Returns -1
 * with errno and a reason in why[].
 */
int listener_open(struct listener *l, const struct addr *a, int backlog,
	int unix_mode, char *why, size_t why_max);

/* Change the backlog of an open one; inherited ones are left alone. */
void listener_set_backlog(struct listener *l, int backlog);

/* Close, and unlink the unix path if it is still the one we made. */
void listener_close(struct listener *l, bool unlink_path);

/* Does the socket bound to l->fd serve address a? */
bool listener_serves(const struct listener *l, const struct addr *a);

#endif
