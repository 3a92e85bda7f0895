/*
 * kit.h -- what the test applications share: parameters, short answers.
 */
#ifndef TESTS_APPS_KIT_H
#define TESTS_APPS_KIT_H

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "narwhal/app.h"

/* Not every application uses all of it. */
#define KIT static inline __attribute__((unused))

#define NW(literal) ((nw_str){(literal), sizeof(literal) - 1})

KIT int
is_str(nw_str s, const char *z)
{
	return s.len == strlen(z) && memcmp(s.p, z, s.len) == 0;
}

/* Undo %XX in place. */
KIT void
unquote(char *p)
{
	char *to = p, hex[3] = "";

	for (; *p; p++) {
		if (p[0] == '%' && p[1] && p[2]) {
			hex[0] = p[1];
			hex[1] = p[2];
			*to++ = (char)strtoul(hex, NULL, 16);
			p += 2;
		} else {
			*to++ = *p;
		}
	}
	*to = '\0';
}

/* The value of a parameter of the query, "" without; cut at max. */
KIT char *
text_of(nw_request *r, const char *name, char *buf, size_t max)
{
	nw_str q = nw_query(r);
	size_t n, len = strlen(name);
	const char *end;

	buf[0] = '\0';
	for (; q.len; q.p += n, q.len -= n) {
		end = memchr(q.p, '&', q.len);
		n = end ? (size_t)(end - q.p) + 1 : q.len;
		if (n <= len || memcmp(q.p, name, len) || q.p[len] != '=')
			continue;
		snprintf(buf, max, "%.*s", (int)(n - len - 1 - (end != NULL)),
			q.p + len + 1);
		unquote(buf);
	}
	return buf;
}

/* The same as a number. */
KIT long
number_of(nw_request *r, const char *name, long otherwise)
{
	char buf[32];

	return *text_of(r, name, buf, sizeof(buf)) ? strtol(buf, NULL, 10)
						   : otherwise;
}

/* A whole answer with its length. */
KIT int
answer(nw_request *r, int status, const char *p, size_t n)
{
	char len[32];

	snprintf(len, sizeof(len), "%zu", n);
	if (nw_start(r, status, NULL) == -1 ||
		nw_add_field_z(r, "Content-Type", "text/plain") == -1 ||
		nw_add_field_z(r, "Content-Length", len) == -1)
		return -1;
	return nw_write(r, p, n);
}

__attribute__((format(printf, 2, 3))) KIT int
say(nw_request *r, const char *fmt, ...)
{
	char p[4096];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(p, sizeof(p), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(p))
		n = sizeof(p) - 1;
	return answer(r, 200, p, (size_t)n);
}

/* A line for the error log. */
__attribute__((format(printf, 2, 3))) KIT void
note(nw_server *s, const char *fmt, ...)
{
	char p[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p, sizeof(p), fmt, ap);
	va_end(ap);
	nw_log(s, NW_INFO, p, strlen(p));
}

KIT int64_t
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Sleep all of it, whatever signals come. */
KIT void
nap(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&t, &t) == -1 && errno == EINTR)
		;
}

/* The byte at offset i of every large body; no two blocks look alike. */
KIT unsigned char
pattern(uint64_t i)
{
	return (unsigned char)('a' + (i ^ i >> 5 ^ i >> 11 ^ i >> 17) % 26);
}

KIT void
fill_pattern(unsigned char *p, size_t n, uint64_t from)
{
	for (size_t i = 0; i < n; i++)
		p[i] = pattern(from + i);
}

/* FNV-1a, 32 bits; begin with FNV_BEGIN. */
#define FNV_BEGIN 2166136261u
KIT uint32_t
fnv(uint32_t h, const void *p, size_t n)
{
	const unsigned char *c = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ c[i]) * 16777619u;
	return h;
}

/* Bytes that are added to; p is malloc'd. */
struct text {
	char *p;
	size_t len, cap;
};

/* Where the next n bytes go; they are t's when t->len has grown by them. */
KIT char *
room_for(struct text *t, size_t n)
{
	if (t->len + n > t->cap) {
		t->cap = (t->len + n) * 2;
		t->p = realloc(t->p, t->cap);
		if (t->p == NULL)
			abort(); /* a test on a machine without memory */
	}
	return t->p + t->len;
}

KIT void
add_bytes(struct text *t, const char *p, size_t n)
{
	memcpy(room_for(t, n), p, n);
	t->len += n;
}

#endif
