/*
 * flusher.h -- the one background thread (the flush delay) and all it shares.
 *
 * The thread sends what an application has left in the queue for as long as
 * outgoing-flush-delay while it computes or sleeps.  It is created when first
 * needed, has all signals blocked and never calls the application.  The lock
 * covers the queue and every send; nobody blocks while holding it.
 *
 * A timer wakes the thread.  It is armed by the first chunk that must wait, only
 * when it is not, or for later: so it costs one system call per delay at most.
 */
#ifndef WORKER_FLUSHER_H
#define WORKER_FLUSHER_H

#include <pthread.h>
#include <stdint.h>

#include "worker/queue.h"

struct flusher {
	struct queue queue; /* under the lock while a response is open */
	pthread_mutex_t lock;
	pthread_t thread;
	bool has_thread;
	bool no_thread; /* it could not be created: nothing is left waiting */
	bool stop;
	int timer_fd;
	int64_t armed_at; /* us; CLOCK_NEVER: the timer is not armed */
	int64_t delay_us; /* outgoing-flush-delay */
	int fd; /* the client's socket, -1 between responses */
	int64_t due_at; /* us, when what waits must go; CLOCK_NEVER: nothing */
	int error; /* errno of the first failed send, 0 */
	uint64_t bytes_sent; /* on this connection's response, head too */
	size_t ahead; /* of these, what went before it was queued */
};

/* -1 with ENOMEM. */
int flusher_init(
	struct flusher *f, int chunks_max, size_t chunk_size, int64_t delay_us);

/* Ends and joins the thread. */
void flusher_done(struct flusher *f);

/*
 * In the child of a fork, where the thread is not: nothing of this is ours any
 * more, and whatever is asked of it fails.
 */
void flusher_forget(struct flusher *f);

/* A response on this socket begins; between, the thread has nothing to do. */
void flusher_open(struct flusher *f, int fd);

/*
 * Send what the response will begin with, whatever it will be, before there is
 * one.  Right after flusher_open().  -1 with errno; none of it may have gone.
 */
int flusher_send_ahead(struct flusher *f, struct str bytes);

/* The response is over: what is left is dropped, everything released. */
void flusher_close(struct flusher *f);

/* Drop what waits and release everything: the client is gone. */
void flusher_drop(struct flusher *f);

/* Hold the queue, to change it. */
void flusher_lock(struct flusher *f);
void flusher_unlock(struct flusher *f);

/*
 * With the lock held: send what the kernel takes now, without blocking.
 * flags are added to MSG_NOSIGNAL (MSG_MORE).  Returns 0 (queue_is_empty()
 * tells whether all went), or -1 with errno; the error stays.
 */
int flusher_push(struct flusher *f, int flags);

/*
 * With the lock held, after queueing: if something waits, see to it that it
 * goes within the delay (0: at once).  -1 as flusher_push.
 */
int flusher_schedule(struct flusher *f);

/*
 * The moment (us) by which what waits must have gone, CLOCK_NEVER if nothing
 * waits: for a main thread that is about to wait for something else.  The lock
 * is not held.
 */
int64_t flusher_due_at(struct flusher *f);

/*
 * Call the release callbacks of what was sent.  Main thread only, without the
 * lock: a callback may be slow, fork, or come back for more.
 */
void flusher_release(struct flusher *f);

#endif
