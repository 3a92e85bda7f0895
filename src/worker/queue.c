/*
 * queue.c -- what waits to go out on the wire: head, chunks, framing.
 *
 * Bytes go out in a fixed order: interim responses, the head, wire chunks
 * (a frame and its data each), the ending.  queue_gather() lays them out,
 * queue_sent() walks the same way.  Only a wire chunk that has begun is fixed,
 * since its size was told; all others are planned anew at each gather, so that
 * whatever came meanwhile goes into the same one.
 *
 * A body without chunked coding is a wire chunk with an empty frame.
 */
#include "worker/queue.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Room that the framing field, Connection and the closing CRLF need. */
#define HEAD_SPARE 96

/* What an ending begins with; the first CRLF is of the wire chunk before. */
static const struct str last_chunk = {"\r\n0\r\n", 5};

int
queue_init(struct queue *q, int chunks_max, size_t chunk_size)
{
	*q = (struct queue){.chunks_max = chunks_max, .chunk_size = chunk_size};
	/*
	 * One more than may wait is added before anything is sent, and a
	 * release callback may find it natural to write, too.
	 */
	q->entries_max = chunks_max + 2;
	q->entries = calloc((size_t)q->entries_max, sizeof(*q->entries));
	if (!q->entries || buf_reserve(&q->ending, 64) == -1) {
		queue_done(q);
		errno = ENOMEM;
		return -1;
	}
	queue_reset(q);
	return 0;
}

void
queue_done(struct queue *q)
{
	buf_done(&q->interim);
	buf_done(&q->head);
	buf_done(&q->ending);
	free(q->copies);
	free(q->entries);
	q->copies = NULL;
	q->entries = NULL;
}

void
queue_reset(struct queue *q)
{
	assert(q->nsent == 0 && q->nwaiting == 0);
	q->head_ready = q->head_final = q->wire_open = q->ended = false;
	queue_clear_lines(q);
	buf_reset(&q->interim);
	q->interim_at = q->head_at = q->ending_at = 0;
	q->copies_at = q->copies_len = 0;
	q->framing = QUEUE_UNDECIDED;
	q->chunks = q->nwires = q->peak = 0;
	q->bytes = q->range = 0;
}

/* ---- the head ---- */

void
queue_clear_lines(struct queue *q)
{
	assert(!q->head_ready);
	buf_reset(&q->head);
	buf_reset(&q->ending);
	buf_add_str(&q->ending, last_chunk);
}

int
queue_set_head(
	struct queue *q, enum queue_framing framing, int minor, bool keep_alive)
{
	if (buf_reserve(&q->head, HEAD_SPARE) == -1)
		return -1;
	q->framing = framing;
	q->minor = minor;
	q->keep_alive = keep_alive;
	q->head_ready = true;
	return 0;
}

bool
queue_is_fresh(const struct queue *q)
{
	return q->head_at == 0;
}

static void
add_connection(struct queue *q)
{
	if (q->framing == QUEUE_CLOSE)
		q->keep_alive = false;
	if (!q->keep_alive)
		buf_add_str(&q->head, STR("Connection: close\r\n"));
	else if (q->minor == 0)
		buf_add_str(&q->head, STR("Connection: keep-alive\r\n"));
}

/* The framing is known: complete the head. */
static void
finish_head(struct queue *q)
{
	if (q->head_final)
		return;
	if (q->framing == QUEUE_CHUNKED)
		buf_add_str(&q->head, STR("Transfer-Encoding: chunked\r\n"));
	add_connection(q);
	buf_add_str(&q->head, STR("\r\n"));
	q->head_final = true;
}

/* It must be sent before its length is known. */
static void
decide_open(struct queue *q)
{
	if (q->framing == QUEUE_UNDECIDED)
		q->framing = q->minor == 0 ? QUEUE_CLOSE : QUEUE_CHUNKED;
}

