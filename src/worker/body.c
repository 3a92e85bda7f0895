/*
 * body.c -- the request in hand: its body.
 *
 * Hands the body over, whole blocks straight from the socket, and knows what
 * became of it: complete, or failed for good.  Waiting is left to conn.h, the
 * chunked coding to http/chunk.h, and what a fault is answered with to the
 * caller.
 *
 * No read asks the socket for more than the block size.  With a declared
 * length none asks for more than the body either; a chunked body's reads may
 * bring bytes of the next request, which stay in the block for request_next().
 * The socket is asked only when nothing is left of what came before.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/io.h"
#include "worker/request.h"

/*
 * A chunk as large as this is worth a system call that ends with it: only
 * SIDE_LEN bytes are then read behind it, or for the line before the next,
 * since what lands in the block must be copied.  Smaller chunks come a block
 * at a time.
 */
#define LARGE_CHUNK (16 * 1024)
#define SIDE_LEN 512

/* How long receive() may wait, unless it is a moment (us). */
#define NO_WAIT 0
#define BODY_TIMEOUT (-1)

static size_t
min(size_t a, uint64_t b)
{
	return a < b ? a : (size_t)b;
}

static bool
is_open(const struct request *r)
{
	return !r->done && !r->fault_errno;
}

static void
fail(struct request *r, int status, int err)
{
	r->fault = status;
	r->fault_errno = err;
}

/* Body bytes that come next before any framing does. */
static uint64_t
data_left(const struct request *r)
{
	return r->framing.chunked ? r->chunk.left : r->left;
}

static void
took(struct request *r, size_t n)
{
	r->received += n;
	if (r->framing.chunked) {
		chunk_took(&r->chunk, n);
	} else {
		r->left -= n;
		r->done = r->left == 0;
	}
}

/* The next bytes that are here already, and how many stand in one piece. */
static size_t
peek(struct request *r, char **ret_p)
{
	if (r->extra_at < r->len) {
		*ret_p = r->p + r->extra_at;
		return r->len - r->extra_at;
	}
	*ret_p = r->block + r->block_at;
	return r->block_len - r->block_at;
}

static void
skip(struct request *r, size_t n)
{
	if (r->extra_at < r->len)
		r->extra_at += n;
	else
		r->block_at += n;
}

static void
end_chunked(struct request *r)
{
	struct str t = chunk_trailers(&r->chunk);
	int status = 0;

	if (r->raw_trailers.failed)
		fail(r, 500, ENOMEM);
	else if (t.len)
		status = parser_read_trailers(&r->trailers, t.p, t.len);
	if (status)
		fail(r, status, EPROTO);
	else
		r->done = true;
}

static void
begin_chunk(struct request *r)
{
	uint64_t max = r->limits->body;

	r->chunk_len = r->chunk.left;
	if (max && r->chunk.left > max - r->received)
		fail(r, 413, EFBIG);
}

/* Eat the framing that is here.  True if data of the body is here behind it. */
static bool
find_data(struct request *r)
{
	size_t n, used;
	char *p;
	int status;

	while (is_open(r) && (n = peek(r, &p)) > 0) {
		if (data_left(r))
			return true;
		status = chunk_parse(&r->chunk, p, n, &used);
		skip(r, used);
		if (status)
			fail(r, status, EPROTO);
		else if (r->chunk.done)
			end_chunked(r);
		else if (r->chunk.left)
			begin_chunk(r);
	}
	return false;
}

/* The next piece of data that is here, at most max bytes; 0: there is none. */
static size_t
next_piece(struct request *r, size_t max, char **ret_p)
{
	size_t n;

	if (!find_data(r))
		return 0;
	n = min(min(peek(r, ret_p), max), data_left(r));
	skip(r, n);
	took(r, n);
	return n;
}

static size_t
copy_pieces(struct request *r, char *to, size_t max)
{
	size_t n, got = 0;
	char *p;

	while (got < max && (n = next_piece(r, max - got, &p)) > 0) {
		memcpy(to + got, p, n);
		got += n;
	}
	return got;
}

/* How much to ask for into the block, `straight` going to the application. */
static size_t
block_room(const struct request *r, size_t straight, bool direct)
{
	size_t room = r->limits->block_size - straight;

	if (!r->framing.chunked)
		return straight ? 0 : min(room, r->left);
	if (straight && straight < r->chunk.left)
		return 0;
	if (direct && r->chunk_len >= LARGE_CHUNK)
		return min(room, SIDE_LEN);
	return room;
}

static ssize_t
ask_socket(struct request *r, const struct iovec *iov, int n, int64_t until)
{
	if (until == NO_WAIT)
		return io_recvv(r->conn->fd, iov, n, MSG_DONTWAIT);
	if (until != BODY_TIMEOUT)
		return conn_receive_until(r->conn, iov, n, until);
	if (r->expects) {
		r->expects = false;
		if (r->send_continue && r->send_continue(r->arg) == -1)
			return -1;
	}
	return conn_receive(r->conn, iov, n);
}

