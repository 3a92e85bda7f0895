/*
 * test_queue.c -- what waits to go out on the wire.
 *
 * The queue is pure, so the kernel is played here: it takes as many bytes of
 * each gather as the test says.
 */
#include <check.h>
#include <limits.h>
#include <stdio.h>

#include "wire.h"
#include "worker/queue.h"

static struct queue q;
static struct buf sent;
static int nreleased;

static void
setup_with(int chunks_max, size_t chunk_size)
{
	ck_assert_int_eq(queue_init(&q, chunks_max, chunk_size), 0);
	buf_init(&sent);
	nreleased = 0;
}

static void
setup(void)
{
	setup_with(4, 512);
}

static void
release_all(void)
{
	void (*fn)(void *);
	void *arg;

	while (queue_take_release(&q, &fn, &arg))
		fn(arg);
}

static void
teardown(void)
{
	queue_drop(&q);
	release_all();
	queue_done(&q);
	buf_done(&sent);
}

static void
restart(void)
{
	queue_drop(&q);
	release_all();
	queue_reset(&q);
	buf_reset(&sent);
}

static void
released(void *arg)
{
	++*(int *)arg;
}

static void
head(enum queue_framing framing, int minor, bool keep_alive)
{
	buf_add_str(&q.head, STR("HTTP/1.1 200 OK\r\n"));
	ck_assert_int_eq(queue_set_head(&q, framing, minor, keep_alive), 0);
}

/* One gather of which the kernel takes at most max bytes; the bytes taken. */
static size_t
kernel(size_t max, int iov_max)
{
	struct iovec iov[IOV_MAX];
	int i, n = queue_gather(&q, iov, iov_max);
	size_t took = 0, k;

	ck_assert_int_le(n, iov_max);
	for (i = 0; i < n && took < max; i++) {
		k = iov[i].iov_len < max - took ? iov[i].iov_len : max - took;
		ck_assert_uint_gt(k, 0);
		buf_add(&sent, iov[i].iov_base, k);
		took += k;
	}
	queue_sent(&q, took);
	return took;
}

static void
send_all(void)
{
	while (!queue_is_empty(&q))
		ck_assert_uint_gt(kernel(SIZE_MAX, IOV_MAX), 0);
}

static void
add(const char *z)
{
	queue_add(&q, z, strlen(z), NULL, NULL);
	ck_assert_int_eq(queue_own(&q), 0);
}

static struct wire_message
received(void)
{
	struct wire w = {sent.p, sent.len};
	struct wire_message m;

	ck_assert_msg(wire_read(&w, false, &m), "%s", buf_z(&sent));
	ck_assert_uint_eq(w.n, 0);
	return m;
}

static void
expect(const char *z)
{
	ck_assert_str_eq(buf_z(&sent), z);
}

START_TEST(a_short_body_gets_a_length)
{
	head(QUEUE_UNDECIDED, 1, true);
	add("Hello, ");
	add("World!");
	queue_end(&q);
	ck_assert_uint_gt(kernel(SIZE_MAX, IOV_MAX), 0);
	ck_assert(queue_is_empty(&q));
	expect("HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, World!");
}
END_TEST

START_TEST(head_and_copies_are_two_pieces)
{
	struct iovec iov[IOV_MAX];

	head(QUEUE_UNDECIDED, 1, true);
	add("a");
	add("b");
	add("c");
	queue_end(&q);
	ck_assert_int_eq(queue_gather(&q, iov, IOV_MAX), 2);
	ck_assert_uint_eq(iov[1].iov_len, 3);
}
END_TEST

START_TEST(what_goes_before_the_end_is_chunked)
{
	head(QUEUE_UNDECIDED, 1, true);
	add("abc");
	add("de");
	send_all();
	add("f");
	queue_end(&q);
	send_all();
	expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	       "5\r\nabcde\r\n1\r\nf\r\n0\r\n\r\n");
}
END_TEST

