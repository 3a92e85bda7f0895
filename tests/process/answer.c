/*
 * answer.c -- reading answers, to the letter.
 *
 * A status line, field lines, lengths and chunks that are not as RFC 9112 has
 * them are an error, and so are bytes where the end of the connection is due.
 */
#include "process/harness.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

static void
consume(struct client *c, size_t n)
{
	c->in.n -= n;
	memmove(c->in.p, c->in.p + n, c->in.n + 1);
}

/* The rest of a head's line with that name, and how many there are. */
static const char *
find_field(const char *head, const char *name, int *ret_n)
{
	static __thread char value[65536];
	const char *line, *end;
	size_t n = strlen(name);

	*ret_n = 0;
	for (line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
		line += 2;
		if (strncasecmp(line, name, n) != 0 || line[n] != ':')
			continue;
		if ((*ret_n)++ > 0)
			continue;
		line += n + 1;
		line += strspn(line, " ");
		end = strstr(line, "\r\n");
		n = strlen(name);
		snprintf(value, sizeof(value), "%.*s", (int)(end - line), line);
	}
	return *ret_n ? value : NULL;
}

const char *
answer_field(const struct answer *a, const char *name)
{
	int n;

	return find_field(a->head, name, &n);
}

int
answer_fields(const struct answer *a, const char *name)
{
	int n;

	find_field(a->head, name, &n);
	return n;
}

void
answer_done(struct answer *a)
{
	free(a->head);
	free(a->trailers);
	bytes_done(&a->body);
	memset(a, 0, sizeof(*a));
}

static bool
broken(struct client *c, const char *why)
{
	c->error = why;
	return false;
}

/* Lines up to and with an empty one, into *ret (malloc'd). */
static bool
take_lines(struct client *c, const char *stop, char **ret)
{
	char *end;
	size_t n;

	while (!c->in.p || !(end = strstr(c->in.p, stop)))
		if (!client_try_fill(c))
			return false;
	n = (size_t)(end - c->in.p) + strlen(stop);
	*ret = strndup(c->in.p, n);
	consume(c, n);
	return true;
}

static bool
take_bytes(struct client *c, size_t n, struct bytes *to)
{
	size_t some;

	while (n > 0) {
		if (c->in.n == 0 && !client_try_fill(c))
			return false;
		some = c->in.n < n ? c->in.n : n;
		bytes_add(to, c->in.p, some);
		consume(c, some);
		n -= some;
	}
	return true;
}

/* The trailer section: field lines, then an empty line. */
static bool
take_trailers(struct client *c, struct answer *a)
{
	struct bytes all = {0};
	char *line;
	bool last;

	do {
		if (!take_lines(c, "\r\n", &line))
			return false;
		last = strcmp(line, "\r\n") == 0;
		if (!last)
			bytes_add(&all, line, strlen(line));
		free(line);
	} while (!last);
	bytes_add(&all, "", 0);
	a->trailers = all.p;
	return true;
}

static bool
take_chunks(struct client *c, struct answer *a)
{
	char *line, *end;
	size_t n;

	for (;;) {
		if (!take_lines(c, "\r\n", &line))
			return false;
		n = strtoul(line, &end, 16);
		if (end == line || strcmp(end, "\r\n") != 0)
			return broken(c, "not a chunk size line");
		free(line);
		if (n == 0)
			return take_trailers(c, a);
		if (!take_bytes(c, n, &a->body) ||
			!take_lines(c, "\r\n", &line))
			return false;
		if (strcmp(line, "\r\n") != 0)
			return broken(c, "no CRLF after the chunk's data");
		free(line);
	}
}