int
queue_add_interim(struct queue *q, struct str bytes)
{
	assert(queue_is_fresh(q));
	if (q->interim_at == q->interim.len) {
		buf_reset(&q->interim);
		q->interim_at = 0;
	}
	if (buf_reserve(&q->interim, bytes.len) == -1)
		return -1;
	buf_add_str(&q->interim, bytes);
	return 0;
}

/* ---- the body ---- */

static struct queue_entry *
entry(const struct queue *q, int i)
{
	int at = q->release_at + i;

	return &q->entries[at < q->entries_max ? at : at - q->entries_max];
}

/* How many of its chunks wait, a partly sent one counting whole. */
static int64_t
entry_chunks(const struct queue *q, const struct queue_entry *e)
{
	size_t s = q->chunk_size;

	if (e->sent == e->len)
		return 0;
	if (e->len <= s)
		return 1;
	return (int64_t)(e->len / s + (e->len % s != 0) - e->sent / s);
}

void
queue_add(struct queue *q, const void *p, size_t n, void (*release)(void *),
	void *arg)
{
	struct queue_entry *e;
	int64_t chunks;

	assert(n > 0 && !q->ended && q->nsent + q->nwaiting < q->entries_max);
	e = entry(q, q->nsent + q->nwaiting++);
	*e = (struct queue_entry){
		.p = p, .len = n, .release = release, .arg = arg};
	q->bytes += n;
	q->chunks += entry_chunks(q, e);
	/* what goes beyond the limit never waits: the call does */
	chunks = q->chunks < q->chunks_max ? q->chunks : q->chunks_max;
	if (q->peak < chunks)
		q->peak = (int)chunks;
}

/* ---- copies ---- */

/* Pages that are never written to are no memory: it may be as large as ever. */
static bool
has_copies(struct queue *q)
{
	size_t size;

	if (q->copies)
		return true;
	if (__builtin_mul_overflow(
		    (size_t)q->chunks_max, q->chunk_size, &size) ||
		size == 0)
		return false;
	q->copies = malloc(size);
	q->copies_size = q->copies ? size : 0;
	return q->copies != NULL;
}

/* n bytes on from `at`, which may be past the seam. */
static size_t
copies_on(const struct queue *q, size_t at, size_t n)
{
	return n < q->copies_size - at ? at + n : n - (q->copies_size - at);
}

/* How many of n bytes at `at` lie before the seam. */
static size_t
copies_straight(const struct queue *q, size_t at, size_t n)
{
	return n < q->copies_size - at ? n : q->copies_size - at;
}

/* There is room for them. */
static size_t
copies_add(struct queue *q, const char *p, size_t n)
{
	size_t at = copies_on(q, q->copies_at, q->copies_len);
	size_t k = copies_straight(q, at, n);

	memcpy(q->copies + at, p, k);
	if (k < n)
		memcpy(q->copies, p + k, n - k);
	q->copies_len += n;
	return at;
}

/* The oldest n bytes, which end at `at`, are not needed any more. */
static void
copies_sent(struct queue *q, size_t at, size_t n)
{
	q->copies_at = at;
	q->copies_len -= n;
}

int
queue_own(struct queue *q)
{
	struct queue_entry *e;
	size_t n;

	if (q->nwaiting == 0)
		return 0;
	e = entry(q, q->nsent + q->nwaiting - 1);
	if (!e->p)
		return 0;
	n = e->len - e->sent;
	if (!has_copies(q) || n > q->copies_size - q->copies_len) {
		errno = ENOMEM;
		return -1;
	}
	e->at = copies_add(q, e->p, n);
	e->p = NULL;
	return 0;
}

void
queue_range(struct queue *q, size_t n)
{
	decide_open(q);
	if (q->framing == QUEUE_CHUNKED)
		q->range = n;
}

/* ---- the end ---- */

int
queue_reserve_trailer(struct queue *q, size_t n)
{
	/* the closing CRLF has its place, too */
	if (buf_reserve(&q->ending, n + 2) == 0)
		return 0;
	q->ending.failed = false;
	return -1;
}