START_TEST(nothing_but_a_flushed_head)
{
	head(QUEUE_UNDECIDED, 1, true);
	send_all();
	expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
	queue_end(&q);
	send_all();
	expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	       "0\r\n\r\n");
}
END_TEST

START_TEST(an_http10_client_is_told_the_truth)
{
	head(QUEUE_UNDECIDED, 0, true);
	add("a");
	queue_end(&q);
	send_all();
	expect("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
	       "Connection: keep-alive\r\n\r\na");
	restart();
	head(QUEUE_UNDECIDED, 0, true);
	add("a");
	send_all();
	add("b");
	queue_end(&q);
	send_all();
	expect("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nab");
	ck_assert(!q.keep_alive);
}
END_TEST

START_TEST(close_can_be_decided_until_the_head_goes)
{
	head(QUEUE_UNDECIDED, 1, true);
	add("a");
	q.keep_alive = false;
	queue_end(&q);
	send_all();
	expect("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
	       "Connection: close\r\n\r\na");
}
END_TEST

START_TEST(no_body_no_framing)
{
	head(QUEUE_NONE, 1, true);
	queue_end(&q);
	send_all();
	expect("HTTP/1.1 200 OK\r\n\r\n");
}
END_TEST

START_TEST(trailers_need_chunks)
{
	ck_assert_int_eq(queue_reserve_trailer(&q, 6), 0);
	buf_add_str(&q.ending, STR("X: y\r\n"));
	head(QUEUE_UNDECIDED, 1, true);
	add("a");
	queue_end(&q);
	send_all();
	expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	       "1\r\na\r\n0\r\nX: y\r\n\r\n");
	restart();
	ck_assert_int_eq(queue_reserve_trailer(&q, 6), 0);
	buf_add_str(&q.ending, STR("X: y\r\n"));
	head(QUEUE_UNDECIDED, 0, false);
	add("a");
	queue_end(&q);
	send_all();
	expect("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
	       "Connection: close\r\n\r\na");
}
END_TEST

START_TEST(interim_responses_come_first)
{
	ck_assert(queue_is_empty(&q));
	ck_assert_int_eq(
		queue_add_interim(&q, STR("HTTP/1.1 100 Continue\r\n\r\n")), 0);
	ck_assert(!queue_is_empty(&q));
	ck_assert_uint_eq(kernel(10, IOV_MAX), 10);
	head(QUEUE_NONE, 1, true);
	queue_end(&q);
	send_all();
	expect("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n");
	ck_assert(!queue_is_fresh(&q));
}
END_TEST

START_TEST(a_partly_sent_chunk_keeps_its_size)
{
	head(QUEUE_CHUNKED, 1, true);
	add("abcdef");
	kernel(q.head.len + strlen("Transfer-Encoding: chunked\r\n\r\n") + 5,
		IOV_MAX);
	add("gh");
	add("i");
	ck_assert_uint_gt(kernel(SIZE_MAX, IOV_MAX), 0);
	ck_assert(queue_is_empty(&q));
	queue_end(&q);
	send_all();
	expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	       "6\r\nabcdef\r\n3\r\nghi\r\n0\r\n\r\n");
}
END_TEST

START_TEST(an_unsent_chunk_takes_what_comes)
{
	head(QUEUE_CHUNKED, 1, true);
	add("abc");
	kernel(0, IOV_MAX);
	add("def");
	send_all();
	expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	       "6\r\nabcdef");
}
END_TEST

START_TEST(a_file_range_is_a_wire_chunk_of_its_own)
{
	head(QUEUE_UNDECIDED, 1, true);
	add("ab");
	queue_range(&q, 20);
	while (!queue_is_empty(&q))
		kernel(1, IOV_MAX);
	buf_add(&sent, "file file file file ", 20);
	add("c");
	queue_end(&q);
	send_all();
	expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	       "2\r\nab\r\n14\r\nfile file file file \r\n1\r\nc\r\n"
	       "0\r\n\r\n");
}
END_TEST

