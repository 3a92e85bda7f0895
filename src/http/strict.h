/*
 * strict.h -- accept or refuse the raw bytes of a request head.
 *
 * Runs before http-parser and decides what it would let through: the request
 * line's form (one SP between its parts, RFC 9112 3), CRLF only (2.2), tokens
 * for method and field names, no blank before the colon (5.1), no folding
 * (5.2), no control bytes in values (RFC 9110 5.5), the version (501, 505
 * included), the limits.  Host, framing and the form of the target are judged
 * from the tokenised head by framing.h and target.h.
 *
 * It is a scanner that is fed as bytes arrive and stops where it was, so a
 * dripping client costs one look per byte.  Limits are judged as soon as they
 * are passed, not at the head's end.
 */
#ifndef HTTP_STRICT_H
#define HTTP_STRICT_H

#include "base/str.h"

struct strict_limits {
	size_t head; /* bytes of the whole head, its last CRLF too: 431 */
	size_t line; /* bytes of the request line without CRLF: 414 */
	size_t fields; /* field lines: 431 */
	size_t field; /* bytes of one field line without CRLF: 431 */
};

struct strict {
	int state;
	size_t at; /* bytes looked at so far */
	size_t start; /* where the request line begins (empty lines before) */
	size_t line_start; /* where the current line begins */
	size_t nfields;
	size_t mark; /* where the current part of the line begins */
	int minor;
};

void strict_reset(struct strict *s);

/* For trailers (RFC 9112 7.1.2): field lines only, no request line. */
void strict_reset_trailers(struct strict *s);

/*
 * Look at p[s->at .. len), where p[0 .. len) is all that came of the head so
 * far (p may have moved since the last call).  Returns 0 when nothing is wrong
 * yet, with *ret_len the length of the head, its closing empty line included,
 * once it is complete and 0 before; or the status to answer, after which the
 * scanner is of no more use.  The head proper begins at s->start.
 */
int strict_scan(struct strict *s, const struct strict_limits *limits,
	const char *p, size_t len, size_t *ret_len);

/* Did nothing come yet but whole empty lines, which begin no request (2.2)? */
bool strict_is_blank(const struct strict *s);

/* tchar of RFC 9110 5.6.2 */
bool strict_is_token(struct str s);

/* May stand in a field value: HTAB, SP to ~, 0x80 to 0xff. */
bool strict_is_value(struct str s);

#endif
