/*
 * head.h -- a request head, as views into the bytes that came.
 *
 * The raw bytes stay put until the request ends, and so do the views.  Field
 * names keep their case; values are trimmed of OWS.  Trailers use it as well.
 */
#ifndef HTTP_HEAD_H
#define HTTP_HEAD_H

#include "base/str.h"

struct field {
	struct str name;
	struct str value;
};

struct head {
	struct str line; /* the request line without its CRLF, for the log */
	struct str method; /* a token, any token */
	struct str target; /* as received */
	int minor; /* HTTP/1.minor, 0 or 1 (a higher one counts as 1) */
	struct field *fields; /* the caller's array ... */
	size_t nfields;
	size_t fields_max; /* ... of this size */
};

void head_init(struct head *h, struct field *fields, size_t max);
void head_reset(struct head *h); /* for the next request; keeps the array */

/* The value of the first field of that name (any case), or NULL. */
const struct str *head_get(const struct head *h, struct str name);

#endif