START_TEST(a_file_range_of_a_declared_length)
{
	head(QUEUE_LENGTH, 1, true);
	queue_range(&q, 20);
	ck_assert(!queue_is_empty(&q));
	send_all();
	queue_end(&q);
	ck_assert(queue_is_empty(&q));
	expect("HTTP/1.1 200 OK\r\n\r\n");
}
END_TEST

/* Chunks are cut at 512 here; see setup(). */
START_TEST(chunks_are_counted)
{
	static const struct {
		size_t len, sent;
		int chunks;
	} rows[] = {
		{1, 0, 1},
		{512, 0, 1},
		{512, 511, 1},
		{513, 0, 2},
		{513, 1, 2},
		{513, 512, 1},
		{513, 513, 0},
		{1024, 0, 2},
		{1024, 511, 2},
		{1024, 512, 1},
		{1024, 1024, 0},
		{1500, 1100, 1},
		{5120, 1, 10},
	};
	static char bytes[8192];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		head(QUEUE_LENGTH, 1, true);
		send_all();
		queue_add(&q, bytes, rows[i].len, NULL, NULL);
		kernel(rows[i].sent, IOV_MAX);
		ck_assert_msg(q.chunks == rows[i].chunks, "%zu of %zu: %d",
			rows[i].sent, rows[i].len, (int)q.chunks);
		restart();
	}
}
END_TEST

START_TEST(peak_never_passes_the_limit)
{
	head(QUEUE_CHUNKED, 1, true);
	ck_assert_int_eq(q.peak, 0);
	add("a");
	add("b");
	send_all();
	release_all();
	ck_assert_int_eq(q.peak, 2);
	for (int i = 0; i < 5; i++)
		add("x");
	ck_assert_int_eq(q.chunks, 5);
	ck_assert_int_eq(q.peak, 4);
	send_all();
	restart();
	ck_assert_int_eq(q.peak, 0);
}
END_TEST

START_TEST(released_once_in_order)
{
	static int n[3];

	head(QUEUE_CHUNKED, 1, true);
	for (int i = 0; i < 3; i++)
		queue_add(&q, "abc", 3, released, &n[i]);
	kernel(q.head.len + strlen("Transfer-Encoding: chunked\r\n\r\n") + 3 +
			4,
		IOV_MAX);
	release_all();
	ck_assert_int_eq(n[0], 1);
	ck_assert_int_eq(n[1], 0);
	queue_drop(&q);
	ck_assert(queue_is_empty(&q));
	release_all();
	release_all();
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(n[i], 1);
}
END_TEST

START_TEST(own_copies_only_what_is_left)
{
	char mine[] = "abcdef";

	head(QUEUE_LENGTH, 1, true);
	send_all();
	buf_reset(&sent);
	queue_add(&q, mine, 6, NULL, NULL);
	kernel(4, IOV_MAX);
	ck_assert_int_eq(queue_own(&q), 0);
	ck_assert_uint_eq(q.copies_len, 2);
	memset(mine, 'x', 6);
	ck_assert_int_eq(queue_own(&q), 0); /* again: nothing to do */
	ck_assert_uint_eq(q.copies_len, 2);
	send_all();
	expect("abcdef");
	ck_assert_int_eq(queue_own(&q), 0);
}
END_TEST

