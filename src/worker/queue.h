/*
 * queue.h -- what waits to go out on the wire: head, chunks, framing.
 *
 * Pure: no descriptor, no clock, no lock.  It knows which bytes come next and
 * in which wire chunk they stand; flusher.h sends them.
 *
 * A chunk here is what DESIGN counts: each non-empty write, or each piece of
 * at most chunk_size bytes of a longer one.  Wire chunks (RFC 9112 7.1) are
 * another matter: whatever waits when something is sent goes into one.
 *
 * Invariants: entries are in the order they were added; an entry is sent
 * before the next one begins; a released entry was sent or dropped; at most
 * chunks_max chunks wait between two calls of the application.
 */
#ifndef WORKER_QUEUE_H
#define WORKER_QUEUE_H

#include <sys/uio.h>

#include "base/buf.h"
#include "http/chunk.h"

enum queue_framing {
	QUEUE_UNDECIDED, /* length if the end comes before anything is sent */
	QUEUE_LENGTH, /* Content-Length is declared in the head */
	QUEUE_CHUNKED,
	QUEUE_CLOSE, /* HTTP/1.0: ended by closing */
	QUEUE_NONE /* HEAD, 204, 304: body bytes are never added */
};

struct queue_entry {
	const char *p; /* the bytes; NULL: in the copy buffer, at `at` */
	size_t at;
	size_t len;
	size_t sent;
	void (*release)(void *arg); /* NULL: nothing to release */
	void *arg;
};

struct queue {
	int chunks_max; /* outgoing-body-buffer-chunks */
	size_t chunk_size; /* outgoing-body-chunk-size */
	enum queue_framing framing;
	bool can_chunk; /* UNDECIDED may become CHUNKED, else CLOSE */

	struct buf head; /* status line and fields, without the last CRLF */
	bool head_ready; /* queue_set_head() was called */
	bool head_sent;
	struct buf trailers; /* complete lines, sent with the last chunk */

	struct queue_entry *entries; /* ring of entries_max */
	int entries_max;
	int release_at; /* oldest entry not released yet */
	int send_at; /* oldest entry not fully sent yet */
	int nsent; /* between release_at and send_at */
	int nwaiting; /* from send_at on */
	int chunks; /* chunks waiting, partly sent ones too */
	size_t bytes; /* bytes waiting in entries */
	struct buf copies; /* bytes of copied entries */

	char frame[64 + CHUNK_HEAD_MAX]; /* framing owed before the next data */
	size_t frame_len, frame_at;
	size_t wire_left; /* data of the open wire chunk still to go */
	bool ended; /* queue_end() was called */
	bool finished; /* the end of the message has been sent too */
	int peak; /* most chunks that ever waited in this response */
};

/* Allocates the ring; -1 with ENOMEM. */
int queue_init(struct queue *q, int chunks_max, size_t chunk_size);
void queue_done(struct queue *q);

/* For the next response.  Everything has been released. */
void queue_reset(struct queue *q);

/*
 * The head is final now (the commit): its bytes are in q->head, without the
 * framing field unless QUEUE_LENGTH, and without the closing CRLF.
 */
void
queue_set_head(struct queue *q, enum queue_framing framing, bool can_chunk);

/*
 * Add n > 0 bytes of body.  They are borrowed: with release NULL the caller
 * must call queue_own() before the bytes go away.  Never fails: there is room
 * for one write more than chunks_max chunks.
 */
void queue_add(struct queue *q, const void *p, size_t n,
	void (*release)(void *), void *arg);

/*
 * Copy what is left of the newest entry, so that the caller's bytes may go.
 * Neighbouring copies are gathered.  -1 with ENOMEM.
 */
int queue_own(struct queue *q);

/* No more body.  An UNDECIDED queue of which nothing was sent gets a length. */
void queue_end(struct queue *q);

/*
 * A range of n > 0 bytes of a file follows, which the caller sends itself once
 * queue_gather() has nothing more: decides the framing, puts the range into a
 * wire chunk of its own.
 */
void queue_range(struct queue *q, size_t n);

/* Has the queue bytes to send now? */
bool queue_is_empty(const struct queue *q);

/*
 * The next bytes to send, at most max pieces, into iov; returns how many
 * pieces.  An UNDECIDED queue becomes CHUNKED or CLOSE by it.
 */
int queue_gather(struct queue *q, struct iovec *iov, int max);

/* The kernel took n bytes of what queue_gather() gave last. */
void queue_sent(struct queue *q, size_t n);

/* Call the release callbacks of what was sent.  Main thread only. */
void queue_release(struct queue *q);

/* Forget what waits (the client is gone) and release all. */
void queue_drop(struct queue *q);

#endif
