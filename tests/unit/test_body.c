/*
 * test_body.c -- bodies: how they are read, how they fail, how they end.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "unit/scripted.h"

#include "base/clock.h"
#include "base/fd.h"

#define N(a) ((int)(sizeof(a) / sizeof((a)[0])))

static struct request *const r = &request;

static void
check_failed(int fault, int err)
{
	const char *p;
	char c[8192];

	for (int i = 0; i < 3; i++) {
		errno = 0;
		ck_assert_int_eq(
			request_read_body(r, c, i ? sizeof(c) : 1), -1);
		ck_assert_int_eq(errno, err);
	}
	errno = 0;
	ck_assert_int_eq(request_next_block(r, &p), -1);
	ck_assert_int_eq(errno, err);
	ck_assert_int_eq(r->fault, fault);
	ck_assert(!request_drain(r, 1 << 20, clock_us() + 1000000));
	ck_assert(!r->done);
}

static const size_t blocks[] = {512, 1000, 4096, 65536};
static const size_t reads[] = {1, 511, 512, 4096, 100000, 0};
static const size_t steps[] = {0, 1, 3, 1027, 4096, 8191};

/*
 * Every block size with every read size (0: blocks), the body cut each way; a
 * short one into the small pieces.  max as for add_chunked(), -1: no chunks.
 */
static void
read_each_way(size_t n, int max)
{
	for (int i = 0; i < N(blocks) * N(reads) * N(steps); i++) {
		size_t step = steps[i % N(steps)];
		size_t by = reads[i / N(steps) % N(reads)];
		size_t len =
			step && step < 100 && n > 80 * step ? 80 * step : n;
		size_t end = max < 0 ? add_length(0, body, len)
				     : add_chunked(0, body, len, (size_t)max);

		limits.block_size = blocks[i / N(steps) / N(reads)];
		restart();
		script(wire, end, step);
		ck_assert_int_eq(read_head(), 0);
		check_body(by ? read_all(by) : read_blocks(), len);
		ck_assert(!request_has_more(r));
	}
}

START_TEST(a_declared_body_comes_whole)
{
	static const size_t lens[] = {1, 511, 512, 513, 5000};

	make_body(5000);
	read_each_way(lens[_i], -1);
}
END_TEST

START_TEST(a_chunked_body_comes_whole)
{
	static const int maxs[] = {1, 16, 600, 5000, 0};

	make_body(5000);
	read_each_way(5000, maxs[_i]);
}
END_TEST

START_TEST(an_empty_body_asks_nothing_of_the_socket)
{
	char c;

	script_z("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 0\r\n"
		 "Expect: 100-continue\r\n\r\n");
	ck_assert_int_eq(read_head(), 0);
	ck_assert(r->done);
	ck_assert_int_eq(request_content_length(r), 0);
	ck_assert_int_eq(request_read_body(r, &c, 1), 0);
	ck_assert_int_eq(client.waits, 0);
	ck_assert_int_eq(continues, 0);
}
END_TEST

static int
unread(void)
{
	int n;

	ck_assert_int_eq(ioctl(conn.fd, FIONREAD, &n), 0);
	return n;
}

static const size_t chunk_maxs[] = {0, 1, 100, 3000, 20000, 60000};

START_TEST(no_read_takes_more_than_the_block)
{
	static const size_t sizes[] = {512, 4096, 20000, 100000};
	int before;
	ssize_t n;

	make_body(100000);
	for (int i = 0; i < N(sizes) * N(chunk_maxs); i++) {
		size_t max = chunk_maxs[i / N(sizes)];

		restart();
		script(wire,
			max ? add_chunked(0, body, 20000, max)
			    : add_length(0, body, 100000),
			0);
		ck_assert_int_eq(read_head(), 0);
		do {
			before = unread();
			n = request_read_body(r, got_body, sizes[i % N(sizes)]);
			ck_assert_int_ge(n, 0);
			/* One receive that waits, one that does not. */
			ck_assert_int_le(
				before - unread(), (int)limits.block_size * 2);
		} while (n > 0);
	}
}
END_TEST

