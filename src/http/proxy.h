/*
 * proxy.h -- the PROXY protocol, versions 1 and 2: a load balancer tells whose
 * connection it hands on, before the first byte of the client's own.
 */
#ifndef HTTP_PROXY_H
#define HTTP_PROXY_H

#include "base/str.h"

/* The longest headers; a longer one of version 2 is refused. */
#define PROXY_V1_MAX 107
#define PROXY_V2_MAX 536

enum proxy_mode {
	PROXY_OFF,
	PROXY_V1,
	PROXY_V2,
	PROXY_AUTO /* either, but one there must be */
};

extern const char *const proxy_mode_names[]; /* ends with NULL */

struct proxy_source {
	int version; /* of IP: 4, 6; 0: the balancer speaks for itself */
	unsigned char ip[16]; /* 4 or 16 bytes */
	int port;
};

/*
 * Read the header p[0 .. n) begins with.  Returns its length, 0 if more bytes
 * are needed, or -1 if it is none that the mode (not off) allows.  Nothing
 * depends on where the bytes were cut.  What version 2 adds behind the
 * addresses is checked to be well-formed and skipped.
 */
int proxy_read(enum proxy_mode mode, const char *p, size_t n,
	struct proxy_source *ret_source);

#endif
