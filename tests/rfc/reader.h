/*
 * reader.h -- a second reader of requests, slow and obvious.
 *
 * Written from RFC 9112 and RFC 9110 for tests to hold against the server; it
 * shares nothing with it.  Where the RFC leaves a choice it is as strict as
 * narwhal means to be: CRLF only, no folding, one length only, `chunked` alone.
 *
 * It is given all that a client sends before it closes, so what is not whole
 * is as bad as what is malformed.
 */
#ifndef RFC_READER_H
#define RFC_READER_H

#include <stdbool.h>
#include <stddef.h>

enum reading_kind {
	READING_GOOD,
	READING_BAD, /* not to be served */
	READING_BAD_BODY, /* the same, but its head is good */
	READING_NOTHING, /* at most empty lines, which begin no request */
};

struct reader_limits {
	size_t head, line, fields, field;
	size_t body; /* 0: none */
};

struct reading {
	enum reading_kind kind;
	const char *why; /* it is bad */
	size_t used; /* bytes of a good one */
	bool head_only; /* HEAD */
	bool http_1_0;
	bool close; /* the client wants no more */
	bool expects; /* 100 Continue */
	bool over; /* a limit of the server's: it may refuse */
	char *told; /* what witness.c says of it; reading_done() */
	size_t told_len;
	size_t told_head; /* of that, without the body */
};

/* The request at the front of p[0 .. n). */
void reader_read(const char *p, size_t n, const struct reader_limits *limits,
	struct reading *ret);
void reading_done(struct reading *r);

#endif
