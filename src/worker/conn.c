/*
 * conn.c -- the connection in hand, and waiting for its client.
 *
 * Every call tries the socket first and waits only if it must, so a client
 * that keeps up never costs a poll, and a deadline is judged only after the
 * socket was looked at.  What the bytes mean is for request.c and response.c.
 */
#include "worker/conn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/io.h"

static void
peer_set(struct conn_peer *p)
{
	const struct sockaddr_in *v4 = (const void *)&p->sa;
	const struct sockaddr_in6 *v6 = (const void *)&p->sa;
	const struct sockaddr_un *un = (const void *)&p->sa;

	p->addr[0] = '\0';
	p->port = 0;
	if (p->len == 0)
		return;
	switch (p->sa.ss_family) {
	case AF_INET:
		inet_ntop(AF_INET, &v4->sin_addr, p->addr, sizeof(p->addr));
		p->port = ntohs(v4->sin_port);
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &v6->sin6_addr, p->addr, sizeof(p->addr));
		p->port = ntohs(v6->sin6_port);
		break;
	case AF_UNIX:
		if (p->len > offsetof(struct sockaddr_un, sun_path))
			snprintf(p->addr, sizeof(p->addr), "%.*s",
				(int)sizeof(un->sun_path), un->sun_path);
		break;
	}
}

/* Is it the address that c->peer has been written out for already? */
static bool
is_same_host(const struct conn *c, const struct sockaddr_storage *sa)
{
	const struct sockaddr_in *a = (const void *)&c->peer.sa;
	const struct sockaddr_in *b = (const void *)sa;

	return c->peer.len > 0 && sa->ss_family == AF_INET &&
		c->peer.sa.ss_family == AF_INET &&
		a->sin_addr.s_addr == b->sin_addr.s_addr;
}

void
conn_set_peer(struct conn *c, const struct sockaddr_storage *sa, socklen_t len)
{
	/* Mostly it is the proxy again, and inet_ntop() is slow. */
	if (is_same_host(c, sa)) {
		c->peer.port =
			ntohs(((const struct sockaddr_in *)sa)->sin_port);
		c->peer.sa = *sa;
	} else {
		c->peer.sa = *sa;
		c->peer.len = len;
		peer_set(&c->peer);
	}
	if (sa->ss_family == AF_UNIX)
		c->peer.addr[0] = '\0'; /* the path is the server's, not his */
}

void
conn_take(struct conn *c, int fd, const struct sockaddr_storage *sa,
	socklen_t len)
{
	c->fd = fd;
	conn_set_peer(c, sa, len);
	c->local.len = 0;
	c->bound = NULL;
	conn_reset(c);
}

void
conn_reset(struct conn *c)
{
	c->blocked_in_us = 0;
	c->blocked_out_us = 0;
	c->app_running = false;
	c->received = 0;
	pace_begin(&c->in, 0);
	c->out.begun = false;
}

void
conn_read_local(int fd, struct conn_peer *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->len = sizeof(ret->sa);
	if (getsockname(fd, (struct sockaddr *)&ret->sa, &ret->len) == -1)
		ret->len = 0;
	peer_set(ret);
}

const struct conn_peer *
conn_local(struct conn *c)
{
	if (c->bound)
		return c->bound;
	if (c->local.len == 0)
		conn_read_local(c->fd, &c->local);
	return &c->local;
}

/* ---- clients that left ---- */

/* How long a reset may be on its way; one that takes longer is found later. */
#define RESET_US 10000

/* One round trip, as far as the kernel knows; 0: it is no TCP connection. */
static int64_t
round_trip_us(const struct conn *c)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == -1)
		return 0;
	return info.tcpi_rtt < RESET_US / 2 ? 2 * (int64_t)info.tcpi_rtt + 1
					    : RESET_US;
}

