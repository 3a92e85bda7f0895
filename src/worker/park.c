/*
 * park.c -- connections nobody works on, in the epoll set.
 *
 * Keeps the lists and the epoll set in step.  What to do with a connection
 * that became readable, or whose time is over, is for serve.c.
 */
#include "worker/park.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

/*
 * A retiring worker gives a new connection at least this long, whatever
 * keepalive is: its request may be on the way.
 */
#define HURRY_US 1000000

static void
list_remove(struct park *p, int slot)
{
	struct park_slot *s = &p->slots[slot];
	struct park_list *l = &p->lists[s->state];

	if (s->prev == -1)
		l->first = s->next;
	else
		p->slots[s->prev].next = s->next;
	if (s->next == -1)
		l->last = s->prev;
	else
		p->slots[s->next].prev = s->prev;
	l->n--;
}

static void
list_append(struct park *p, int slot, enum park_state state)
{
	struct park_slot *s = &p->slots[slot];
	struct park_list *l = &p->lists[state];

	s->state = state;
	s->prev = l->last;
	s->next = -1;
	if (l->last == -1)
		l->first = slot;
	else
		p->slots[l->last].next = slot;
	l->last = slot;
	l->n++;
}

static void
move(struct park *p, int slot, enum park_state state, int64_t deadline)
{
	list_remove(p, slot);
	list_append(p, slot, state);
	p->slots[slot].deadline = deadline;
	if (state != PARK_HEAD && state != PARK_READY) {
		free(p->slots[slot].head);
		p->slots[slot].head = NULL;
	}
}

int
park_init(struct park *p, int max, int64_t keepalive_us,
	int64_t header_timeout_us)
{
	int i;

	memset(p, 0, sizeof(*p));
	p->max = max;
	p->linger_least = 1;
	p->keepalive_us = keepalive_us;
	p->header_timeout_us = header_timeout_us;
	p->new_timeout_us = header_timeout_us;
	for (i = 0; i < PARK_STATES; i++)
		p->lists[i] = (struct park_list){-1, -1, 0};
	p->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	p->slots = calloc(max, sizeof(*p->slots));
	if (p->epoll_fd == -1 || !p->slots) {
		park_done(p);
		return -1;
	}
	for (i = 0; i < max; i++) {
		p->slots[i].fd = -1;
		list_append(p, i, PARK_FREE);
	}
	return 0;
}

void
park_done(struct park *p)
{
	int i;

	for (i = 0; p->slots && i < p->max; i++)
		if (p->slots[i].state != PARK_FREE)
			park_close(p, i);
	free(p->slots);
	p->slots = NULL;
	fd_close(&p->epoll_fd);
}

int
park_count(const struct park *p)
{
	return p->max - p->lists[PARK_FREE].n;
}

bool
park_has_room(const struct park *p)
{
	return p->lists[PARK_FREE].n + p->lists[PARK_NEW].n +
		p->lists[PARK_IDLE].n >
		0;
}

int
park_add(struct park *p, int fd, const struct sockaddr_storage *peer,
	socklen_t len)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP};
	int slot = p->lists[PARK_FREE].first;

	if (slot == -1) {
		if (!park_close_idle(p, CLOCK_NEVER)) {
			errno = EBUSY;
			return -1;
		}
		slot = p->lists[PARK_FREE].first;
	}
	e.data.u64 = slot;
	if (epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, fd, &e) == -1)
		return -1;
	p->slots[slot].fd = fd;
	park_set_peer(p, slot, peer, len);
	return slot;
}

void
park_set_peer(struct park *p, int slot, const struct sockaddr_storage *peer,
	socklen_t len)
{
	struct park_slot *s = &p->slots[slot];

	if (len > sizeof(s->peer))
		len = sizeof(s->peer);
	s->peer_len = len;
	memcpy(&s->peer, peer, len);
}

void
park_new(struct park *p, int slot, int64_t now)
{
	move(p, slot, PARK_NEW, now + p->new_timeout_us);
}

void
park_idle(struct park *p, int slot, int64_t now)
{
	move(p, slot, PARK_IDLE, now + p->keepalive_us);
}

static int
keep_bytes(struct park_slot *s, const struct iovec bytes[2],
	const struct strict *strict)
{
	size_t n = bytes[0].iov_len + bytes[1].iov_len;
	struct park_head *h = realloc(s->head, sizeof(*h) + n);

	if (!h)
		return -1;
	h->strict = *strict;
	h->len = n;
	memcpy(h->p, bytes[0].iov_base, bytes[0].iov_len);
	if (bytes[1].iov_len)
		memcpy(h->p + bytes[0].iov_len, bytes[1].iov_base,
			bytes[1].iov_len);
	s->head = h;
	return 0;
}

