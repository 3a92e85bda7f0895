/*
 * wire.h -- reads responses from bytes, slowly and obviously.
 *
 * What the tests and fuzzers of the sending side hold against what was meant.
 * It shares nothing with the code it judges, and accepts no leniency.
 */
#ifndef TESTS_WIRE_H
#define TESTS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct wire {
	const char *p; /* what is left to read */
	size_t n;
};

struct wire_message {
	const char *head; /* with its closing empty line */
	size_t head_len;
	bool chunked;
	char *body; /* malloc'ed, wire_free() */
	size_t body_len;
	size_t nchunks; /* wire chunks with data */
	const char *trailers; /* lines, without the empty one */
	size_t trailers_len;
	bool complete; /* its end is there, told by length or last chunk */
};

/* The line at the front, with its CRLF; its length, 0 if there is none. */
static inline size_t
wire_line(const struct wire *w)
{
	const char *end = memmem(w->p, w->n, "\r\n", 2);

	return end ? (size_t)(end - w->p) + 2 : 0;
}

static inline void
wire_skip(struct wire *w, size_t n)
{
	w->p += n;
	w->n -= n;
}

static inline void
wire_body(struct wire *w, struct wire_message *m, size_t n)
{
	m->body = realloc(m->body, m->body_len + n + 1);
	memcpy(m->body + m->body_len, w->p, n);
	m->body_len += n;
	m->body[m->body_len] = '\0';
	wire_skip(w, n);
}

/* Digits up to the end of a line; -1 if there is anything else. */
static inline long
wire_number(const char *p, size_t n, int base)
{
	const char *digits = base == 16 ? "0123456789abcdef" : "0123456789";
	const char *d;
	long v = 0;
	size_t i;

	for (i = 0; i < n && p[i] != '\r'; i++) {
		d = strchr(digits, p[i] | 0x20);
		if (!d || !*d)
			return -1;
		v = v * base + (d - digits);
	}
	return i == 0 ? -1 : v;
}

/* Trailer lines up to the empty one. */
static inline bool
wire_trailers(struct wire *w, struct wire_message *m)
{
	size_t n;

	m->trailers = w->p;
	while ((n = wire_line(w)) > 2) {
		m->trailers_len += n;
		wire_skip(w, n);
	}
	wire_skip(w, n);
	m->complete = n == 2;
	return n == 2 || w->n == 0;
}

/* False if it is not chunked coding; a chunk cut short is, but incomplete. */
static inline bool
wire_chunks(struct wire *w, struct wire_message *m)
{
	size_t line;
	long n;

	for (;;) {
		line = wire_line(w);
		if (line == 0)
			return w->n == 0;
		n = wire_number(w->p, line, 16);
		if (n == -1)
			return false;
		wire_skip(w, line);
		if (n == 0)
			return wire_trailers(w, m);
		m->nchunks++;
		if ((size_t)n >= w->n) {
			wire_body(w, m, w->n);
			return true;
		}
		wire_body(w, m, n);
		if (w->n >= 2 && memcmp(w->p, "\r\n", 2) != 0)
			return false;
		wire_skip(w, w->n < 2 ? w->n : 2);
	}
}

/* The value of a field, to the end of its line, or NULL. */
static inline const char *
wire_field(const struct wire_message *m, const char *name)
{
	size_t n = strlen(name);
	const char *p = m->head, *end = m->head + m->head_len;

	while ((p = memmem(p, end - p, "\r\n", 2))) {
		p += 2;
		if ((size_t)(end - p) > n + 2 && strncasecmp(p, name, n) == 0 &&
			memcmp(p + n, ": ", 2) == 0)
			return p + n + 2;
	}
	return NULL;
}

/* How many lines of the head have this name? */
static inline int
wire_count(const struct wire_message *m, const char *name)
{
	struct wire_message rest = *m;
	const char *p;
	int n = 0;

	for (; (p = wire_field(&rest, name)); n++) {
		rest.head_len -= (size_t)(p - rest.head);
		rest.head = p;
	}
	return n;
}

static inline bool
wire_field_is(const struct wire_message *m, const char *name, const char *value)
{
	const char *p = wire_field(m, name);
	size_t n = strlen(value);

	return p && strncmp(p, value, n) == 0 && p[n] == '\r';
}

/*
 * Take one response off w.  no_body: it answers HEAD, or is a 204 or 304.
 * False if the bytes are no response.
 */
static inline bool
wire_read(struct wire *w, bool no_body, struct wire_message *m)
{
	const char *end = memmem(w->p, w->n, "\r\n\r\n", 4), *length;
	long n;

	memset(m, 0, sizeof(*m));
	if (!end || strncmp(w->p, "HTTP/1.1 ", 9) != 0)
		return false;
	m->head = w->p;
	m->head_len = (size_t)(end - w->p) + 4;
	wire_skip(w, m->head_len);
	wire_body(w, m, 0);
	m->chunked = wire_field_is(m, "Transfer-Encoding", "chunked");
	length = wire_field(m, "Content-Length");
	if (m->chunked && length)
		return false;
	if (no_body) {
		m->complete = true;
		return !m->chunked;
	}
	if (m->chunked)
		return wire_chunks(w, m);
	n = length ? wire_number(length, 20, 10) : (long)w->n;
	if (n == -1)
		return false;
	m->complete = length && (size_t)n <= w->n;
	wire_body(w, m, (size_t)n < w->n ? (size_t)n : w->n);
	return true;
}

static inline void
wire_free(struct wire_message *m)
{
	free(m->body);
}

#endif