#define CHUNKED                                                                \
	"POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"

static size_t
add_one_chunk(const char *p, size_t n)
{
	size_t at = (size_t)sprintf(wire, CHUNKED "%zx\r\n", n);

	memcpy(wire + at, p, n);
	return at + n + (size_t)sprintf(wire + at + n, "\r\n0\r\n\r\n");
}

START_TEST(large_reads_go_straight_to_the_application)
{
	size_t n, got = 0;

	limits.block_size = 65536;
	restart();
	make_body(600000);
	script(wire,
		_i ? add_one_chunk(body, 600000) : add_length(0, body, 600000),
		100000);
	ck_assert_int_eq(read_head(), 0);
	for (; got < 600000; got += n) {
		n = (size_t)request_read_body(r, got_body, 65536);
		ck_assert_int_eq(memcmp(got_body, body + got, n), 0);
		ck_assert(r->block_len == 0 || got + n == 600000);
	}
}
END_TEST

START_TEST(small_reads_come_from_a_whole_block)
{
	int before;

	make_body(100000);
	script(wire,
		_i ? add_one_chunk(body, 100000) : add_length(0, body, 100000),
		0);
	ck_assert_int_eq(read_head(), 0);
	/* What came with the head comes first, without asking. */
	before = unread();
	while (r->extra_at < r->len)
		ck_assert_int_gt(request_read_body(r, got_body, 1000), 0);
	ck_assert_int_eq(unread(), before);
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(request_read_body(r, got_body, 1024), 1024);
		ck_assert_int_eq(unread(), before - 4096);
	}
	ck_assert_int_eq(request_read_body(r, got_body, 1024), 1024);
	ck_assert_int_eq(unread(), before - 8192);
}
END_TEST

START_TEST(a_large_read_takes_what_the_kernel_has_too)
{
	script_z("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 20\r\n\r\n"
		 "0123456789");
	ck_assert_int_eq(read_head(), 0);
	ck_assert_int_eq(write(client.fd, "abcdefghij", 10), 10);
	ck_assert_int_eq(request_read_body(r, got_body, 5), 5);
	ck_assert_int_eq(request_read_body(r, got_body, 4096), 15);
	ck_assert_int_eq(memcmp(got_body, "56789abcdefghij", 15), 0);
	ck_assert_int_eq(client.waits, 0);
}
END_TEST

START_TEST(little_of_large_chunks_is_copied)
{
	size_t calls = 0, in_block = 0;

	limits.block_size = 65536;
	restart();
	make_body(655360);
	script(wire, add_chunked(0, body, 655360, 0), 140000);
	ck_assert_int_eq(read_head(), 0);
	while (request_read_body(r, got_body, 65536) > 0) {
		in_block += r->block_len;
		calls++;
	}
	ck_assert(r->done);
	ck_assert_uint_eq(r->received, 655360);
	ck_assert_uint_le(calls, 30);
	ck_assert_uint_le(in_block, calls * 512);
}
END_TEST

START_TEST(one_read_takes_many_small_chunks)
{
	make_body(2000);
	limits.block_size = 65536;
	restart();
	script(wire, add_chunked(0, body, 2000, 1), 0);
	ck_assert_int_eq(read_head(), 0);
	ck_assert_int_eq(request_read_body(r, got_body, 1000), 1000);
	ck_assert_int_eq(memcmp(got_body, body, 1000), 0);
}
END_TEST

START_TEST(blocks_join_small_chunks)
{
	const char *p;
	size_t blocks_seen = 0;
	ssize_t n;

	limits.block_size = 8192;
	restart();
	make_body(4000);
	script(wire, add_chunked(0, body, 4000, 16), 0);
	ck_assert_int_eq(read_head(), 0);
	while ((n = request_next_block(r, &p)) > 0)
		blocks_seen++;
	ck_assert_int_eq(n, 0);
	ck_assert_uint_eq(r->received, 4000);
	ck_assert_uint_le(blocks_seen, 3);
}
END_TEST

