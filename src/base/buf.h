/*
 * buf.h -- a growing byte buffer.
 *
 * Invariants: p[0..len) is the content, len <= cap, p is NULL only while cap
 * is 0.  An addition that cannot get memory changes nothing but `failed`,
 * which stays set until buf_reset(), so that a run of additions is checked
 * once at its end.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <string.h>

#include "base/str.h"

struct buf {
	char *p;
	size_t len;
	size_t cap;
	bool failed;
};

void buf_init(struct buf *b);
void buf_done(struct buf *b); /* frees; accepts the empty */
void buf_reset(struct buf *b); /* len = 0, keeps the memory */

/* Room for n more bytes behind len; -1 with ENOMEM (and failed set). */
int buf_reserve(struct buf *b, size_t n);

void buf_grow_and_add(struct buf *b, const void *p, size_t n);

/* Heads are put together by many small additions, which mostly fit. */
static inline void
buf_add(struct buf *b, const void *p, size_t n)
{
	if (n == 0 || n > b->cap - b->len || b->failed) {
		buf_grow_and_add(b, p, n);
		return;
	}
	memcpy(b->p + b->len, p, n);
	b->len += n;
}

static inline void
buf_add_str(struct buf *b, struct str s)
{
	buf_add(b, s.p, s.len);
}

void buf_add_char(struct buf *b, char c);
void buf_add_u64(struct buf *b, uint64_t v); /* decimal */
void buf_addf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void buf_vaddf(struct buf *b, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

struct str buf_str(const struct buf *b); /* a view, valid until the next add */

/* Content as a C string: a NUL is put behind it, not counted.  "" on ENOMEM. */
const char *buf_z(struct buf *b);

#endif
