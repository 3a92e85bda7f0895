/*
 * allow.h -- a list of peers: addresses, networks, `*` (anybody), `unix`.
 *
 * IPv4 is kept as its mapped IPv6 form, so a v4 client that came over a v6
 * socket is the same client.
 */
#ifndef BASE_ALLOW_H
#define BASE_ALLOW_H

#include <sys/socket.h>

#include "base/str.h"

enum allow_kind {
	ALLOW_NET,
	ALLOW_ANY,
	ALLOW_UNIX
};

struct allow_entry {
	enum allow_kind kind;
	unsigned char net[16];
	int bits; /* of net that count, 0 to 128 */
};

struct allow {
	const struct allow_entry *v;
	size_t n;
};

/*
 * Read one entry: `10.0.0.1`, `10.0.0.0/8`, `::1`, `fd00::/8`, `*`, `unix`.
 * Returns 0, or -1 with a reason in *ret_why (a literal).
 */
int allow_read(
	struct str text, struct allow_entry *ret_entry, const char **ret_why);

/* The numeric address to its 16 bytes; -1 if it is none. */
int allow_read_ip(struct str text, unsigned char ret_ip[16]);

bool allow_has_ip(const struct allow *a, const unsigned char ip[16]);

/* Is the peer at the other end of a socket in the list? */
bool allow_has_peer(const struct allow *a, const struct sockaddr *sa);

#endif
