/*
 * buf.c -- a growing byte buffer.
 *
 * Once an addition has failed, those after it do nothing either: what is in
 * the buffer is always a prefix of what was meant.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"

#define CAP_MIN 64

void
buf_init(struct buf *b)
{
	*b = (struct buf){0};
}

void
buf_done(struct buf *b)
{
	free(b->p);
	buf_init(b);
}

void
buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = false;
}

static int
fail(struct buf *b)
{
	b->failed = true;
	errno = ENOMEM;
	return -1;
}

int
buf_reserve(struct buf *b, size_t n)
{
	size_t need, cap;
	char *p;

	if (b->failed || __builtin_add_overflow(b->len, n, &need))
		return fail(b);
	if (need <= b->cap)
		return 0;
	cap = b->cap > SIZE_MAX / 2 ? need : b->cap * 2;
	if (cap < need)
		cap = need;
	if (cap < CAP_MIN)
		cap = CAP_MIN;
	p = realloc(b->p, cap);
	if (!p)
		return fail(b);
	b->p = p;
	b->cap = cap;
	return 0;
}

void
buf_grow_and_add(struct buf *b, const void *p, size_t n)
{
	if (!n || buf_reserve(b, n) == -1)
		return;
	memcpy(b->p + b->len, p, n);
	b->len += n;
}

void
buf_add_char(struct buf *b, char c)
{
	if (buf_reserve(b, 1) == -1)
		return;
	b->p[b->len++] = c;
}

void
buf_add_u64(struct buf *b, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + v % 10);
	while (v /= 10);
	buf_add(b, digits + at, sizeof(digits) - at);
}

void
buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(b, fmt, ap);
	va_end(ap);
}

void
buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	/* vsnprintf puts a NUL behind, which is not counted */
	if (n < 0 || buf_reserve(b, (size_t)n + 1) == -1) {
		fail(b);
		return;
	}
	vsnprintf(b->p + b->len, (size_t)n + 1, fmt, ap);
	b->len += (size_t)n;
}

struct str
buf_str(const struct buf *b)
{
	return (struct str){b->p, b->len};
}

const char *
buf_z(struct buf *b)
{
	if (buf_reserve(b, 1) == -1)
		return "";
	b->p[b->len] = '\0';
	return b->p;
}