START_TEST(copies_of_a_slow_client_have_a_place)
{
	char bytes[500], want[500];
	size_t total = 0, i;

	queue_done(&q);
	setup_with(2, sizeof(bytes));
	head(QUEUE_LENGTH, 1, true);
	send_all();
	buf_reset(&sent);
	for (i = 0; i < 2000; i++) {
		memset(bytes, 'a' + (int)(i % 26), sizeof(bytes));
		queue_add(&q, bytes, sizeof(bytes), NULL, NULL);
		while (q.chunks > 2) /* it is never empty */
			kernel(77, IOV_MAX);
		ck_assert_int_eq(queue_own(&q), 0);
		release_all();
		total += sizeof(bytes);
	}
	ck_assert_uint_eq(q.copies_size, 2 * sizeof(bytes));
	send_all();
	ck_assert_uint_eq(sent.len, total);
	for (i = 0; i < 2000; i++) {
		memset(want, 'a' + (int)(i % 26), sizeof(want));
		ck_assert_mem_eq(sent.p + i * 500, want, 500);
	}
}
END_TEST

/*
 * Whatever N, S and the kernel do: the body comes out as it went in, in any
 * framing.  step picks how many bytes go at a time.
 */
static void
roundtrip(enum queue_framing framing, int minor, size_t step, int iov_max)
{
	struct wire_message m;
	struct buf body;
	char text[64];
	size_t n;

	buf_init(&body);
	head(framing, minor, true);
	for (int i = 0; i < 40; i++) {
		n = (size_t)snprintf(text, sizeof(text), "%d:%.*s;", i, i % 30,
			"..............................");
		buf_add(&body, text, n);
		queue_add(&q, text, n, NULL, NULL);
		while (q.chunks > q.chunks_max)
			kernel(step, iov_max);
		ck_assert_int_eq(queue_own(&q), 0);
		memset(text, '#', sizeof(text));
		if (i % 7 == 3)
			kernel(step, iov_max);
		release_all();
	}
	queue_end(&q);
	while (!queue_is_empty(&q))
		kernel(step, iov_max);
	m = received();
	ck_assert_uint_eq(m.body_len, body.len);
	ck_assert_mem_eq(m.body, body.p, body.len);
	ck_assert(m.complete || q.framing == QUEUE_CLOSE);
	wire_free(&m);
	buf_done(&body);
}

START_TEST(any_step_any_limit)
{
	static const int limits[] = {0, 1, 2, 7, 100};

	teardown();
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		for (size_t step = 1; step < 60; step += step < 9 ? 1 : 13) {
			setup_with(limits[i], 16);
			roundtrip(QUEUE_UNDECIDED, 1, step, IOV_MAX);
			restart();
			roundtrip(QUEUE_CHUNKED, 1, step, 1);
			restart();
			roundtrip(QUEUE_UNDECIDED, 0, step, 2);
			teardown();
		}
	setup();
}
END_TEST

Suite *queue_suite(void);

Suite *
queue_suite(void)
{
	Suite *s = suite_create("queue");
	TCase *t = tcase_create("queue");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_short_body_gets_a_length);
	tcase_add_test(t, head_and_copies_are_two_pieces);
	tcase_add_test(t, what_goes_before_the_end_is_chunked);
	tcase_add_test(t, nothing_but_a_flushed_head);
	tcase_add_test(t, an_http10_client_is_told_the_truth);
	tcase_add_test(t, close_can_be_decided_until_the_head_goes);
	tcase_add_test(t, no_body_no_framing);
	tcase_add_test(t, trailers_need_chunks);
	tcase_add_test(t, interim_responses_come_first);
	tcase_add_test(t, a_partly_sent_chunk_keeps_its_size);
	tcase_add_test(t, an_unsent_chunk_takes_what_comes);
	tcase_add_test(t, a_file_range_is_a_wire_chunk_of_its_own);
	tcase_add_test(t, a_file_range_of_a_declared_length);
	tcase_add_test(t, chunks_are_counted);
	tcase_add_test(t, peak_never_passes_the_limit);
	tcase_add_test(t, released_once_in_order);
	tcase_add_test(t, own_copies_only_what_is_left);
	tcase_add_test(t, copies_of_a_slow_client_have_a_place);
	tcase_add_test(t, any_step_any_limit);
	suite_add_tcase(s, t);
	return s;
}
