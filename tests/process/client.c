/*
 * client.c -- connections of the test's, and the answers read from them.
 *
 * Reads are strict: a status line, field lines, lengths and chunks that are
 * not to the letter are an error, and so are bytes after the end of a message
 * where an end of the connection is due.
 */
#include "process/harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int64_t
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t
now_ms(void)
{
	return now_us() / 1000;
}

void
nap(void)
{
	poll(NULL, 0, 2);
}

void
bytes_add(struct bytes *b, const void *p, size_t n)
{
	if (b->n + n + 1 > b->max) {
		b->max = 2 * b->max + n + 1;
		b->p = realloc(b->p, b->max);
		MUST(b->p, "out of memory");
	}
	memcpy(b->p + b->n, p, n);
	b->n += n;
	b->p[b->n] = '\0';
}

void
bytes_done(struct bytes *b)
{
	free(b->p);
	memset(b, 0, sizeof(*b));
}

/* ---- connections ---- */

int
server_port(const struct server *s, int listener)
{
	struct sockaddr_in a;
	socklen_t n = sizeof(a);

	MUST(getsockname(s->listeners[listener], (void *)&a, &n) == 0, "port");
	return ntohs(a.sin_port);
}

bool
client_try_port(struct client *c, int port, int rcvbuf)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)port)};
	int on = 1;

	memset(c, 0, sizeof(*c));
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (rcvbuf) /* before connect: it decides about the window */
		setsockopt(
			c->fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
	if (connect(c->fd, (void *)&a, sizeof(a)) == 0)
		return true;
	c->error = strerror(errno);
	client_done(c);
	return false;
}

void
client_open_port(struct client *c, int port)
{
	MUST(client_try_port(c, port, 0), "connect to port %d: %s", port,
		strerror(errno));
}

void
client_open_nth(struct client *c, const struct server *s, int listener)
{
	client_open_port(c, server_port(s, listener));
}

void
client_open(struct client *c, const struct server *s)
{
	client_open_nth(c, s, 0);
}

void
client_open_unix(struct client *c, const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	memset(c, 0, sizeof(*c));
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	MUST(connect(c->fd, (void *)&a, sizeof(a)) == 0, "connect to %s: %s",
		path, strerror(errno));
}

void
client_done(struct client *c)
{
	if (c->fd != -1)
		close(c->fd);
	c->fd = -1;
	bytes_done(&c->in);
}

void
client_shut(struct client *c)
{
	MUST(shutdown(c->fd, SHUT_WR) == 0, "shutdown: %s", strerror(errno));
}

void
client_abort(struct client *c)
{
	struct linger now = {.l_onoff = 1};

	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	client_done(c);
}

/* ---- sending ---- */

static bool
wait_fd(struct client *c, short events)
{
	struct pollfd p = {.fd = c->fd, .events = events};

	if (poll(&p, 1, PATIENCE_MS) == 1)
		return true;
	c->error = "the server keeps silent";
	return false;
}

bool
client_try_send(struct client *c, const void *data, size_t n)
{
	const char *p = data;
	ssize_t r;

	while (n > 0) {
		r = send(c->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (r == -1 && errno == EAGAIN && wait_fd(c, POLLOUT))
			continue;
		if (r == -1) {
			if (errno != EAGAIN)
				c->error = strerror(errno);
			return false;
		}
		p += r;
		n -= (size_t)r;
	}
	return true;
}

/* A server that has answered and left may be read from, so no failure here. */
void
client_send(struct client *c, const void *p, size_t n)
{
	if (!client_try_send(c, p, n))
		MUST(errno == EPIPE || errno == ECONNRESET, "send: %s",
			c->error);
}

void
client_puts(struct client *c, const char *text)
{
	client_send(c, text, strlen(text));
}

void
client_printf(struct client *c, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	MUST(vasprintf(&text, fmt, ap) != -1, "out of memory");
	va_end(ap);
	client_puts(c, text);
	free(text);
}

/* ---- receiving ---- */

bool
client_try_fill(struct client *c)
{
	static __thread char block[65536];
	ssize_t n;

	if (c->eof || c->reset || !wait_fd(c, POLLIN))
		return false;
	n = recv(c->fd, block, sizeof(block), 0);
	if (n > 0)
		bytes_add(&c->in, block, (size_t)n);
	c->eof = n == 0;
	c->reset = n == -1;
	if (n <= 0)
		c->error = n == 0 ? "the connection ended" : strerror(errno);
	return n > 0;
}

static void
consume(struct client *c, size_t n)
{
	c->in.n -= n;
	memmove(c->in.p, c->in.p + n, c->in.n + 1);
}

void
client_wait_bytes(struct client *c, size_t n)
{
	while (c->in.n < n)
		MUST(client_try_fill(c), "%zu of %zu bytes: %s", c->in.n, n,
			c->error);
}

void
client_slurp(struct client *c)
{
	while (client_try_fill(c))
		;
	MUST(c->eof, "waiting for the end: %s", c->error);
}

void
client_wait_eof(struct client *c)
{
	client_slurp(c);
	MUST(c->in.n == 0, "instead of the end: %.200s", c->in.p);
}

/* ---- answers ---- */

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
