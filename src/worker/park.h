/*
 * park.h -- connections nobody works on, in the epoll set.
 *
 * A parked connection is a small slot: descriptor, peer, deadline, and the
 * bytes of an unfinished head if there are any.  What a slot waits for is its
 * state; each state has a list in the order of its deadlines, since all of one
 * state wait equally long.  A slot stays on its list while its connection is
 * in hand and moves when it is parked again.
 */
#ifndef WORKER_PARK_H
#define WORKER_PARK_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "http/strict.h"

enum park_state {
	PARK_FREE, /* no connection */
	PARK_NEW, /* accepted, no byte came yet: header-timeout */
	PARK_IDLE, /* between requests: keepalive */
	PARK_HEAD, /* an unfinished head: header-timeout from its first byte */
	PARK_READY, /* its next request is here; it waits for its turn */
	PARK_LINGER, /* answered, shut down; what comes is dropped */
	PARK_STATES
};

/* How long an answered connection may go on talking. */
#define PARK_LINGER_US (2 * 1000000)

/* epoll's data of a parked connection is its slot; others begin here. */
#define PARK_OTHERS (UINT64_C(1) << 32)

/* Bytes that came already and how far they were judged. */
struct park_head {
	struct strict strict;
	size_t len;
	char p[];
};

struct park_slot {
	int fd;
	enum park_state state;
	int prev, next; /* on the list of its state; -1 */
	int64_t deadline; /* us */
	struct park_head *head; /* PARK_HEAD and PARK_READY only */
	int unsent; /* PARK_LINGER: bytes not acknowledged when last looked */
	int listener; /* for its owner: which one it came from */
	bool announced; /* for its owner: a PROXY header has yet to come */
	bool nameless; /* for its owner: that header did not name the client */
	socklen_t peer_len;
	union {
		sa_family_t family;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} peer; /* of a unix peer only the family */
};

struct park_list {
	int first, last;
	int n;
};

struct park {
	int epoll_fd;
	struct park_slot *slots;
	int max;
	struct park_list lists[PARK_STATES]; /* the free ones as well */
	int64_t keepalive_us;
	int64_t header_timeout_us;
	int64_t new_timeout_us; /* of PARK_NEW: the same until park_hurry() */
	int linger_least; /* bytes taken in PARK_LINGER_US to be worth more */
};

int park_init(struct park *p, int max, int64_t keepalive_us,
	int64_t header_timeout_us); /* -1 with errno */
void park_done(struct park *p); /* closes all connections */

/* Connections of all states together, and of one. */
int park_count(const struct park *p);

/* Is there a slot, or an idle connection whose slot could be had? */
bool park_has_room(const struct park *p);

/*
 * Take a connection into the epoll set, closing the oldest idle one (no byte
 * of a head yet) if all slots are taken.  It is in no state yet: one of the
 * calls below must follow.  Returns the slot, or -1 (EBUSY, or epoll's errno).
 */
int park_add(struct park *p, int fd, const struct sockaddr_storage *peer,
	socklen_t len);

/* Somebody else is at its other end than was thought. */
void park_set_peer(struct park *p, int slot,
	const struct sockaddr_storage *peer, socklen_t len);

/* Park it (again), waiting for this: */
void park_new(struct park *p, int slot, int64_t now);
void park_idle(struct park *p, int slot, int64_t now);
/* -1 with ENOMEM: it could not be parked. */
int park_head(struct park *p, int slot, const char *bytes, size_t len,
	const struct strict *strict, int64_t now);
/* The same; the bytes are in two pieces. */
int park_ready(struct park *p, int slot, const struct iovec bytes[2],
	const struct strict *strict);
void park_linger(struct park *p, int slot, int64_t now);

/* Whose turn it is; -1: nobody's. */
int park_next_ready(const struct park *p);

/* Close the connection and free the slot. */
void park_close(struct park *p, int slot);

/*
 * Close the oldest idle connection, if there is one that was so before `since`
 * and on whose socket nothing has come either; else false.
 */
bool park_close_idle(struct park *p, int64_t since);

/* The earliest deadline, CLOCK_NEVER without one, and a slot past it, or -1. */
int64_t park_next_deadline(const struct park *p);
int park_overdue(const struct park *p, int64_t now);

/*
 * A lingering connection's time is over: give it more if its peer still takes
 * at least linger_least bytes of what was sent (closing now could destroy that).
 * False: it was closed.
 */
bool park_linger_on(struct park *p, int slot, int64_t now);

/* The worker retires: new connections wait no longer than idle ones. */
void park_hurry(struct park *p, int64_t now);

#endif