START_TEST(what_is_here_is_returned_without_waiting)
{
	char c[8192];

	script_z("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 20\r\n\r\n"
		 "0123456789");
	ck_assert_int_eq(read_head(), 0);
	client.len = 0;
	ck_assert_int_eq(request_content_length(r), 20);
	ck_assert_int_eq(request_read_body(r, c, sizeof(c)), 10);
	ck_assert_int_eq(request_body_left(r), 10);
	ck_assert_int_eq(client.waits, 0);
	script_z("abcdefghij");
	ck_assert_int_eq(request_read_body(r, c, sizeof(c)), 10);
	ck_assert_int_eq(client.waits, 1);
	ck_assert(r->done);
}
END_TEST

START_TEST(chunks_are_returned_as_they_come)
{
	char c[8192];

	script_z("POST / HTTP/1.1\r\nHost: t\r\n"
		 "Transfer-Encoding: chunked\r\n\r\n4\r\nping\r\n");
	ck_assert_int_eq(read_head(), 0);
	ck_assert_int_eq(request_content_length(r), -1);
	ck_assert_int_eq(request_read_body(r, c, sizeof(c)), 4);
	ck_assert_int_eq(request_body_left(r), -1);
	ck_assert_int_eq(client.waits, 0);
	script_z("4\r\npong\r\n");
	ck_assert_int_eq(request_read_body(r, c, sizeof(c)), 4);
	script_z("0\r\n\r\n");
	ck_assert_int_eq(request_read_body(r, c, sizeof(c)), 0);
}
END_TEST

/* ---- 100 Continue ---- */

static const struct {
	const char *head; /* and what came with it */
	const char *rest;
	int continues;
} expecting[] = {
	{"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n"
	 "Expect: 100-Continue\r\n\r\n",
		"abc", 1},
	{"POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n"
	 "Expect: 100-continue\r\n\r\n",
		"3\r\nabc\r\n0\r\n\r\n", 1},
	{"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n"
	 "Expect: 100-continue\r\n\r\na",
		"bc", 0},
	{"POST / HTTP/1.0\r\nHost: t\r\nContent-Length: 3\r\n"
	 "Expect: 100-continue\r\n\r\n",
		"abc", 0},
	{"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\n", "abc", 0},
};

START_TEST(the_first_read_asks_a_client_to_continue)
{
	char c;

	script_z(expecting[_i].head);
	ck_assert_int_eq(read_head(), 0);
	ck_assert_int_eq(continues, 0);
	ck_assert(r->expects == (expecting[_i].continues > 0));
	script(expecting[_i].rest, strlen(expecting[_i].rest), 1);
	ck_assert_int_eq(request_read_body(r, &c, 1), 1);
	ck_assert_int_eq(continues, expecting[_i].continues);
	ck_assert_int_eq(read_all(1), 2);
	ck_assert_int_eq(continues, expecting[_i].continues);
}
END_TEST

static int
cannot_send(void *arg)
{
	(void)arg;
	errno = EPIPE;
	return -1;
}

START_TEST(a_client_that_cannot_be_told_has_left)
{
	script_z(expecting[0].head);
	ck_assert_int_eq(read_head(), 0);
	r->send_continue = cannot_send;
	script_z("abc");
	check_failed(0, ECONNRESET);
}
END_TEST

/* ---- broken bodies ---- */

static const char *const broken[] = {
	CHUNKED "3\nabc\r\n0\r\n\r\n",
	CHUNKED "3;a=\nb\r\nabc\r\n0\r\n\r\n",
	CHUNKED "3\r\nabc\n0\r\n\r\n",
	CHUNKED "3\r\nabc\r\n0\n\r\n",
	CHUNKED "3\r\nabcd\r\n0\r\n\r\n",
	CHUNKED "x\r\n",
	CHUNKED "3\r\nabc\r\n0\r\nNo colon\r\n\r\n",
	CHUNKED "fffffffffffffffff\r\n",
};

