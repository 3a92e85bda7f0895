/*
 * request.h -- the request in hand: its head and its body.
 *
 * The head is assembled in the head buffer (park.h keeps the bytes of
 * unfinished ones in between), judged, and stays there until the request ends.
 * Body bytes that came with it are handed over first.  Includes nothing of the
 * response; what must be sent before a read (100 Continue) is a callback.
 */
#ifndef WORKER_REQUEST_H
#define WORKER_REQUEST_H

#include "base/arena.h"
#include "http/chunk.h"
#include "http/framing.h"
#include "http/parser.h"
#include "http/strict.h"
#include "http/target.h"
#include "worker/conn.h"

/* One read of a head asks for no more than this. */
#define REQUEST_HEAD_READ 8192

struct request_limits {
	struct strict_limits head;
	uint64_t body; /* request-body, 0: none */
	size_t block_size; /* input-block-size */
};

struct request {
	const struct request_limits *limits;
	struct conn *conn;
	struct arena arena; /* lives as long as the request */

	/*
	 * The head buffer, cap bytes at base.  p points into it: p[0 .. len)
	 * came from this request on, p[strict.start .. head_len) is its head.
	 */
	char *base;
	size_t cap;
	char *p;
	size_t len;
	struct strict strict;
	size_t head_len; /* 0 until it is complete */
	struct head head;
	struct framing framing;
	struct target target;

	/*
	 * The body.  Its next bytes are p[extra_at .. len), which came with
	 * the head, then block[block_at .. block_len), then what the socket
	 * gives.  What stands there behind the body's end is the next request.
	 */
	size_t extra_at;
	char *block; /* the input buffer, block_size bytes */
	size_t block_at;
	size_t block_len;
	uint64_t left; /* of a declared length */
	uint64_t received; /* body bytes handed over, for limits and logs */
	struct chunk chunk;
	uint64_t chunk_len; /* of the chunk in hand, as its line said */
	struct buf raw_trailers;
	struct head trailers;
	bool expects; /* the client holds the body back for a 100 Continue */
	bool done; /* the body is complete */
	int fault; /* the status a broken body calls for, 0 */
	int fault_errno; /* what every further read gives */

	/* called before the first read of a client that expects 100 Continue */
	int (*send_continue)(void *arg);
	void *arg;
};

/* Allocates the buffers; -1 with ENOMEM. */
int request_init(struct request *r, const struct request_limits *limits,
	struct conn *conn);
void request_done(struct request *r);

/* Another connection comes in hand: nothing of it has been seen. */
void request_reset(struct request *r);

/*
 * The next request on the same connection: it begins with what came behind the
 * last one, whose body is complete.  r->len is 0 if nothing did.
 */
void request_next(struct request *r);

/*
 * Put bytes that were kept aside for this connection (parked, unfinished) into
 * the empty head buffer, with the scanner's state.
 */
void request_resume(
	struct request *r, const char *p, size_t n, const struct strict *s);

/* The first n of the bytes that came are not of a request. */
void request_skip(struct request *r, size_t n);

/* What came and was not used, between two requests: in two pieces. */
void request_kept(const struct request *r, struct iovec ret_bytes[2]);

/* Is that more than an unfinished head may be? */
bool request_is_overfed(const struct request *r);

/*
 * Judge what came of the head.  Returns 0 with r->head_len > 0 if it is
 * complete: head, framing and target are filled.  0 with head_len == 0: more
 * must come.  > 0: the status to answer, then close.
 */
int request_read_head(struct request *r);

/*
 * Receive more of the head without waiting, at most REQUEST_HEAD_READ bytes.
 * Returns the bytes got, 0 at EOF, -1 with errno (EAGAIN).
 */
ssize_t request_receive_head(struct request *r);

/* The request line as far as it came, for the log; also of a refused head. */
struct str request_line(const struct request *r);

/* The body will be this long, or -1 if it is chunked. */
int64_t request_content_length(const struct request *r);

/* Is there something left to read? */
int64_t request_body_left(const struct request *r); /* -1: unknown */

/*
 * Read up to n bytes of the body into p, waiting for the client.  Returns the
 * number of bytes, 0 when the body is complete (trailers can be read from then
 * on), or -1 with errno: ECONNRESET, ETIMEDOUT (fault 408), EPROTO (fault
 * 400), EFBIG (fault 413).  After a failure every read fails alike.
 */
ssize_t request_read_body(struct request *r, void *p, size_t n);

/*
 * The next bytes of the body, at most one block, without copying them: *ret_p
 * is valid until the next call.  Otherwise as request_read_body().
 */
ssize_t request_next_block(struct request *r, const char **ret_p);

/*
 * Take and drop what is left of the body, about max bytes (what is here is
 * taken whole) and until until_us; with until_us 0 only what has come, without
 * waiting.  True if the body is complete, so that the connection can go on.  A
 * body that its client holds back for a 100 Continue is not waited for.
 */
bool request_drain(struct request *r, size_t max, int64_t until_us);

/*
 * Will reading on fail, as far as what is here tells?  Nothing of it is taken.
 */
bool request_is_broken(const struct request *r);

/* Are there bytes of a next request already here? */
bool request_has_more(const struct request *r);

#endif
