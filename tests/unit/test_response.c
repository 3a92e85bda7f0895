/*
 * test_response.c -- bodies and failures of the response in hand, up to the
 * socket.  Heads are in test_response_head.c.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rig.h"

/* ---- which framing ---- */

START_TEST(flushed_is_chunked)
{
	struct wire_message *m;

	rig_start(200);
	ck_assert_int_eq(response_flush(&rig.res), 0);
	ck_assert(rig.res.committed);
	rig_read();
	ck_assert_uint_gt(rig.got.len, 0);
	ck_assert_int_eq(rig_write_z("abc"), 0);
	ck_assert_int_eq(response_flush(&rig.res), 0);
	ck_assert_int_eq(rig_write_z("def"), 0);
	m = rig_end(false, true, false);
	ck_assert(m->chunked && m->complete);
	ck_assert_int_eq(wire_count(m, "Content-Length"), 0);
	ck_assert_str_eq(m->body, "abcdef");
	ck_assert_uint_eq(m->nchunks, 2);
}
END_TEST

START_TEST(http10)
{
	struct wire_message *m;

	rig_begin(false, 0, true, true);
	rig_start(200);
	ck_assert_int_eq(rig_write_z("abc"), 0);
	m = rig_end(false, true, false);
	ck_assert(wire_field_is(m, "Connection", "keep-alive"));
	ck_assert(wire_field_is(m, "Content-Length", "3"));

	rig_begin(false, 0, true, true);
	rig_start(200);
	ck_assert_int_eq(rig_write_z("abc"), 0);
	ck_assert_int_eq(response_flush(&rig.res), 0);
	ck_assert_int_eq(response_add_trailer(&rig.res, STR("X"), STR("y")), 0);
	ck_assert_int_eq(rig_write_z("d"), 0);
	m = rig_end(false, false, false);
	ck_assert(wire_field_is(m, "Connection", "close"));
	ck_assert(!m->chunked);
	ck_assert_str_eq(m->body, "abcd");
}
END_TEST

START_TEST(it_says_close)
{
	rig_begin(false, 1, false, false);
	rig_start(200);
	ck_assert_int_eq(rig_write_z("abc"), 0);
	ck_assert(wire_field_is(
		rig_end(false, false, false), "Connection", "close"));

	/* asked for after the commit, but before the head went out */
	rig_begin(false, 1, true, false);
	rig_start(200);
	ck_assert_int_eq(rig_write_z("abc"), 0);
	response_must_close(&rig.res);
	ck_assert(wire_field_is(
		rig_end(false, false, false), "Connection", "close"));

	/* the head is gone: no promise is broken, closing is always allowed */
	rig_begin(false, 1, true, false);
	rig_start(200);
	ck_assert_int_eq(rig_write_z("abc"), 0);
	ck_assert_int_eq(response_flush(&rig.res), 0);
	response_must_close(&rig.res);
	rig_end(false, false, false);
}
END_TEST

static const struct {
	bool head_only;
	int status;
	const char *length, *want_length;
} bodiless[] = {
	{true, 200, NULL, NULL},
	{true, 200, "5", "5"},
	{true, 200, "500", "500"},
	{true, 404, NULL, NULL},
	{false, 204, NULL, NULL},
	{false, 204, "5", NULL},
	{false, 304, NULL, NULL},
	{false, 304, "5", "5"},
	{true, 204, "5", NULL},
	{false, 205, NULL, "0"},
	{false, 205, "5", "0"},
	{true, 205, "5", "0"},
};

START_TEST(no_body_goes_out)
{
	struct wire_message *m;

	rig_begin(bodiless[_i].head_only, 1, true, true);
	rig_start(bodiless[_i].status);
	if (bodiless[_i].length)
		rig_field("Content-Length", bodiless[_i].length);
	ck_assert_int_eq(rig_write_z("hel"), 0);
	ck_assert_int_eq(rig_write_z("lo"), 0);
	ck_assert_int_eq(response_add_trailer(&rig.res, STR("X"), STR("y")), 0);
	m = rig_end(false, true, true);
	ck_assert_int_eq(wire_count(m, "Transfer-Encoding"), 0);
	if (bodiless[_i].want_length)
		ck_assert(wire_field_is(
			m, "Content-Length", bodiless[_i].want_length));
	else
		ck_assert_int_eq(wire_count(m, "Content-Length"), 0);
	ck_assert_uint_eq(rig.res.written, 5);
	ck_assert_uint_eq(response_body_bytes(&rig.res), 0);
	ck_assert_int_eq(rig_logged(NULL), 0);
}
END_TEST