bool
conn_is_deserted(struct conn *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};
	int64_t us;

	if (poll(&p, 1, 0) != 1)
		return false;
	if (p.revents & (POLLHUP | POLLERR))
		return true;
	us = round_trip_us(c);
	if (us == 0) /* a unix socket whose peer is there */
		return false;
	if (flusher_send_ahead(c->flusher, STR("HTTP/1.1 ")) == -1)
		return errno == EPIPE || errno == ECONNRESET;
	p.events = 0; /* what a reset brings is always told */
	return poll(&p, 1, clock_poll_ms(0, us)) == 1;
}

/* ---- the application's clock ---- */

void
conn_app_begins(struct conn *c)
{
	c->app_running = true;
	if (c->limits->timeout_us > 0)
		atomic_store(&c->board->run_out_at,
			clock_us() + c->limits->timeout_us);
}

void
conn_app_ends(struct conn *c)
{
	c->app_running = false;
	atomic_store(&c->board->run_out_at, 0);
}

static void
clock_stop(struct conn *c, int64_t now)
{
	c->app_left_us = 0;
	if (c->app_running && c->limits->timeout_us > 0) {
		c->app_left_us = atomic_load(&c->board->run_out_at) - now;
		atomic_store(&c->board->run_out_at, 0);
	}
}

static void
clock_go_on(struct conn *c, int64_t now)
{
	if (c->app_running && c->limits->timeout_us > 0)
		atomic_store(&c->board->run_out_at, now + c->app_left_us);
}

/* ---- waiting ---- */

/*
 * Send what is due of the queue.  Returns the moment the rest is due, or
 * CLOCK_NEVER with POLLOUT added to *events if the client must make room first.
 */
static int64_t
push_due(struct conn *c, int64_t now, short *events)
{
	int64_t due = flusher_due_at(c->flusher);
	bool left;

	if (due > now && !(*events & POLLOUT))
		return due;
	flusher_lock(c->flusher);
	/* A send that fails is found by the next call of the application. */
	left = flusher_push(c->flusher, 0) == 0 &&
		!queue_is_empty(&c->flusher->queue);
	flusher_unlock(c->flusher);
	*events = left ? *events | POLLOUT : *events & ~POLLOUT;
	return CLOCK_NEVER;
}

/*
 * Wait until the socket can be read, keeping the flush delay meanwhile.
 * Returns 1, or 0 when until has come.
 */
static int
poll_input(struct conn *c, int64_t until)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	int64_t now = clock_us(), due;
	int ready;

	for (;;) {
		due = push_due(c, now, &p.events);
		ready = poll(
			&p, 1, clock_poll_ms(now, due < until ? due : until));
		now = clock_us();
		/* He may have waited for what we held back. */
		if (due != CLOCK_NEVER)
			c->waits_since = now;
		if (ready == 1 && p.revents & ~POLLOUT)
			return 1;
		if (now >= until)
			return 0;
	}
}

/* Bytes the peer has acknowledged; below 0 while some are of before. */
static int64_t
taken(const struct conn *c)
{
	return (int64_t)c->flusher->bytes_sent - fd_unsent(c->fd);
}

/* Progress of a client while it is waited for. */
struct progress {
	int64_t taken; /* at most, so far */
	int64_t at; /* when that was seen */
};

/* What a client acknowledges wakes nobody: how often to look, in a timeout. */
#define LOOKS 4

/* Has it taken nothing for too long, or too little over a period? */
static bool
is_too_slow(struct conn *c, struct progress *p, int64_t now)
{
	const struct conn_limits *l = c->limits;
	int64_t bytes = taken(c);

	c->out.waited_us += now - c->waits_since;
	c->waits_since = now;
	if (bytes > p->taken)
		*p = (struct progress){bytes, now};
	if (now - p->at >= l->send_timeout_us)
		return true;
	return pace_left(&c->out, l->send_timeout_us) <= 0 &&
		!pace_judge(&c->out, bytes, l->min_send_rate, l->grace_us);
}

/* When to look at it again, if nothing happens. */
static int64_t
look_at(const struct conn *c, int64_t now)
{
	int64_t us = pace_left(&c->out, c->limits->send_timeout_us),
		most = c->limits->send_timeout_us / LOOKS;

	return now + (us < most ? us : most);
}