START_TEST(broken_framing_fails_for_good)
{
	size_t len = strlen(broken[_i]);

	for (size_t cut = 1; cut <= len; cut++) {
		restart();
		script(broken[_i], len, 0);
		client.cut = cut;
		ck_assert_int_eq(read_head(), 0);
		ck_assert_int_eq(read_all(_i % 2 ? 1 : 5000), -1);
		ck_assert_int_eq(errno, EPROTO);
		check_failed(400, EPROTO);
	}
}
END_TEST

static const char *const cut_off[] = {
	CHUNKED "3\r\nabc\r\n0\r\n",
	CHUNKED "5\r\nhello",
	CHUNKED "5\r\nhello\r",
	CHUNKED "5\r\nhel",
	CHUNKED "5",
	CHUNKED,
	CHUNKED "0\r\nA: b\r\n",
	"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nab",
	"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\n",
};

START_TEST(a_body_that_ends_early_is_no_body)
{
	size_t len = strlen(cut_off[_i]);

	client.closes = true;
	for (size_t cut = 1; cut <= len; cut++) {
		restart();
		script(cut_off[_i], len, 0);
		client.cut = cut;
		ck_assert_int_eq(read_head(), 0);
		ck_assert_int_eq(cut % 2 ? read_all(5000) : read_blocks(), -1);
		check_failed(400, ECONNRESET);
	}
}
END_TEST

START_TEST(a_silent_client_is_too_slow)
{
	conn_limits.body_timeout_us = 1000;
	script_z(_i ? CHUNKED "5\r\nhel" : cut_off[7]);
	ck_assert_int_eq(read_head(), 0);
	ck_assert_int_eq(read_all(1), -1);
	check_failed(408, ETIMEDOUT);
}
END_TEST

START_TEST(a_client_that_resets_has_left)
{
	script_z(cut_off[7]);
	ck_assert_int_eq(read_head(), 0);
	/* Unread bytes at its side turn a close into a reset. */
	ck_assert_int_eq(write(conn.fd, "x", 1), 1);
	fd_close(&client.fd);
	ck_assert_int_eq(read_all(5000), -1);
	check_failed(0, ECONNRESET);
}
END_TEST

START_TEST(chunks_beyond_the_limit_are_refused)
{
	char c[100];

	limits.body = 10;
	restart();
	script_z(CHUNKED "5\r\nhello\r\n6\r\nworld!\r\n0\r\n\r\n");
	ck_assert_int_eq(read_head(), 0);
	ck_assert_int_eq(request_read_body(r, c, sizeof(c)), 5);
	check_failed(413, EFBIG);

	restart();
	script_z(CHUNKED "5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n");
	ck_assert_int_eq(read_head(), 0);
	ck_assert_int_eq(read_all(100), 10);

	restart();
	script_z(CHUNKED "7ffffffffffffff0\r\nhello");
	ck_assert_int_eq(read_head(), 0);
	check_failed(413, EFBIG);
}
END_TEST

START_TEST(too_many_trailers_are_refused)
{
	size_t at = (size_t)sprintf(wire, CHUNKED "0\r\n");

	for (int i = 0; i < 11; i++)
		at += (size_t)sprintf(wire + at, "A: b\r\n");
	script_z(strcat(wire, "\r\n"));
	ck_assert_int_eq(read_head(), 0);
	check_failed(431, EPROTO);
}
END_TEST

/* ---- bodies nobody reads ---- */

START_TEST(what_is_left_is_drained)
{
	int64_t soon = clock_us() + 60000000;
	char c[10];

	make_body(20000);
	script(wire,
		_i ? add_chunked(0, body, 20000, 300)
		   : add_length(0, body, 20000),
		777);
	ck_assert_int_eq(read_head(), 0);
	ck_assert_int_gt(request_read_body(r, c, sizeof(c)), 0);
	ck_assert(request_drain(r, 20000, soon));
	ck_assert(r->done);
	ck_assert_uint_eq(r->received, 20000);
	ck_assert(request_drain(r, 0, soon));
	ck_assert_int_eq(request_read_body(r, c, sizeof(c)), 0);
}
END_TEST

