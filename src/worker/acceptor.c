/*
 * acceptor.c -- how new connections come to a worker.
 *
 * Decides when the listeners are in the epoll set and takes one connection at
 * a time; what becomes of it is serve.c's.
 */
#include "worker/acceptor.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/io.h"
#include "base/log.h"

/* How long not to accept after the system ran out of something. */
#define PAUSE_US 100000

static int
watch(struct acceptor *a, int i)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLEXCLUSIVE,
		.data.u64 = ACCEPTOR_TAG + (uint64_t)i};

	return epoll_ctl(a->park->epoll_fd, EPOLL_CTL_ADD, a->fds[i], &e);
}

static void
unwatch(struct acceptor *a, int i)
{
	epoll_ctl(a->park->epoll_fd, EPOLL_CTL_DEL, a->fds[i], NULL);
}

static void
stop_listening(struct acceptor *a)
{
	int i;

	for (i = 0; i < a->n && a->listening; i++)
		if (a->fds[i] != -1)
			unwatch(a, i);
	a->listening = false;
}

/* The system is short of something: leave it in peace for a moment. */
static void
rest(struct acceptor *a)
{
	if (!a->resting)
		log_warning("cannot accept: %s; waiting for better times",
			strerror(errno));
	a->resting = true;
	a->accept_at = clock_us() + PAUSE_US;
	stop_listening(a);
}

static void
start_listening(struct acceptor *a)
{
	int i;

	a->listening = true;
	for (i = 0; i < a->n; i++) {
		if (a->fds[i] != -1 && watch(a, i) == -1) {
			rest(a);
			return;
		}
	}
}

/* Nothing to tell of a wildcard: each connection has an address of its own. */
static void
read_bound(struct conn_peer *p, int fd)
{
	const struct sockaddr_in *v4 = (const void *)&p->sa;
	const struct sockaddr_in6 *v6 = (const void *)&p->sa;

	conn_read_local(fd, p);
	if ((p->sa.ss_family == AF_INET &&
		    v4->sin_addr.s_addr == htonl(INADDR_ANY)) ||
		(p->sa.ss_family == AF_INET6 &&
			IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr)))
		p->len = 0;
}

void
acceptor_init(struct acceptor *a, struct serve *serve, struct park *park,
	const struct listener *listeners, size_t n, bool has_company)
{
	int i;

	memset(a, 0, sizeof(*a));
	a->serve = serve;
	a->park = park;
	a->n = (int)n;
	a->has_company = has_company;
	for (i = 0; i < a->n; i++) {
		a->fds[i] = listeners[i].fd;
		read_bound(&a->bound[i], a->fds[i]);
	}
	serve->bound = a->bound;
}

void
acceptor_listen(struct acceptor *a)
{
	if (!park_has_room(a->park))
		stop_listening(a);
	else if (!a->listening && clock_us() >= a->accept_at)
		start_listening(a);
}

static void
close_one(struct acceptor *a, int i)
{
	if (a->fds[i] == -1)
		return;
	if (a->listening)
		unwatch(a, i);
	fd_close(&a->fds[i]);
	a->draining &= ~(UINT64_C(1) << i);
}

void
acceptor_close(struct acceptor *a)
{
	int i;

	for (i = 0; i < a->n; i++)
		close_one(a, i);
}

void
acceptor_forget(struct acceptor *a)
{
	int i;

	for (i = 0; i < a->n; i++)
		fd_close(&a->fds[i]);
}

/*
 * Move to the end of the listener's queue of waiting workers: the kernel wakes
 * the one that has waited longest in it, and with a kept connection this one
 * has enough to do already.
 */
static void
step_back(struct acceptor *a, int i)
{
	if (!a->listening || !a->has_company)
		return;
	unwatch(a, i);
	if (watch(a, i) == -1)
		rest(a);
}

static void
fail(struct acceptor *a)
{
	switch (errno) {
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
		rest(a);
		/* One that came just now is about to say something. */
		park_close_idle(a->park, clock_us() - PAUSE_US);
		break;
	}
}

int
acceptor_take(struct acceptor *a, int i)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	int fd;

	if (a->fds[i] == -1)
		return 0;
	if (!park_has_room(a->park))
		return -1;
	peer.ss_family = AF_UNSPEC;
	fd = io_accept(a->fds[i], (struct sockaddr *)&peer, &len,
		SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd == -1 && errno == EAGAIN)
		return 0;
	if (fd == -1) {
		fail(a);
		return -1;
	}
	a->resting = false;
	if (serve_new(a->serve, i, fd, &peer, len))
		step_back(a, i);
	return 1;
}

bool
acceptor_take_each(struct acceptor *a)
{
	bool any = false;
	int i, got;

	if (clock_us() < a->accept_at)
		return false;
	for (i = 0; i < a->n; i++) {
		if (any && serve_is_told_to_leave(a->serve))
			break;
		got = acceptor_take(a, i);
		if (got == 1)
			any = true;
		if (got == 0 && a->draining & (UINT64_C(1) << i))
			close_one(a, i);
	}
	return any;
}

void
acceptor_retire(struct acceptor *a, uint64_t drain)
{
	int i;

	a->draining |= drain;
	for (i = 0; i < a->n; i++)
		if (!(a->draining & (UINT64_C(1) << i)))
			close_one(a, i);
}

int64_t
acceptor_wake_at(const struct acceptor *a)
{
	return !a->listening && park_has_room(a->park) ? a->accept_at
						       : CLOCK_NEVER;
}