/*
 * Wait until the socket can be written.  What the peer acknowledges is looked
 * at as well: the kernel calls a socket writable only when a good part of its
 * buffer is free, which a slow but honest client may take long to do.
 */
static int
poll_output(struct conn *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLOUT};
	int64_t now = clock_us();
	struct progress progress = {taken(c), now};

	if (!c->out.begun)
		pace_begin(&c->out, progress.taken);
	if (c->drain)
		p.events |= POLLIN;
	do {
		if (poll(&p, 1, clock_poll_ms(now, look_at(c, now))) == 1) {
			if (p.revents & ~POLLIN)
				return 1;
			if (p.revents & POLLIN && !c->drain(c->drain_arg))
				p.events = POLLOUT;
		}
		now = clock_us();
	} while (!is_too_slow(c, &progress, now));
	return 0;
}

/*
 * Everything round a wait that really blocks.  The application's clock stands
 * still, but not while it comes back in (`after` may have to wait for a lock
 * of the application's own).
 */
static int
wait_client(struct conn *c, bool input, int64_t until, uint64_t *blocked)
{
	int64_t began = clock_us(), now;
	int r;

	clock_stop(c, began);
	c->waits_since = began;
	if (c->hooks->before)
		c->hooks->before(c->hooks->arg);
	r = input ? poll_input(c, until) : poll_output(c);
	now = clock_us();
	clock_go_on(c, now);
	*blocked += now - began;
	(input ? &c->in : &c->out)->waited_us += now - c->waits_since;
	if (c->hooks->after)
		c->hooks->after(c->hooks->arg);
	if (r == 1)
		return 0;
	errno = ETIMEDOUT;
	return -1;
}

/*
 * Wait for input until the given moment, but no longer than to the end of a
 * period in which too little came.
 */
static int
wait_input(struct conn *c, int64_t until)
{
	int64_t period = c->limits->body_timeout_us, end;

	if (pace_left(&c->in, period) <= 0 &&
		!pace_judge(&c->in, c->received, c->limits->min_body_rate,
			c->limits->grace_us)) {
		errno = ETIMEDOUT;
		return -1;
	}
	end = clock_us() + pace_left(&c->in, period);
	if (wait_client(
		    c, true, end < until ? end : until, &c->blocked_in_us) == 0)
		return 0;
	return end < until ? 0 : -1;
}

ssize_t
conn_receive(struct conn *c, const struct iovec *iov, int n)
{
	return conn_receive_until(
		c, iov, n, clock_us() + c->limits->body_timeout_us);
}

ssize_t
conn_receive_until(
	struct conn *c, const struct iovec *iov, int n, int64_t until)
{
	ssize_t got;

	for (;;) {
		got = io_recvv(c->fd, iov, n, MSG_DONTWAIT);
		if (got > 0)
			c->received += got;
		if (got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
			return got;
		if (wait_input(c, until) == -1)
			return -1;
	}
}

int
conn_send(struct conn *c, int max_chunks, int flags)
{
	struct flusher *f = c->flusher;
	bool enough;
	int r;

	for (;;) {
		flusher_lock(f);
		r = flusher_push(f, flags);
		enough = max_chunks > 0 ? f->queue.chunks <= max_chunks
					: queue_is_empty(&f->queue);
		if (!enough)
			f->due_at = CLOCK_NEVER; /* we see to it ourselves */
		flusher_unlock(f);
		if (r == -1)
			return -1;
		if (enough)
			return 0;
		if (wait_client(c, false, 0, &c->blocked_out_us) == -1)
			return -1;
	}
}

int
conn_send_file(struct conn *c, int in_fd, off_t off, size_t n)
{
	ssize_t sent;

	while (n > 0) {
		sent = io_sendfile(c->fd, in_fd, &off, n);
		if (sent > 0) {
			n -= sent;
			c->flusher->bytes_sent += sent;
			continue;
		}
		if (sent == 0) {
			errno = EIO; /* the file shrank */
			return -1;
		}
		if (errno != EAGAIN)
			return -1;
		if (wait_client(c, false, 0, &c->blocked_out_us) == -1)
			return -1;
	}
	return 0;
}