START_TEST(too_much_is_not_drained)
{
	make_body(200000);
	script(wire,
		_i ? add_chunked(0, body, 200000, 300)
		   : add_length(0, body, 200000),
		10000);
	ck_assert_int_eq(read_head(), 0);
	ck_assert(!request_drain(r, 20000, clock_us() + 60000000));
	ck_assert_uint_le(r->received, 20000 + limits.block_size);
	if (!_i) /* a length tells beforehand */
		ck_assert_int_eq(client.waits, 0);
}
END_TEST

START_TEST(draining_ends_in_time)
{
	script_z(cut_off[7]);
	ck_assert_int_eq(read_head(), 0);
	ck_assert(!request_drain(r, 100, clock_us() + 1000));
}
END_TEST

START_TEST(draining_takes_what_is_here_without_waiting)
{
	make_body(20000);
	script(wire, add_length(0, body, 20000), 7000);
	ck_assert_int_eq(read_head(), 0);
	ck_assert(!request_drain(r, 1 << 20, 0));
	ck_assert_int_eq(client.waits, 0);
	ck_assert_int_eq(r->fault_errno, 0);
	ck_assert_uint_gt(r->received, 6800);
	while (client_sends())
		;
	ck_assert(request_drain(r, 1 << 20, 0));
	ck_assert_int_eq(client.waits, 0);
}
END_TEST

START_TEST(a_body_held_back_is_not_waited_for)
{
	script_z(expecting[0].head);
	ck_assert_int_eq(read_head(), 0);
	ck_assert(!request_drain(r, 100, clock_us() + 60000000));
	ck_assert_int_eq(client.waits, 0);
	ck_assert_int_eq(continues, 0);
}
END_TEST

Suite *body_suite(void);

Suite *
body_suite(void)
{
	Suite *s = suite_create("body");
	TCase *t = tcase_create("whole");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, a_declared_body_comes_whole, 0, 5);
	tcase_add_loop_test(t, a_chunked_body_comes_whole, 0, 5);
	tcase_add_test(t, an_empty_body_asks_nothing_of_the_socket);
	tcase_add_test(t, no_read_takes_more_than_the_block);
	tcase_add_loop_test(
		t, large_reads_go_straight_to_the_application, 0, 2);
	tcase_add_loop_test(t, small_reads_come_from_a_whole_block, 0, 2);
	tcase_add_test(t, a_large_read_takes_what_the_kernel_has_too);
	tcase_add_test(t, little_of_large_chunks_is_copied);
	tcase_add_test(t, one_read_takes_many_small_chunks);
	tcase_add_test(t, blocks_join_small_chunks);
	tcase_add_test(t, what_is_here_is_returned_without_waiting);
	tcase_add_test(t, chunks_are_returned_as_they_come);
	tcase_add_loop_test(
		t, the_first_read_asks_a_client_to_continue, 0, N(expecting));
	tcase_add_test(t, a_client_that_cannot_be_told_has_left);
	suite_add_tcase(s, t);

	t = tcase_create("broken");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, broken_framing_fails_for_good, 0, N(broken));
	tcase_add_loop_test(
		t, a_body_that_ends_early_is_no_body, 0, N(cut_off));
	tcase_add_loop_test(t, a_silent_client_is_too_slow, 0, 2);
	tcase_add_test(t, a_client_that_resets_has_left);
	tcase_add_test(t, chunks_beyond_the_limit_are_refused);
	tcase_add_test(t, too_many_trailers_are_refused);
	suite_add_tcase(s, t);

	t = tcase_create("unread");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, what_is_left_is_drained, 0, 2);
	tcase_add_loop_test(t, too_much_is_not_drained, 0, 2);
	tcase_add_test(t, draining_ends_in_time);
	tcase_add_test(t, draining_takes_what_is_here_without_waiting);
	tcase_add_test(t, a_body_held_back_is_not_waited_for);
	suite_add_tcase(s, t);
	return s;
}
