/*
 * fuzz_queue.c -- writes, file ranges and a kernel that takes what it likes:
 * the body comes out as it went in.
 *
 * The first bytes pick N, the pieces of a gather, HTTP/1.minor and the framing;
 * each one after it is something that happens.
 */
#include <assert.h>

#include "wire.h"
#include "worker/queue.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static struct queue q;
static struct buf sent, body;

static void
kernel(size_t max, int pieces)
{
	struct iovec iov[8];
	int i, n = queue_gather(&q, iov, pieces);
	size_t left = max, k;

	assert((n > 0) == !queue_is_empty(&q));
	for (i = 0; i < n && left; i++, left -= k) {
		k = iov[i].iov_len < left ? iov[i].iov_len : left;
		buf_add(&sent, iov[i].iov_base, k);
	}
	queue_sent(&q, max - left);
}

static void
add(size_t n)
{
	static const char bytes[256] = "0123456789abcdefghijklmnopqrstuvwxyz";
	const char *p = bytes + body.len % 64;

	buf_add(&body, p, n);
	queue_add(&q, p, n, NULL, NULL);
}

static void
happen(uint8_t b, int pieces)
{
	void (*fn)(void *);
	void *arg;

	if (b % 4 == 0)
		kernel(b / 4, pieces);
	else if (b == 255)
		queue_range(&q, 9);
	else
		add(b / 4 + 1u);
	while (b == 255 ? !queue_is_empty(&q) : q.chunks > q.chunks_max)
		kernel(b / 4 + 1u, pieces);
	if (b % 4 == 1)
		assert(queue_own(&q) == 0);
	if (b == 255) {
		buf_add_str(&sent, STR("123456789"));
		buf_add_str(&body, STR("123456789"));
	}
	assert(!queue_take_release(&q, &fn, &arg));
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct wire_message m;
	struct wire w;

	if (n < 4 || queue_init(&q, p[0] % 9, 1 + p[0] / 9) == -1)
		return 0;
	buf_reset(&sent);
	buf_reset(&body);
	buf_add_str(&q.head, STR("HTTP/1.1 200 OK\r\n"));
	queue_set_head(&q, p[2] % 2 ? QUEUE_UNDECIDED : QUEUE_CHUNKED,
		p[2] % 2 ? p[3] % 2 : 1, true);
	for (size_t i = 4; i < n && i < 4096; i++)
		happen(p[i], 1 + p[1] % 8);
	queue_end(&q);
	while (!queue_is_empty(&q))
		kernel(p[3] + 1u, 1 + p[1] % 8);
	w = (struct wire){sent.p, sent.len};
	assert(wire_read(&w, false, &m) && w.n == 0);
	assert(m.complete || q.framing == QUEUE_CLOSE);
	assert(m.body_len == body.len);
	assert(!body.len || !memcmp(m.body, body.p, body.len));
	wire_free(&m);
	queue_drop(&q);
	queue_done(&q);
	return 0;
}
