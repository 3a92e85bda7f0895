/*
 * addr.h -- one address to listen on.
 */
#ifndef CONF_ADDR_H
#define CONF_ADDR_H

#include <sys/socket.h>
#include <sys/un.h>

#include "base/arena.h"

enum addr_kind {
	ADDR_TCP,
	ADDR_UNIX,
	ADDR_FD
};

struct addr {
	enum addr_kind kind;
	const char *text; /* as it is logged: 127.0.0.1:8000, unix:/p, fd:3 */
	int fd; /* ADDR_FD: the number; else -1 */
	socklen_t len;
	struct sockaddr_storage sa;
};

/*
 * Read `host:port`, `[v6]:port`, `unix:/path` or `fd:N`.  A name is resolved
 * now and may give several addresses, at most max; all are filled.  Returns
 * how many, or -1 with a reason in *ret_why (from *a).
 */
int addr_read(struct str text, struct arena *a, struct addr *out, int max,
	const char **ret_why);

bool addr_eq(const struct addr *a, const struct addr *b);

/* Would binding one fail while the other is bound (same port, any-address)? */
bool addr_overlaps(const struct addr *a, const struct addr *b);

/* `127.0.0.1:80`, `[::1]:80`, `unix:/p` of a socket address, from *a. */
const char *
addr_text(const struct sockaddr *sa, socklen_t len, struct arena *a);

#endif