START_TEST(trailers)
{
	struct wire_message *m;

	rig_begin(false, 1, true, true);
	rig_start(200);
	ck_assert_int_eq(rig_write_z("abc"), 0);
	ck_assert_int_eq(
		response_add_trailer(&rig.res, STR("X"), STR(" y ")), 0);
	ck_assert_int_eq(
		response_add_trailer(&rig.res, STR("Content-Length"), STR("3")),
		-1);
	ck_assert_int_eq(response_add_trailer(&rig.res, STR("Z"), STR("1")), 0);
	m = rig_end(false, true, false);
	ck_assert(m->chunked && m->complete);
	ck_assert_uint_eq(m->trailers_len, 12);
	ck_assert_mem_eq(m->trailers, "X: y\r\nZ: 1\r\n", 12);

	/* the request did not say that it understands them */
	rig_begin(false, 1, true, false);
	rig_start(200);
	ck_assert_int_eq(rig_write_z("abc"), 0);
	ck_assert_int_eq(response_add_trailer(&rig.res, STR("X"), STR("y")), 0);
	m = rig_end(false, true, false);
	ck_assert(!m->chunked);
}
END_TEST

START_TEST(empty_writes_are_nothing)
{
	struct wire_message *m;

	rig_start(200);
	ck_assert_int_eq(rig_write_z(""), 0);
	ck_assert(!rig.res.committed);
	ck_assert_int_eq(rig_write_z("abc"), 0);
	ck_assert_int_eq(response_flush(&rig.res), 0);
	ck_assert_int_eq(rig_write_z(""), 0);
	ck_assert_int_eq(rig_write_z("def"), 0);
	ck_assert_int_eq(rig_write_z(""), 0);
	m = rig_end(false, true, false);
	ck_assert(m->complete);
	ck_assert_str_eq(m->body, "abcdef");
}
END_TEST

/* ---- the declared length ---- */

START_TEST(more_than_declared)
{
	struct wire_message *m;

	rig_start(200);
	rig_field("Content-Length", "5");
	ck_assert_int_eq(rig_write_z("hel"), 0);
	ck_assert_int_eq(rig_write_z("loEXTRA"), -1);
	ck_assert_int_eq(errno, EMSGSIZE);
	ck_assert_int_eq(rig_write_z("MORE"), -1);
	ck_assert_int_eq(errno, EMSGSIZE);
	ck_assert_int_eq(rig_logged("Content-Length"), 1);
	m = rig_end(false, true, false);
	ck_assert_str_eq(m->body, "hello");
	ck_assert_uint_eq(response_body_bytes(&rig.res), 5);
}
END_TEST

START_TEST(less_than_declared)
{
	struct wire_message *m;

	rig_start(200);
	rig_field("Content-Length", "5");
	ck_assert_int_eq(rig_write_z("hel"), 0);
	m = rig_end(false, false, false);
	ck_assert_str_eq(m->body, "hel");
	ck_assert(!m->complete);
	rig_logged("3 of 5 bytes");
}
END_TEST

START_TEST(the_last_declared_byte_goes_at_once)
{
	rig_start(200);
	rig_field("Content-Length", "5");
	ck_assert_int_eq(rig_write_z("hel"), 0);
	rig_read();
	ck_assert_uint_eq(rig.got.len, 0);
	ck_assert_int_eq(rig_write_z("lo"), 0);
	rig_read();
	ck_assert_int_eq(
		strcmp(buf_z(&rig.got) + rig.got.len - 9, "\r\n\r\nhello"), 0);
	rig_end(false, true, false);
}
END_TEST

/* ---- failures ---- */

START_TEST(failed_before_the_commit)
{
	struct wire_message *m;

	rig_start(200);
	rig_field("X-Mine", "1");
	m = rig_end(true, true, false);
	ck_assert_int_eq(strncmp(m->head, "HTTP/1.1 500 ", 13), 0);
	ck_assert_int_eq(wire_count(m, "X-Mine"), 0);
	ck_assert_str_eq(m->body, "500 Internal Server Error\n");
	ck_assert(m->complete);
	ck_assert_int_eq(wire_count(m, "Date"), 1);
}
END_TEST

