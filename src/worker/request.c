/*
 * request.c -- the request in hand: its head.
 *
 * Collects the bytes of a head, lets http/ judge them, and keeps them where
 * they are until the request ends, because head, framing and target are views
 * into them.  Waiting for a head is left to park.h, the body to body.c.
 *
 * A pipelined request is not moved: p steps over the one before it, and the
 * bytes go to the front of the buffer only when room is needed, which is never
 * while there are views.  No read asks for more than REQUEST_HEAD_READ, nor
 * for more than the block size, since it may bring the body as well.
 */
#include "worker/request.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"

/* What a request usually allocates: decoded path, the application's bits. */
#define ARENA_FIRST 8192

static size_t
min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Forget the last request; nothing is known of the next one. */
static void
begin(struct request *r)
{
	arena_reset(&r->arena);
	strict_reset(&r->strict);
	head_reset(&r->head);
	head_reset(&r->trailers);
	memset(&r->framing, 0, sizeof(r->framing));
	memset(&r->target, 0, sizeof(r->target));
	r->head_len = 0;
	r->extra_at = 0;
	r->left = 0;
	r->received = 0;
	r->chunk_len = 0;
	r->expects = false;
	r->done = false;
	r->fault = 0;
	r->fault_errno = 0;
}

static int
init_fields(struct head *h, size_t max)
{
	/* One more than the parser may use: a Host may have to be added. */
	struct field *fields = calloc(max + 1, sizeof(*fields));

	head_init(h, fields, max);
	return fields ? 0 : -1;
}

int
request_init(struct request *r, const struct request_limits *limits,
	struct conn *conn)
{
	memset(r, 0, sizeof(*r));
	r->limits = limits;
	r->conn = conn;
	r->cap = limits->head.head + REQUEST_HEAD_READ;
	r->base = malloc(r->cap);
	r->block = malloc(limits->block_size);
	buf_init(&r->raw_trailers);
	if (init_fields(&r->head, limits->head.fields) == -1 ||
		init_fields(&r->trailers, limits->head.fields) == -1 ||
		arena_init(&r->arena, ARENA_FIRST) == -1 || !r->base ||
		!r->block) {
		request_done(r);
		errno = ENOMEM;
		return -1;
	}
	request_reset(r);
	return 0;
}

void
request_done(struct request *r)
{
	free(r->base);
	free(r->block);
	free(r->head.fields);
	free(r->trailers.fields);
	buf_done(&r->raw_trailers);
	arena_done(&r->arena);
	memset(r, 0, sizeof(*r));
}

void
request_reset(struct request *r)
{
	r->p = r->base;
	r->len = 0;
	r->block_at = 0;
	r->block_len = 0;
	begin(r);
}

void
request_resume(
	struct request *r, const char *p, size_t n, const struct strict *s)
{
	size_t first = min(n, r->cap);

	assert(r->len == 0 && n - first <= r->limits->block_size);
	memcpy(r->base, p, first);
	r->p = r->base;
	r->len = first;
	memcpy(r->block, p + first, n - first);
	r->block_at = 0;
	r->block_len = n - first;
	r->strict = *s;
}

void
request_skip(struct request *r, size_t n)
{
	assert(r->head_len == 0 && n <= r->len);
	r->p += n;
	r->len -= n;
}

void
request_kept(const struct request *r, struct iovec ret_bytes[2])
{
	ret_bytes[0] = (struct iovec){r->p, r->len};
	ret_bytes[1] = (struct iovec){
		r->block + r->block_at, r->block_len - r->block_at};
}

bool
request_is_overfed(const struct request *r)
{
	size_t more = r->block_len - r->block_at;

	return r->len - r->extra_at + more > r->cap;
}

/* Room for n more bytes behind what came of an unfinished head. */
static void
make_room(struct request *r, size_t n)
{
	assert(r->head_len == 0);
	if ((size_t)(r->base + r->cap - r->p) - r->len >= n)
		return;
	memmove(r->base, r->p, r->len);
	r->p = r->base;
}

/*
 * A chunked body is read in blocks, which may bring requests behind it; they
 * go on in the head buffer, a portion at a time.
 */
static bool
pull_from_block(struct request *r)
{
	size_t n = min(r->block_len - r->block_at, REQUEST_HEAD_READ);

	if (n == 0)
		return false;
	make_room(r, n);
	memcpy(r->p + r->len, r->block + r->block_at, n);
	r->len += n;
	r->block_at += n;
	return true;
}

void
request_next(struct request *r)
{
	assert(r->done);
	r->p += r->extra_at;
	r->len -= r->extra_at;
	begin(r);
	if (r->len == 0) {
		r->p = r->base;
		pull_from_block(r);
	}
}

static int
find_end(struct request *r)
{
	const struct strict_limits *limits = &r->limits->head;
	int status;

	do {
		status = strict_scan(
			&r->strict, limits, r->p, r->len, &r->head_len);
		if (status || r->head_len)
			return status;
		if (r->len > limits->head)
			return 431;
	} while (pull_from_block(r));
	return 0;
}

/* RFC 9112 3.2.2: the authority of an absolute form replaces Host. */
static void
replace_host(struct request *r)
{
	struct head *h = &r->head;
	struct field *f = h->fields;
	struct field *end = h->fields + h->nfields;

	while (f < end && !str_eq_nocase(f->name, STR("host")))
		f++;
	if (f == end) { /* HTTP/1.0 */
		f->name = STR("Host");
		h->nfields++;
	}
	f->value = r->target.authority;
}

static void
begin_body(struct request *r)
{
	const struct framing *f = &r->framing;

	r->extra_at = r->head_len;
	r->left = f->chunked ? 0 : f->length;
	r->done = !f->chunked && f->length == 0;
	r->expects = f->expect && !r->done && r->len == r->head_len &&
		r->block_at == r->block_len;
	if (f->chunked)
		chunk_reset(&r->chunk, &r->raw_trailers, &r->limits->head);
}

static int
judge(struct request *r)
{
	size_t start = r->strict.start;
	int status;

	status = parser_read(&r->head, r->p + start, r->head_len - start);
	if (status)
		return status;
	status = framing_read(&r->framing, &r->head);
	if (status)
		return status;
	status = target_read(&r->target, &r->head, &r->arena);
	if (status)
		return status > 0 ? status : 500;
	if (r->limits->body && r->framing.length > r->limits->body)
		return 413;
	if (r->target.form == TARGET_ABSOLUTE)
		replace_host(r);
	begin_body(r);
	return 0;
}

int
request_read_head(struct request *r)
{
	int status = find_end(r);

	if (status || r->head_len == 0)
		return status;
	return judge(r);
}

ssize_t
request_receive_head(struct request *r)
{
	size_t want = min(REQUEST_HEAD_READ, r->limits->block_size);
	struct iovec iov;
	ssize_t n;

	make_room(r, want);
	iov.iov_base = r->p + r->len;
	iov.iov_len = want;
	n = io_recvv(r->conn->fd, &iov, 1, MSG_DONTWAIT);
	if (n > 0)
		r->len += (size_t)n;
	return n;
}

struct str
request_line(const struct request *r)
{
	struct str s = {NULL, 0};

	if (r->strict.start >= r->len)
		return s;
	s.p = r->p + r->strict.start;
	s.len = min(r->len - r->strict.start, r->limits->head.line);
	for (size_t i = 0; i < s.len; i++)
		if (s.p[i] == '\r' || s.p[i] == '\n')
			s.len = i;
	return s;
}

bool
request_has_more(const struct request *r)
{
	return r->extra_at < r->len || r->block_at < r->block_len;
}
