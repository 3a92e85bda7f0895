/*
 * proxy.h -- nginx or HAProxy, with the example of conf/, before a server.
 */
#ifndef TESTS_PROCESS_PROXY_H
#define TESTS_PROCESS_PROXY_H

#include "process/harness.h"

enum proxy_kind {
	PROXY_NGINX,
	PROXY_HAPROXY,
	PROXY_KINDS
};

struct proxy {
	enum proxy_kind kind;
	pid_t pid;
	int port;
};

/*
 * Start one with its example, whose lines are changed in this: the port it
 * listens on, and the line that names narwhal's address.  upstreams are such
 * addresses as narwhal's bind takes.  Its files are in the folder of s.
 */
void proxy_start(struct proxy *p, enum proxy_kind kind, const struct server *s,
	const char *const *upstreams, int n);

/* Ask it to stop and wait for that. */
void proxy_stop(struct proxy *p);

#endif
