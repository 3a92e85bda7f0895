/*
 * acceptor.h -- how new connections come to a worker.
 *
 * The listeners are in the park's epoll set with EPOLLEXCLUSIVE, so that one
 * waiting worker is woken for a connection, not all.  A worker that was woken
 * must accept, or the connection would wait although others sleep.
 */
#ifndef WORKER_ACCEPTOR_H
#define WORKER_ACCEPTOR_H

#include "proc/leash.h"
#include "proc/listener.h"
#include "worker/serve.h"

/* epoll's data of the i-th listener is this and i. */
#define ACCEPTOR_TAG (PARK_OTHERS + 1)

struct acceptor {
	struct serve *serve;
	struct park *park;
	int fds[LEASH_LISTENERS_MAX]; /* -1: not ours any more */
	struct conn_peer bound[LEASH_LISTENERS_MAX]; /* len 0: a wildcard */
	int n;
	bool has_company; /* other workers listen too */
	bool listening; /* the listeners are in the epoll set */
	bool resting; /* short of something, and has said so */
	int64_t accept_at; /* us: not before this moment */
	uint64_t draining; /* bit i: serve the i-th empty, then close it */
};

/* The acceptor owns the listeners' descriptors from here on. */
void acceptor_init(struct acceptor *a, struct serve *serve, struct park *park,
	const struct listener *listeners, size_t n, bool has_company);

/* Have the listeners in the epoll set as long as there is room and means. */
void acceptor_listen(struct acceptor *a);

/*
 * Accept and serve one connection of the i-th listener.  Returns 1, 0 if none
 * is waiting, -1 if it cannot be done now.
 */
int acceptor_take(struct acceptor *a, int i);

/* One from each listener, so that none has to wait for another; any at all? */
bool acceptor_take_each(struct acceptor *a);

/*
 * No more connections but those in the queues of `drain` (bits).  The event
 * that woke us may have been meant for one nobody else was woken for: it is
 * the caller's to have the others look.
 */
void acceptor_retire(struct acceptor *a, uint64_t drain);

/* CLOCK_NEVER, or when accepting is worth another try. */
int64_t acceptor_wake_at(const struct acceptor *a);

/* Close all listeners. */
void acceptor_close(struct acceptor *a);

/* The same in a fork of the application's: without a word to the kernel's set. */
void acceptor_forget(struct acceptor *a);

#endif
