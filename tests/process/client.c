/*
 * client.c -- connections of the test's: open, send, receive, close.
 *
 * What the bytes mean is answer.c's business.
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
	if (c->slow)
		nap();
	n = recv(c->fd, block, c->slow ? 4096 : sizeof(block), 0);
	if (n > 0)
		bytes_add(&c->in, block, (size_t)n);
	c->eof = n == 0;
	c->reset = n == -1;
	if (n <= 0)
		c->error = n == 0 ? "the connection ended" : strerror(errno);
	return n > 0;
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