static bool
take_body(struct client *c, struct answer *a, bool to_head)
{
	const char *length = answer_field(a, "Content-Length");
	const char *coding = answer_field(a, "Transfer-Encoding");

	if (answer_fields(a, "Content-Length") > 1)
		return broken(c, "two Content-Lengths");
	if (answer_fields(a, "Content-Length") && coding)
		return broken(c, "Content-Length and Transfer-Encoding");
	if (to_head || a->status == 204 || a->status == 304)
		return true;
	a->chunked = coding != NULL;
	if (coding)
		return strcmp(coding, "chunked") == 0
			? take_chunks(c, a)
			: broken(c, "an odd transfer coding");
	length = answer_field(a, "Content-Length");
	if (length)
		return take_bytes(c, strtoul(length, NULL, 10), &a->body);
	a->until_eof = true;
	while (client_try_fill(c))
		;
	return c->eof && take_bytes(c, c->in.n, &a->body);
}

static bool
take_head(struct client *c, struct answer *a)
{
	const char *connection;

	if (!take_lines(c, "\r\n\r\n", &a->head))
		return false;
	if (strncmp(a->head, "HTTP/1.1 ", 9) != 0 || a->head[12] != ' ')
		return broken(c, "not a status line");
	a->status = atoi(a->head + 9);
	connection = answer_field(a, "Connection");
	a->close = connection && strcasecmp(connection, "close") == 0;
	return true;
}

bool
client_try_read(struct client *c, struct answer *a, bool to_head)
{
	int interim = 0;

	memset(a, 0, sizeof(*a));
	while (take_head(c, a)) {
		if (a->status < 200) {
			interim++;
			answer_done(a);
			continue;
		}
		a->interim = interim;
		bytes_add(&a->body, "", 0);
		return take_body(c, a, to_head);
	}
	return false;
}

void
client_read(struct client *c, struct answer *a)
{
	MUST(client_try_read(c, a, false), "no whole answer: %s (%.300s)",
		c->error,
		a->head		  ? a->head
			: c->in.p ? c->in.p
				  : "");
}

void
client_read_head(struct client *c, struct answer *a)
{
	MUST(client_try_read(c, a, true), "no whole head: %s", c->error);
}

/* The moment an event says it was written, or 0 if there is none yet. */
static int64_t
take_event(struct client *c)
{
	char *p = c->in.p ? strstr(c->in.p, "data: ") : NULL;
	char *end = p ? strstr(p, "\n\n") : NULL;
	int64_t at;

	if (!end)
		return 0;
	at = strtoll(p + 6, NULL, 10);
	memset(c->in.p, ' ', (size_t)(end - c->in.p));
	return at;
}

int64_t
client_time_events(struct client *c, int n)
{
	int64_t worst = 0, at, late;

	while (n > 0) {
		at = take_event(c);
		if (at == 0) {
			MUST(client_try_fill(c), "%d events missing: %s", n,
				c->error);
			continue;
		}
		late = now_us() - at;
		worst = late > worst ? late : worst;
		n--;
	}
	return worst;
}

struct sender {
	struct client *c;
	const void *p;
	size_t n;
};

static void *
send_it(void *arg)
{
	struct sender *s = arg;
	struct client c = {.fd = s->c->fd}; /* its own error, no buffer */

	client_try_send(&c, s->p, s->n);
	return NULL;
}

void
client_exchange(struct client *c, const void *p, size_t n, struct answer *a)
{
	struct sender s = {c, p, n};
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, send_it, &s) == 0, "thread");
	client_read(c, a);
	if (a->close) /* it may wait for a server that has heard enough */
		shutdown(c->fd, SHUT_WR);
	pthread_join(thread, NULL);
}

/* ---- one request ---- */

void
ask(const struct server *s, const void *p, size_t n, struct answer *a)
{
	struct client c;

	client_open(&c, s);
	client_send(&c, p, n);
	client_read(&c, a);
	client_done(&c);
}

void
get(const struct server *s, const char *target, struct answer *a)
{
	char text[4096];

	snprintf(text, sizeof(text),
		"GET %s HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n",
		target);
	ask(s, text, strlen(text), a);
}

void
must_get(const struct server *s, const char *target, const char *body)
{
	struct answer a;

	get(s, target, &a);
	MUST(a.status == 200, "%s: status %d", target, a.status);
	MUST(!body || strcmp(a.body.p, body) == 0, "%s: body %.200s", target,
		a.body.p);
	answer_done(&a);
}