static void
decide_at_end(struct queue *q)
{
	if (q->minor > 0 && q->ending.len > last_chunk.len) {
		q->framing = QUEUE_CHUNKED;
		return;
	}
	q->framing = QUEUE_LENGTH;
	buf_add_str(&q->head, STR("Content-Length: "));
	buf_add_u64(&q->head, q->bytes);
	buf_add_str(&q->head, STR("\r\n"));
}

void
queue_end(struct queue *q)
{
	assert(q->head_ready && !q->ended);
	if (q->framing == QUEUE_UNDECIDED)
		decide_at_end(q);
	buf_add_str(&q->ending, STR("\r\n"));
	/* without data before it, the last chunk closes nothing */
	if (q->bytes == 0 && !q->wire_open)
		q->ending_at = 2;
	q->ended = true;
}

/* ---- what goes next ---- */

static bool
wire_has_begun(const struct queue *q)
{
	return q->nwires > 0 && q->wires[0].frame_at > 0;
}

static bool
ending_waits(const struct queue *q)
{
	return q->ended && q->framing == QUEUE_CHUNKED &&
		q->ending_at < q->ending.len;
}

bool
queue_is_empty(const struct queue *q)
{
	if (q->interim_at < q->interim.len)
		return false;
	if (!q->head_ready)
		return true;
	return q->head_at == q->head.len && q->bytes == 0 && q->range == 0 &&
		!wire_has_begun(q) && !ending_waits(q);
}

static void
plan_wire(struct queue *q, size_t size, size_t left, bool is_range)
{
	struct queue_wire *w = &q->wires[q->nwires];

	w->frame_len = w->frame_at = 0;
	w->left = left;
	w->is_range = is_range;
	if (q->framing == QUEUE_CHUNKED) {
		if (q->wire_open || q->nwires > 0) {
			memcpy(w->frame, "\r\n", 2);
			w->frame_len = 2;
		}
		w->frame_len += chunk_head(w->frame + w->frame_len, size);
	}
	q->nwires++;
}

static void
plan(struct queue *q)
{
	size_t rest = q->bytes;

	q->nwires = wire_has_begun(q);
	if (q->nwires)
		rest -= q->wires[0].left;
	if (rest)
		plan_wire(q, rest, rest, false);
	if (q->range)
		plan_wire(q, q->range, 0, true);
}

struct gather {
	struct iovec *iov;
	int n;
	int max;
	bool full; /* a piece found no place: nothing may follow */
};

static void
gather_piece(struct gather *g, const char *p, size_t n)
{
	struct iovec *last = g->n ? &g->iov[g->n - 1] : NULL;

	if (n == 0 || g->full)
		return;
	if (last && (char *)last->iov_base + last->iov_len == p) {
		last->iov_len += n;
		return;
	}
	if (g->n == g->max) {
		g->full = true;
		return;
	}
	g->iov[g->n++] = (struct iovec){(char *)p, n};
}

static void
gather_buf(struct gather *g, const struct buf *b, size_t at)
{
	if (at < b->len)
		gather_piece(g, b->p + at, b->len - at);
}

/* n bytes of an entry, from its byte `off` on of those that wait. */
static void
gather_entry(const struct queue *q, struct gather *g,
	const struct queue_entry *e, size_t off, size_t n)
{
	size_t at, k;

	if (e->p) {
		gather_piece(g, e->p + off, n);
		return;
	}
	at = copies_on(q, e->at, off);
	k = copies_straight(q, at, n);
	gather_piece(g, q->copies + at, k);
	gather_piece(g, q->copies, n - k);
}