static void
fail_receive(struct request *r, ssize_t got)
{
	if (got ==
		0) /* the client may have closed its half only: it can read */
		fail(r, 400, ECONNRESET);
	else if (errno == ETIMEDOUT)
		fail(r, 408, ETIMEDOUT);
	else if (errno != EAGAIN && errno != EWOULDBLOCK)
		fail(r, 0, ECONNRESET);
}

/*
 * Receive once: data of the body into p[0 .. n) as far as it comes first, what
 * follows into the block; with n == 0 everything into the block.  Returns how
 * much data went to p.
 */
static size_t
receive(struct request *r, char *p, size_t n, int64_t until)
{
	size_t straight = min(min(n, r->limits->block_size), data_left(r));
	struct iovec iov[2] = {
		{p, straight},
		{r->block, block_room(r, straight, n > 0)},
	};
	ssize_t got;

	assert(r->extra_at == r->len && r->block_at == r->block_len);
	r->block_at = 0;
	r->block_len = 0;
	got = ask_socket(r, straight ? iov : iov + 1,
		straight && iov[1].iov_len ? 2 : 1, until);
	if (got <= 0) {
		fail_receive(r, got);
		return 0;
	}
	n = min((size_t)got, straight);
	r->block_len = (size_t)got - n;
	took(r, n);
	return n;
}

static ssize_t
result(const struct request *r, size_t got)
{
	if (got == 0 && r->fault_errno) {
		errno = r->fault_errno;
		return -1;
	}
	return (ssize_t)got;
}

ssize_t
request_read_body(struct request *r, void *p, size_t n)
{
	bool direct = n >= r->limits->block_size;
	bool asked = false;
	char *to = p;
	size_t got = 0;

	for (;;) {
		got += copy_pieces(r, to + got, n - got);
		if (got == n || !is_open(r))
			break;
		/* A large read takes what the kernel has, without waiting. */
		if (got > 0 && (asked || !direct))
			break;
		got += receive(r, to + got, direct ? n - got : 0,
			got == 0 ? BODY_TIMEOUT : NO_WAIT);
		asked = true;
	}
	return result(r, got);
}

/*
 * Data of neighbouring chunks is put together where it stands; the smaller
 * piece moves over the framing between them.
 */
static size_t
join_pieces(struct request *r, char **p, size_t n)
{
	bool in_head = r->extra_at < r->len;
	char *q;
	size_t m;

	while (find_data(r) && (r->extra_at < r->len) == in_head) {
		m = next_piece(r, SIZE_MAX, &q);
		if (n < m) {
			memmove(q - n, *p, n);
			*p = q - n;
		} else {
			memmove(*p + n, q, m);
		}
		n += m;
	}
	return n;
}

ssize_t
request_next_block(struct request *r, const char **ret_p)
{
	size_t n, max = r->limits->block_size;
	char *p = NULL;

	while ((n = next_piece(r, max, &p)) == 0 && is_open(r))
		receive(r, NULL, 0, BODY_TIMEOUT);
	if (n > 0 && r->framing.chunked)
		n = join_pieces(r, &p, n);
	*ret_p = p;
	return result(r, n);
}

/* Eat n bytes of a chunked body as reading it would; chunk_parse()'s status. */
static int
eat(struct chunk *c, const char *p, size_t n)
{
	size_t used;
	int status = 0;

	for (; n > 0 && !c->done && !status; p += used, n -= used) {
		used = min(n, c->left);
		if (used > 0)
			chunk_took(c, used);
		else
			status = chunk_parse(c, p, n, &used);
	}
	return status;
}

bool
request_is_broken(const struct request *r)
{
	struct chunk c = r->chunk;
	struct buf trailers;
	bool broken;

	if (r->done || r->fault_errno || !r->framing.chunked)
		return r->fault_errno;
	buf_init(&trailers);
	c.trailers = &trailers;
	broken = eat(&c, r->p + r->extra_at, r->len - r->extra_at) ||
		eat(&c, r->block + r->block_at, r->block_len - r->block_at);
	buf_done(&trailers);
	return broken;
}

int64_t
request_content_length(const struct request *r)
{
	if (r->framing.chunked)
		return -1;
	return (int64_t)r->framing.length;
}

int64_t
request_body_left(const struct request *r)
{
	if (r->done)
		return 0;
	return r->framing.chunked ? -1 : (int64_t)r->left;
}

bool
request_drain(struct request *r, size_t max, int64_t until_us)
{
	uint64_t end = r->received + max;
	bool hopeless = until_us != NO_WAIT && (r->expects || r->left > max);
	char *p;

	while (!r->done && !hopeless) {
		while (next_piece(r, SIZE_MAX, &p) > 0)
			;
		if (!is_open(r) || r->received >= end)
			break;
		receive(r, NULL, 0, until_us);
		hopeless = r->block_len == 0;
	}
	return r->done;
}
