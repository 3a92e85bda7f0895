/*
 * test_request.c -- heads, and requests that follow each other.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit/scripted.h"

static struct request *const r = &request;

/* ---- heads ---- */

static const struct {
	const char *wire;
	int status;
} heads[] = {
	{"GET / HTTP/1.1\r\nHost: t\r\n\r\n", 0},
	{"\r\n\r\nGET / HTTP/1.1\r\nHost: t\r\n\r\n", 0},
	{"GET / HTTP/1.0\r\n\r\n", 0},
	{"QUERY /q HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n{}", 0},
	{"GET / HTTP/1.1\nHost: t\r\n\r\n", 400},
	{"GET / HTTP/1.1\r\n\r\n", 400},
	{"GET /%zz HTTP/1.1\r\nHost: t\r\n\r\n", 400},
	{"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\n"
	 "Transfer-Encoding: chunked\r\n\r\n",
		400},
	{"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 101\r\n\r\n", 413},
	{"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 100\r\n\r\n", 0},
	{"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 101\r\n"
	 "Expect: 100-continue\r\n\r\n",
		413},
	{"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\n"
	 "Expect: more\r\n\r\n",
		417},
	{"POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
	{"CONNECT t:1 HTTP/1.1\r\nHost: t\r\n\r\n", 501},
	{"GET / HTTP/2.0\r\nHost: t\r\n\r\n", 505},
};

START_TEST(heads_are_judged_wherever_they_are_cut)
{
	const char *p = heads[_i].wire;

	limits.body = 100;
	for (size_t cut = 1; cut <= strlen(p); cut++) {
		restart();
		script(p, strlen(p), 0);
		client.cut = cut;
		ck_assert_int_eq(read_head(), heads[_i].status);
		ck_assert_int_eq(continues, 0);
	}
	restart();
	script(p, strlen(p), 1);
	ck_assert_int_eq(read_head(), heads[_i].status);
}
END_TEST

START_TEST(what_is_too_long_is_refused_at_once)
{
	memset(wire, 'a', sizeof(wire));
	memcpy(wire, "GET /", 5);
	script(wire, 100000, 0);
	ck_assert_int_eq(read_head(), 414);
	check_str(request_line(r), (wire[limits.head.line] = '\0', wire));

	restart();
	memset(wire, 'a', sizeof(wire));
	memcpy(wire, "GET / HTTP/1.1\r\nX: ", 19);
	script(wire, 100000, 0);
	ck_assert_int_eq(read_head(), 431);
	check_str(request_line(r), "GET / HTTP/1.1");
	/* Memory is bounded, and so is what was read. */
	ck_assert_uint_le(r->len, limits.head.head + REQUEST_HEAD_READ);

	restart();
	strcpy(wire, "GET / HTTP/1.1\r\n");
	for (int i = 0; i < 5000; i++)
		strcat(wire + 5 * i, "X:1\r\n");
	script_z(wire);
	ck_assert_int_eq(read_head(), 431);

	restart();
	for (size_t i = 0; i < 100000; i += 2)
		memcpy(wire + i, "\r\n", 2);
	script(wire, 100000, 0);
	ck_assert_int_eq(read_head(), 431);
}
END_TEST

START_TEST(the_line_of_a_refused_head_is_known)
{
	check_str(request_line(r), "");
	script_z("\r\nGET /a b HTTP/1.1\r\n");
	ck_assert_int_eq(read_head(), 400);
	check_str(request_line(r), "GET /a b HTTP/1.1");
	restart();
	script_z("GET /a");
	ck_assert_int_eq(read_head(), -1);
	check_str(request_line(r), "GET /a");
}
END_TEST

START_TEST(an_absolute_form_replaces_the_host)
{
	script_z("GET http://one.test:81/p?q HTTP/1.1\r\nA: b\r\n"
		 "hOST: two.test\r\n\r\n");
	ck_assert_int_eq(read_head(), 0);
	ck_assert_uint_eq(r->head.nfields, 2);
	check_str(*head_get(&r->head, STR("Host")), "one.test:81");
	check_str(r->target.path, "/p");
}
END_TEST

START_TEST(an_absolute_form_adds_a_host_even_to_full_fields)
{
	limits.head.fields = 2;
	restart();
	script_z("GET http://one.test/ HTTP/1.0\r\nA: b\r\nC: d\r\n\r\n");
	ck_assert_int_eq(read_head(), 0);
	ck_assert_uint_eq(r->head.nfields, 3);
	check_str(*head_get(&r->head, STR("Host")), "one.test");
}
END_TEST

START_TEST(a_head_goes_on_after_having_been_parked)
{
	static const char p[] = "GET /parked HTTP/1.1\r\nHost: t\r\n\r\n";
	char kept[sizeof(p)];
	struct strict strict;

	for (size_t cut = 1; cut < strlen(p); cut++) {
		restart();
		script(p, cut, 0);
		ck_assert_int_eq(read_head(), -1);
		ck_assert_uint_eq(r->len, cut);
		memcpy(kept, r->p, cut);
		strict = r->strict;
		request_reset(r);
		request_resume(r, kept, cut, &strict);
		script(p + cut, strlen(p) - cut, 0);
		ck_assert_int_eq(read_head(), 0);
		check_str(r->target.path, "/parked");
	}
}
END_TEST

/* ---- one after the other ---- */

START_TEST(trailers_are_apart_and_the_next_request_is_seen)
{
	static const char p[] =
		"POST /one HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n"
		"Trailer: X-Sum\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 9\r\n"
		"Content-Length: 99\r\nX-User:  root \r\n\r\n"
		"GET /two HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n";

	for (size_t cut = 1; cut < sizeof(p); cut++) {
		restart();
		script(p, strlen(p), 0);
		client.cut = cut;
		ck_assert_int_eq(read_head(), 0);
		check_str(r->target.path, "/one");
		ck_assert_int_eq(read_all(cut % 3 ? 5000 : 2), 3);
		ck_assert_uint_eq(r->head.nfields, 3);
		ck_assert_uint_eq(r->trailers.nfields, 3);
		check_str(r->trailers.fields[0].name, "X-Sum");
		check_str(r->trailers.fields[2].value, "root");
		request_next(r);
		ck_assert_int_eq(read_head(), 0);
		ck_assert_uint_eq(r->trailers.nfields, 0);
		check_str(r->target.path, "/two");
	}
}
END_TEST

START_TEST(pipelined_requests_come_one_by_one)
{
	static const char p[] =
		"GET /1 HTTP/1.1\r\nHost: t\r\n\r\n\r\n"
		"POST /2 HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nabc"
		"GET /3 HTTP/1.1\r\nHost: t\r\n\r\nGET /4 HT"
		"TP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n";
	size_t cut = (size_t)(strstr(p, "TP/1.1\r\nHost: t\r\nConn") - p);
	char path[] = "/1";

	script(p, strlen(p), 0);
	client.cut = cut;
	for (; path[1] <= '4'; path[1]++) {
		ck_assert_int_eq(read_head(), 0);
		check_str(r->target.path, path);
		/* The first three do not need the second piece. */
		ck_assert(client.at == (path[1] < '4' ? cut : strlen(p)));
		ck_assert_int_eq(read_all(10), path[1] == '2' ? 3 : 0);
		ck_assert(request_has_more(r) == (path[1] < '4'));
		request_next(r);
		ck_assert(request_has_more(r) == (path[1] < '4'));
	}
	ck_assert_uint_eq(r->len, 0);
}
END_TEST

/* As if another connection had had its turn in between. */
static void
part_and_go_on(void)
{
	static char kept[128 * 1024];
	struct iovec bytes[2];
	struct strict strict = r->strict;
	size_t n;

	request_kept(r, bytes);
	n = bytes[0].iov_len + bytes[1].iov_len;
	memcpy(kept, bytes[0].iov_base, bytes[0].iov_len);
	memcpy(kept + bytes[0].iov_len, bytes[1].iov_base, bytes[1].iov_len);
	request_reset(r);
	request_resume(r, kept, n, &strict);
	ck_assert_uint_eq(r->len + (r->block_len - r->block_at), n);
}

START_TEST(a_block_full_of_requests_is_served)
{
	static const char get[] = "GET / HTTP/1.1\r\nHost: t\r\n\r\n";
	int n = 0, served = 0;
	size_t len;

	limits.block_size = 65536;
	restart();
	make_body(10000);
	len = add_chunked(0, body, 10000, 100);
	for (; len < 60000; n++)
		len += (size_t)sprintf(wire + len, "%s", get);
	script(wire, len, 0);
	ck_assert_int_eq(read_head(), 0);
	check_body(read_all(1000), 10000);
	ck_assert_uint_gt(r->block_len - r->block_at, r->cap);
	do {
		request_next(r);
		if (r->len == 0)
			break;
		if (_i && served % _i == 0)
			part_and_go_on();
		ck_assert_int_eq(read_head(), 0);
		served++;
	} while (1);
	ck_assert_int_eq(served, n);
	ck_assert(!request_has_more(r));
}
END_TEST

START_TEST(a_body_half_in_the_head_buffer_comes_whole)
{
	size_t len;

	limits.block_size = 65536;
	restart();
	make_body(50000);
	len = add_chunked(add_chunked(0, body, 10, 10), body, 50000, 3000);
	script(wire, len, 0);
	client.cut = 80; /* what follows comes in one block */
	ck_assert_int_eq(read_head(), 0);
	ck_assert_int_eq(read_all(1), 10);
	request_next(r);
	ck_assert_int_eq(read_head(), 0);
	ck_assert(r->extra_at < r->len && r->block_at < r->block_len);
	check_body(_i ? read_all(10000) : read_blocks(), 50000);
}
END_TEST

/* Random requests in a row, cut at random, read at random. */
START_TEST(a_long_conversation_stays_in_step)
{
	size_t at = 0, n[200], from = 0;
	bool chunked[200];

	seed = (unsigned long)_i;
	limits.block_size = _i % 2 ? 512 : 16384;
	restart();
	make_body(200000);
	for (int i = 0; i < 200; i++) {
		n[i] = pick(4) == 1 ? pick(9000) : pick(100) - 1;
		chunked[i] = pick(2) == 1;
		at = chunked[i] ? add_chunked(at, body + from, n[i],
					  pick(2) == 1 ? 20 : 3000)
				: add_length(at, body + from, n[i]);
		from += n[i];
	}
	script(wire, at, pick(3) == 1 ? pick(50) : pick(50000));
	from = 0;
	for (int i = 0; i < 200; i++) {
		ssize_t len;

		ck_assert_int_eq(read_head(), 0);
		check_str(r->target.path, chunked[i] ? "/chunked" : "/length");
		len = pick(3) == 1 ? read_blocks() : read_all(pick(20000));
		ck_assert_int_eq(len, n[i]);
		ck_assert_int_eq(memcmp(got_body, body + from, n[i]), 0);
		from += n[i];
		request_next(r);
	}
	ck_assert(!request_has_more(r));
}
END_TEST

#define N(a) ((int)(sizeof(a) / sizeof((a)[0])))

Suite *request_suite(void);

Suite *
request_suite(void)
{
	Suite *s = suite_create("request");
	TCase *t = tcase_create("head");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(
		t, heads_are_judged_wherever_they_are_cut, 0, N(heads));
	tcase_add_test(t, what_is_too_long_is_refused_at_once);
	tcase_add_test(t, the_line_of_a_refused_head_is_known);
	tcase_add_test(t, an_absolute_form_replaces_the_host);
	tcase_add_test(t, an_absolute_form_adds_a_host_even_to_full_fields);
	tcase_add_test(t, a_head_goes_on_after_having_been_parked);
	suite_add_tcase(s, t);

	t = tcase_create("behind");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, trailers_are_apart_and_the_next_request_is_seen);
	tcase_add_test(t, pipelined_requests_come_one_by_one);
	tcase_add_loop_test(t, a_block_full_of_requests_is_served, 0, 20);
	tcase_add_loop_test(
		t, a_body_half_in_the_head_buffer_comes_whole, 0, 2);
	tcase_add_loop_test(t, a_long_conversation_stays_in_step, 0, 40);
	suite_add_tcase(s, t);
	return s;
}
