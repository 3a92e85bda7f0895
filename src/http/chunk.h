/*
 * chunk.h -- the chunked coding (RFC 9112 7.1), strictly.
 *
 * The decoder eats the framing and leaves the data to the caller: after
 * chunk_parse() says so, `left` bytes of data follow, which may be read
 * straight from the socket into the application's buffer; chunk_took() tells
 * the decoder how many were.  CRLF only, hexadecimal digits only, extensions
 * by the grammar (errata 7633: no bare CR or LF, quoted strings) and ignored.
 */
#ifndef HTTP_CHUNK_H
#define HTTP_CHUNK_H

#include "base/buf.h"
#include "http/strict.h"

/* Most bytes of one chunk line, its extensions included, without CRLF. */
#define CHUNK_LINE_MAX 4096

/* Most bytes of all chunk extensions of one body; 400 beyond. */
#define CHUNK_EXT_MAX (64 * 1024)

struct chunk {
	int state;
	uint64_t size; /* of the chunk whose line is being read */
	uint64_t left; /* bytes of data that come next; 0: framing comes next */
	bool done; /* the whole body, trailers included, has been eaten */
	size_t line_len;
	size_t ext_len;
	struct buf *trailers; /* the raw trailer section gathers here */
	const struct strict_limits *limits; /* for the trailers */
	struct strict strict;
};

/* A new body.  *trailers is reset and must outlive it, like *limits. */
void chunk_reset(struct chunk *c, struct buf *trailers,
	const struct strict_limits *limits);

/*
 * Eat framing from p[0 .. n) until data comes next (left > 0), the body is
 * done, or the bytes are used up; *ret_used says how many were eaten.  Returns
 * 0, or the status to answer: 400, 431 for trailers beyond the limits, 500 when
 * there is no memory for them.  Never called while left > 0.
 */
int chunk_parse(struct chunk *c, const char *p, size_t n, size_t *ret_used);

/* n <= left bytes of data were taken. */
void chunk_took(struct chunk *c, uint64_t n);

/* After done: field lines and the empty line, or empty without a trailer. */
struct str chunk_trailers(const struct chunk *c);

/*
 * The line before n > 0 bytes of data, `1f CRLF`, into p of CHUNK_HEAD_MAX
 * bytes; returns its length.
 */
#define CHUNK_HEAD_MAX 18
size_t chunk_head(char *p, uint64_t n);

#endif