START_TEST(failed_after_the_commit)
{
	struct wire_message *m;

	rig_start(200);
	ck_assert_int_eq(rig_write_z("half"), 0);
	m = rig_end(true, false, false);
	ck_assert_int_eq(strncmp(m->head, "HTTP/1.1 200 ", 13), 0);
	ck_assert_str_eq(m->body, "half");
	ck_assert(m->chunked && !m->complete);
}
END_TEST

START_TEST(pages_for_head_have_no_body)
{
	struct wire_message *m;

	rig_begin(true, 1, true, false);
	m = rig_end(true, true, true);
	ck_assert(wire_field_is(m, "Content-Length", "26"));
}
END_TEST

START_TEST(refused_whatever_the_app_says)
{
	struct wire_message *m;

	rig_start(200);
	response_refuse(&rig.res, 413);
	response_must_close(&rig.res);
	ck_assert_int_eq(response_start(&rig.res, 200, STR("")), -1);
	ck_assert_int_eq(errno, ECANCELED);
	ck_assert_int_eq(rig_write_z("a"), -1);
	ck_assert_int_eq(errno, ECANCELED);
	rig_read();
	ck_assert_uint_eq(rig.got.len, 0);
	m = rig_end(true, false, false);
	ck_assert_int_eq(strncmp(m->head, "HTTP/1.1 413 ", 13), 0);
	ck_assert(wire_field_is(m, "Connection", "close"));
	ck_assert(m->complete);
}
END_TEST

START_TEST(refused_too_late_is_cut)
{
	struct wire_message *m;

	rig_start(200);
	ck_assert_int_eq(rig_write_z("half"), 0);
	response_refuse(&rig.res, 400);
	ck_assert_int_eq(rig_write_z("a"), -1);
	ck_assert_int_eq(errno, ECANCELED);
	m = rig_end(false, false, false);
	ck_assert_int_eq(strncmp(m->head, "HTTP/1.1 200 ", 13), 0);
	ck_assert_str_eq(m->body, "half");
	ck_assert(!m->complete);
}
END_TEST

START_TEST(the_client_has_left)
{
	int i = 0;

	close(rig.client);
	rig_start(200);
	while (i++ < 100 && rig_write_z("0123456789") == 0)
		;
	ck_assert_int_eq(i, 9); /* the first that could not wait */
	ck_assert_int_eq(errno, ECONNRESET);
	errno = 0;
	ck_assert_int_eq(rig_write_z("a"), -1);
	ck_assert_int_eq(errno, ECONNRESET);
	ck_assert_int_eq(response_flush(&rig.res), -1);
	ck_assert(!response_end(&rig.res, true));
	rig.client = -1;
}
END_TEST

/* ---- the buffer ---- */

START_TEST(the_ninth_chunk_sends_all)
{
	rig_start(200);
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(rig_write_z("0123456789"), 0);
	rig_read();
	ck_assert_uint_eq(rig.got.len, 0);
	ck_assert_int_eq(rig_write_z("0123456789"), 0);
	ck_assert(queue_is_empty(&rig.flusher.queue));
	rig_read();
	ck_assert_uint_gt(rig.got.len, 90);
	ck_assert_uint_eq(rig_end(false, true, false)->nchunks, 1);
	ck_assert_int_eq(response_peak_chunks(&rig.res), 8);
}
END_TEST

START_TEST(lock_step)
{
	struct wire_message *m;

	rig_again_with(0, 1024, RIG_FOREVER_US);
	rig_start(200);
	ck_assert_int_eq(rig_write_z("a"), 0);
	rig_read();
	ck_assert_uint_gt(rig.got.len, 0);
	ck_assert_int_eq(rig_write_z("b"), 0);
	m = rig_end(false, true, false);
	ck_assert_uint_eq(m->nchunks, 2);
	ck_assert_int_eq(response_peak_chunks(&rig.res), 0);
}
END_TEST