int
park_head(struct park *p, int slot, const char *bytes, size_t len,
	const struct strict *strict, int64_t now)
{
	struct park_slot *s = &p->slots[slot];
	const struct iovec pieces[2] = {{(void *)bytes, len}, {NULL, 0}};

	if (keep_bytes(s, pieces, strict) == -1)
		return -1;
	/* The deadline counts from the first byte, so it is set only once. */
	if (s->state != PARK_HEAD)
		move(p, slot, PARK_HEAD, now + p->header_timeout_us);
	return 0;
}

int
park_ready(struct park *p, int slot, const struct iovec bytes[2],
	const struct strict *strict)
{
	if (keep_bytes(&p->slots[slot], bytes, strict) == -1)
		return -1;
	move(p, slot, PARK_READY, CLOCK_NEVER);
	return 0;
}

int
park_next_ready(const struct park *p)
{
	return p->lists[PARK_READY].first;
}

void
park_linger(struct park *p, int slot, int64_t now)
{
	shutdown(p->slots[slot].fd, SHUT_WR);
	p->slots[slot].unsent = fd_unsent(p->slots[slot].fd);
	move(p, slot, PARK_LINGER, now + PARK_LINGER_US);
}

void
park_close(struct park *p, int slot)
{
	struct park_slot *s = &p->slots[slot];

	/* A child of the application may hold a copy: close() alone is not
	 * enough to end the connection, nor to leave the epoll set. */
	epoll_ctl(p->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
	shutdown(s->fd, SHUT_RDWR);
	fd_close(&s->fd);
	move(p, slot, PARK_FREE, 0);
}

/* Since when a connection on the list of NEW or IDLE has been there. */
static int64_t
waits_since(const struct park *p, int slot)
{
	const struct park_slot *s = &p->slots[slot];

	return s->deadline -
		(s->state == PARK_NEW ? p->new_timeout_us : p->keepalive_us);
}

/* The one of two idle connections, or -1, that has waited longer. */
static int
older(const struct park *p, int new, int idle)
{
	if (new == -1 || idle == -1)
		return new == -1 ? idle : new;
	return waits_since(p, idle) < waits_since(p, new) ? idle : new;
}

/* Its request has come, we have only not looked yet: then it is not idle. */
static bool
has_input(int fd)
{
	char c;

	return recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

bool
park_close_idle(struct park *p, int64_t since)
{
	int new = p->lists[PARK_NEW].first, idle = p->lists[PARK_IDLE].first;
	int slot;

	while ((slot = older(p, new, idle)) != -1 &&
		has_input(p->slots[slot].fd)) {
		if (slot == new)
			new = p->slots[slot].next;
		else
			idle = p->slots[slot].next;
	}
	if (slot == -1 || waits_since(p, slot) >= since)
		return false;
	park_close(p, slot);
	return true;
}

int64_t
park_next_deadline(const struct park *p)
{
	int64_t at = CLOCK_NEVER;
	int i;

	for (i = PARK_NEW; i < PARK_STATES; i++)
		if (p->lists[i].first != -1 &&
			p->slots[p->lists[i].first].deadline < at)
			at = p->slots[p->lists[i].first].deadline;
	return at;
}

int
park_overdue(const struct park *p, int64_t now)
{
	int i;

	for (i = PARK_NEW; i < PARK_STATES; i++)
		if (p->lists[i].first != -1 &&
			p->slots[p->lists[i].first].deadline <= now)
			return p->lists[i].first;
	return -1;
}

bool
park_linger_on(struct park *p, int slot, int64_t now)
{
	struct park_slot *s = &p->slots[slot];
	int unsent = fd_unsent(s->fd);

	if (unsent == 0 || unsent + p->linger_least > s->unsent) {
		park_close(p, slot);
		return false;
	}
	s->unsent = unsent;
	move(p, slot, PARK_LINGER, now + PARK_LINGER_US);
	return true;
}

void
park_hurry(struct park *p, int64_t now)
{
	int64_t wait = p->keepalive_us > HURRY_US ? p->keepalive_us : HURRY_US;
	int i;

	if (p->new_timeout_us > wait)
		p->new_timeout_us = wait;
	for (i = p->lists[PARK_NEW].first; i != -1; i = p->slots[i].next)
		if (p->slots[i].deadline > now + wait)
			p->slots[i].deadline = now + wait;
}
