/*
 * target.h -- take a request target apart (RFC 9112 3.2, RFC 3986).
 */
#ifndef HTTP_TARGET_H
#define HTTP_TARGET_H

#include "base/arena.h"
#include "http/head.h"

enum target_form {
	TARGET_ORIGIN, /* /path?query */
	TARGET_ABSOLUTE, /* http://host/path?query */
	TARGET_ASTERISK, /* *, with OPTIONS only */
};

struct target {
	enum target_form form;
	struct str raw_path; /* as received, "/" if an absolute form has none */
	struct str path; /* percent-decoded once, may hold any byte; "*" */
	struct str query; /* as received, without the '?' */
	bool has_query; /* '?' was there */
	struct str authority; /* of an absolute form; replaces Host (3.2.2) */
	struct str scheme; /* of an absolute form */
};

/*
 * Views into the head, but for a path that needs decoding, which is allocated
 * from *a.  Returns 0, or the status to answer: 400 (a form that does not go
 * with the method, bytes that cannot stand there, a bad %XX, a fragment,
 * userinfo), 501 (CONNECT).  -1 with ENOMEM.
 */
int target_read(struct target *t, const struct head *h, struct arena *a);

#endif