/* The data of one wire chunk: from byte *off of entry *i on, `left` bytes. */
static void
gather_data(const struct queue *q, struct gather *g, size_t left, int *i,
	size_t *off)
{
	const struct queue_entry *e;
	size_t n;

	for (; left && !g->full; left -= n) {
		e = entry(q, *i);
		n = e->len - e->sent - *off;
		if (n > left)
			n = left;
		gather_entry(q, g, e, *off, n);
		*off += n;
		if (*off == e->len - e->sent) {
			++*i;
			*off = 0;
		}
	}
}

int
queue_gather(struct queue *q, struct iovec *iov, int max)
{
	struct gather g = {.iov = iov, .max = max};
	const struct queue_wire *w;
	int i = q->nsent;
	size_t off = 0;

	gather_buf(&g, &q->interim, q->interim_at);
	if (!q->head_ready)
		return g.n;
	decide_open(q);
	finish_head(q);
	gather_buf(&g, &q->head, q->head_at);
	plan(q);
	for (w = q->wires; w < q->wires + q->nwires; w++) {
		gather_piece(
			&g, w->frame + w->frame_at, w->frame_len - w->frame_at);
		gather_data(q, &g, w->left, &i, &off);
	}
	if (ending_waits(q))
		gather_buf(&g, &q->ending, q->ending_at);
	return g.n;
}

/* ---- what was sent ---- */

/* Take from *n what is left between *at and len. */
static void
take(size_t *at, size_t len, size_t *n)
{
	size_t k = len - *at < *n ? len - *at : *n;

	*at += k;
	*n -= k;
}

static void
entry_sent(struct queue *q, struct queue_entry *e, size_t n)
{
	q->chunks -= entry_chunks(q, e);
	e->sent += n;
	q->chunks += entry_chunks(q, e);
	q->bytes -= n;
	if (e->p) {
		e->p += n;
	} else {
		e->at = copies_on(q, e->at, n);
		copies_sent(q, e->at, n);
	}
	if (e->sent == e->len) {
		q->nsent++;
		q->nwaiting--;
	}
}

static void
data_sent(struct queue *q, size_t n)
{
	struct queue_entry *e;
	size_t k;

	for (; n; n -= k) {
		e = entry(q, q->nsent);
		k = e->len - e->sent < n ? e->len - e->sent : n;
		entry_sent(q, e, k);
	}
	/* the same few pages again, as long as they are enough */
	if (q->copies_len == 0)
		q->copies_at = 0;
}

static void
wire_sent(struct queue *q, struct queue_wire *w, size_t *n)
{
	size_t at = 0;

	take(&w->frame_at, w->frame_len, n);
	if (w->is_range)
		q->range = 0;
	take(&at, w->left, n);
	w->left -= at;
	data_sent(q, at);
}

void
queue_sent(struct queue *q, size_t n)
{
	struct queue_wire *w = q->wires;

	take(&q->interim_at, q->interim.len, &n);
	if (!q->head_ready)
		return;
	take(&q->head_at, q->head.len, &n);
	while (n && q->nwires) {
		wire_sent(q, w, &n);
		if (w->frame_at < w->frame_len || w->left)
			break;
		q->wire_open = true;
		memmove(w, w + 1, sizeof(*w) * (size_t)--q->nwires);
	}
	if (ending_waits(q))
		take(&q->ending_at, q->ending.len, &n);
	assert(n == 0);
}

/* ---- letting go ---- */

bool
queue_take_release(struct queue *q, void (**ret_fn)(void *), void **ret_arg)
{
	struct queue_entry *e;

	while (q->nsent) {
		e = entry(q, 0);
		if (++q->release_at == q->entries_max)
			q->release_at = 0;
		q->nsent--;
		if (e->release) {
			*ret_fn = e->release;
			*ret_arg = e->arg;
			return true;
		}
	}
	return false;
}

void
queue_drop(struct queue *q)
{
	q->nsent += q->nwaiting;
	q->nwaiting = q->chunks = q->nwires = 0;
	q->bytes = q->range = 0;
	q->head_ready = false;
	q->interim_at = q->interim.len;
	q->copies_at = q->copies_len = 0;
}
