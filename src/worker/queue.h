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
	QUEUE_NONE /* HEAD, 204, 205, 304: body bytes are never added */
};

struct queue_entry {
	const char *p; /* next byte to send; NULL: at `at` of copies */
	size_t at;
	size_t len; /* of the whole write */
	size_t sent;
	void (*release)(void *arg); /* NULL: nothing to release */
	void *arg;
};

/* A wire chunk that has begun, or will with the next send. */
struct queue_wire {
	char frame[2 + CHUNK_HEAD_MAX]; /* the CRLF of the one before, a head */
	size_t frame_len, frame_at;
	size_t left; /* data of entries that still goes into it */
	bool is_range; /* its data is a file range, not our business */
};

struct queue {
	int chunks_max; /* outgoing-body-buffer-chunks */
	size_t chunk_size; /* outgoing-body-chunk-size */
	enum queue_framing framing;
	int minor; /* HTTP/1.minor of the request */
	bool keep_alive; /* the head promises to keep the connection */

	struct buf interim; /* whole interim responses, sent before the head */
	size_t interim_at;
	struct buf head; /* status line and fields */
	size_t head_at;
	bool head_ready; /* queue_set_head() was called */
	bool head_final; /* framing, Connection and the closing CRLF are in */
	struct buf ending; /* CRLF, last chunk, trailer lines, CRLF */
	size_t ending_at;

	struct queue_entry *entries; /* ring of entries_max */
	int entries_max;
	int release_at; /* oldest entry not released yet; then come nsent ... */
	int nsent; /* ... that only wait for their release, and nwaiting ... */
	int nwaiting; /* ... not fully sent ones */
	int64_t chunks; /* chunks waiting, partly sent ones too */
	size_t bytes; /* bytes waiting in entries */
	char *copies; /* ring of copied entries; NULL: none yet */
	size_t copies_size; /* chunks_max times chunk_size */
	size_t copies_at, copies_len; /* what of it waits */

	struct queue_wire wires[3]; /* one begun, the rest, a file range */
	int nwires;
	bool wire_open; /* a wire chunk was sent whole but for its CRLF */
	size_t range; /* a file range whose frame has not begun */
	bool ended; /* queue_end() was called */
	int peak; /* most chunks that waited in this response */
};

/* Allocates the ring; -1 with ENOMEM. */
int queue_init(struct queue *q, int chunks_max, size_t chunk_size);
void queue_done(struct queue *q); /* accepts the zeroed */

/* For the next response.  Everything has been released. */
void queue_reset(struct queue *q);

/*
 * The head is final now (the commit): its status line and fields are in
 * q->head, Content-Length among them if QUEUE_LENGTH; the Connection field, the
 * framing and the closing CRLF are added when the first byte is to be sent.
 * keep_alive is a wish: QUEUE_CLOSE overrides it.  -1 with ENOMEM.
 */
int queue_set_head(struct queue *q, enum queue_framing framing, int minor,
	bool keep_alive);

/* Has none of the head been handed to the kernel? */
bool queue_is_fresh(const struct queue *q);

/* An interim response, before the head.  Only while fresh.  -1 with ENOMEM. */
int queue_add_interim(struct queue *q, struct str bytes);

/* Forget the lines of head and trailers: the response starts anew. */
void queue_clear_lines(struct queue *q);

/* Make room for n bytes of trailer lines, then add them to q->ending. */
int queue_reserve_trailer(struct queue *q, size_t n);

/*
 * Add n > 0 bytes of body.  They are borrowed: with release NULL the caller
 * must call queue_own() before the bytes go away.  Never fails: there is room
 * for one write more than chunks_max chunks.
 */
void queue_add(struct queue *q, const void *p, size_t n,
	void (*release)(void *), void *arg);

/*
 * Copy what is left of the newest entry, so that the caller's bytes may go.
 * Neighbouring copies are gathered.  -1 with ENOMEM, also if there is more than
 * chunks_max chunks of chunk_size bytes.
 */
int queue_own(struct queue *q);

/* No more body.  An UNDECIDED queue of which nothing was sent gets a length. */
void queue_end(struct queue *q);

/*
 * A range of n > 0 bytes of a file follows, which the caller sends itself once
 * the queue is empty: decides the framing, puts the range into a wire chunk of
 * its own.
 */
void queue_range(struct queue *q, size_t n);

/* Has the queue no bytes to send now? */
bool queue_is_empty(const struct queue *q);

/*
 * The next bytes to send, at most max pieces, into iov; returns how many
 * pieces.  An UNDECIDED queue becomes CHUNKED or CLOSE by it.
 */
int queue_gather(struct queue *q, struct iovec *iov, int max);

/* The kernel took n bytes of what queue_gather() gave last. */
void queue_sent(struct queue *q, size_t n);

/*
 * Take one release callback of what was sent or dropped; false if there is
 * none.  The caller calls it without the lock: the application is behind it.
 */
bool
queue_take_release(struct queue *q, void (**ret_fn)(void *), void **ret_arg);

/* Forget what waits (the client is gone); its callbacks can be taken. */
void queue_drop(struct queue *q);

#endif