START_TEST(stopped_by_a_slow_client)
{
	struct wire_message *m;
	int size = 4096, i;
	char line[33];

	rig_again_with(4, 512, RIG_FOREVER_US);
	setsockopt(rig.server, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	rig_start(200);
	for (i = 0; i < 5000; i++) {
		snprintf(line, sizeof(line), "%031d\n", i);
		ck_assert_int_eq(rig_write_z(line), 0);
		ck_assert_int_le(rig.flusher.queue.chunks, 4);
	}
	ck_assert_int_gt(rig.waits, 0);
	m = rig_end(false, true, false);
	ck_assert(m->complete);
	ck_assert_uint_eq(m->body_len, 5000 * 32);
	for (i = 0; i < 5000; i++)
		ck_assert_int_eq(atoi(m->body + i * 32), i);
	ck_assert_uint_gt(rig.conn.blocked_out_us, 0);
	ck_assert_int_eq(response_peak_chunks(&rig.res), 4);
}
END_TEST

static void
count_release(void *arg)
{
	++*(int *)arg;
}

START_TEST(each_release_exactly_once)
{
	static char bytes[100000];
	int n[6] = {0};

	rig_start(200);
	/* waits; then sent with the second one, which goes over the limit */
	response_write(&rig.res, "a", 1, count_release, &n[0]);
	ck_assert_int_eq(n[0], 0);
	ck_assert_uint_eq(rig.flusher.queue.copies_len, 0);
	response_write(&rig.res, bytes, sizeof(bytes), count_release, &n[1]);
	ck_assert_int_eq(n[0], 1);
	ck_assert_int_eq(response_flush(&rig.res), 0);
	ck_assert_int_eq(n[1], 1);
	ck_assert_int_eq(
		response_write(&rig.res, "", 0, count_release, &n[2]), 0);
	ck_assert_int_eq(n[2], 1);
	response_write(&rig.res, "b", 1, count_release, &n[3]);
	response_refuse(&rig.res, 400);
	ck_assert_int_eq(
		response_write(&rig.res, "c", 1, count_release, &n[4]), -1);
	ck_assert_int_eq(n[4], 1);
	ck_assert(!response_end(&rig.res, false));
	rig_read();

	rig_begin(true, 1, true, false);
	rig_start(200);
	ck_assert_int_eq(
		response_write(&rig.res, "d", 1, count_release, &n[5]), 0);
	ck_assert(response_end(&rig.res, false));
	for (int i = 0; i < 6; i++)
		ck_assert_int_eq(n[i], 1);
}
END_TEST

START_TEST(released_when_the_client_left)
{
	int n = 0;

	rig_start(200);
	response_write(&rig.res, "a", 1, count_release, &n);
	close(rig.client);
	ck_assert_int_eq(response_flush(&rig.res), -1);
	ck_assert_int_eq(n, 1);
	ck_assert_int_eq(
		response_write(&rig.res, "a", 1, count_release, &n), -1);
	ck_assert_int_eq(n, 2);
	ck_assert(!response_end(&rig.res, false));
	ck_assert_int_eq(n, 2);
	rig.client = -1;
}
END_TEST

START_TEST(an_event_is_not_kept_back)
{
	rig_again_with(8, 1024, 1000);
	rig_start(200);
	ck_assert_int_eq(rig_write_z("data: 1\n\n"), 0);
	while (rig.got.len == 0)
		rig_read();
	rig.got.len = 0;
	ck_assert_int_eq(rig_write_z("data: 2\n\n"), 0);
	while (rig.got.len == 0)
		rig_read();
	ck_assert(response_end(&rig.res, false));
}
END_TEST

START_TEST(a_head_alone_is_not_forgotten)
{
	rig_again_with(8, 1024, 1000);
	rig_begin(true, 1, true, false);
	rig_start(200);
	ck_assert_int_eq(rig_write_z("a"), 0);
	while (rig.got.len == 0) /* the flush thread sends it */
		rig_read();
	rig_end(false, true, true);
}
END_TEST

/* ---- files ---- */

static int
a_file(size_t n)
{
	int fd = memfd_create("body", MFD_CLOEXEC);

	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(write(fd, &"0123456789"[i % 10], 1), 1);
	return fd;
}

START_TEST(a_file_between_writes)
{
	struct wire_message *m;
	int fd = a_file(20);

	rig_start(200);
	ck_assert_int_eq(rig_write_z("ab"), 0);
	ck_assert_int_eq(response_send_file(&rig.res, fd, 5, 12), 0);
	ck_assert_int_eq(response_send_file(&rig.res, fd, 0, 3), 0);
	ck_assert_int_eq(rig_write_z("cd"), 0);
	m = rig_end(false, true, false);
	ck_assert_str_eq(m->body, "ab567890123456012cd");
	ck_assert(m->complete);
	ck_assert_uint_eq(rig.flusher.bytes_sent, rig.got.len);
	close(fd);
}
END_TEST

START_TEST(a_file_of_declared_length)
{
	struct wire_message *m;
	int fd = a_file(20);

	rig_start(200);
	rig_field("Content-Length", "15");
	ck_assert_int_eq(response_send_file(&rig.res, fd, 0, 10), 0);
	ck_assert_int_eq(response_send_file(&rig.res, fd, 0, 10), -1);
	ck_assert_int_eq(errno, EMSGSIZE);
	m = rig_end(false, true, false);
	ck_assert_str_eq(m->body, "012345678901234");
	close(fd);
}
END_TEST

START_TEST(a_file_that_shrank)
{
	struct wire_message *m;
	int fd = a_file(20);

	rig_start(200);
	ck_assert_int_eq(response_send_file(&rig.res, fd, 10, 30), -1);
	ck_assert_int_eq(errno, EIO);
	ck_assert_int_eq(rig_write_z("a"), -1);
	m = rig_end(false, false, false);
	ck_assert(!m->complete);
	ck_assert_str_eq(m->body, "0123456789");
	close(fd);
}
END_TEST

START_TEST(what_is_no_file)
{
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	rig_start(200);
	ck_assert_int_eq(response_send_file(&rig.res, fds[0], 0, 1), -1);
	ck_assert_int_eq(errno, EINVAL);
	close(fds[0]);
	ck_assert_int_eq(response_send_file(&rig.res, fds[0], 0, 1), -1);
	ck_assert_int_eq(errno, EBADF);
	ck_assert(!rig.res.committed);
	ck_assert_int_eq(rig_write_z("a"), 0);
	ck_assert_str_eq(rig_end(false, true, false)->body, "a");
}
END_TEST

static TCase *
bodies(void)
{
	TCase *t = tcase_create("bodies");

	tcase_add_test(t, flushed_is_chunked);
	tcase_add_test(t, http10);
	tcase_add_test(t, it_says_close);
	tcase_add_loop_test(
		t, no_body_goes_out, 0, sizeof(bodiless) / sizeof(*bodiless));
	tcase_add_test(t, trailers);
	tcase_add_test(t, empty_writes_are_nothing);
	tcase_add_test(t, more_than_declared);
	tcase_add_test(t, less_than_declared);
	tcase_add_test(t, the_last_declared_byte_goes_at_once);
	tcase_add_test(t, the_ninth_chunk_sends_all);
	tcase_add_test(t, lock_step);
	tcase_add_test(t, stopped_by_a_slow_client);
	tcase_add_test(t, an_event_is_not_kept_back);
	tcase_add_test(t, a_head_alone_is_not_forgotten);
	tcase_add_test(t, a_file_between_writes);
	tcase_add_test(t, a_file_of_declared_length);
	return t;
}

static TCase *
failures(void)
{
	TCase *t = tcase_create("failures");

	tcase_add_test(t, failed_before_the_commit);
	tcase_add_test(t, failed_after_the_commit);
	tcase_add_test(t, pages_for_head_have_no_body);
	tcase_add_test(t, refused_whatever_the_app_says);
	tcase_add_test(t, refused_too_late_is_cut);
	tcase_add_test(t, the_client_has_left);
	tcase_add_test(t, each_release_exactly_once);
	tcase_add_test(t, released_when_the_client_left);
	tcase_add_test(t, a_file_that_shrank);
	tcase_add_test(t, what_is_no_file);
	return t;
}

Suite *response_suite(void);

Suite *
response_suite(void)
{
	Suite *s = suite_create("response");
	TCase *cases[] = {bodies(), failures()};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		tcase_set_timeout(cases[i], 60);
		tcase_add_checked_fixture(cases[i], rig_setup, rig_teardown);
		suite_add_tcase(s, cases[i]);
	}
	return s;
}
