/*
 * test_api_request.c -- what an application may ask about its request.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit/caller.h"

Suite *api_request_suite(void);

static nw_request *const r = &caller.api.handle;

/* ---- the request ---- */

START_TEST(the_head_is_told)
{
	int port = 7;

	caller_begin("GET /a%20b?c=%20d HTTP/1.1\r\n" HOST CRLF);
	ck_assert(is(nw_method(r), "GET"));
	ck_assert(is(nw_target(r), "/a%20b?c=%20d"));
	ck_assert(is(nw_path(r), "/a b"));
	ck_assert(is(nw_query(r), "c=%20d"));
	ck_assert(is(nw_scheme(r), "http"));
	ck_assert(is(nw_host(r), "t"));
	ck_assert_int_eq(nw_minor_version(r), 1);
	ck_assert(is(nw_peer(r, &port), ""));
	ck_assert_int_eq(port, 0);
	nw_peer(r, NULL);
	nw_local(r, NULL);
	ck_assert_int_eq(nw_content_length(r), 0);
	ck_assert_int_eq(nw_body_left(r), 0);
	caller_end(0, NULL);
}
END_TEST

START_TEST(a_query_may_be_empty_or_missing)
{
	caller_begin("GET /? HTTP/1.1\r\n" HOST CRLF);
	ck_assert_ptr_nonnull(nw_query(r).p);
	ck_assert_uint_eq(nw_query(r).len, 0);
	caller_end(0, NULL);
	caller_begin(GET);
	ck_assert_ptr_null(nw_query(r).p);
	caller_end(0, NULL);
}
END_TEST

START_TEST(fields_in_their_order)
{
	const nw_field *f;
	nw_str value;
	size_t n;

	caller_begin("GET http://a.example/x HTTP/1.1\r\nX: 1\r\nHost: b\r\n"
		     "x: 2\r\n\r\n");
	f = nw_fields(r, &n);
	ck_assert_uint_eq(n, 3);
	ck_assert(is(f[0].name, "X") && is(f[0].value, "1"));
	ck_assert(is(f[1].name, "Host") && is(f[1].value, "a.example"));
	ck_assert(is(f[2].name, "x") && is(f[2].value, "2"));
	ck_assert_ptr_eq(nw_fields(r, NULL), f);
	ck_assert(is(nw_host(r), "a.example"));
	ck_assert_int_eq(nw_field_get(r, "HOST", &value), 1);
	ck_assert(is(value, "a.example"));
	ck_assert_int_eq(nw_field_get(r, "x", &value), 1);
	ck_assert(is(value, "1"));
	ck_assert_int_eq(nw_field_get(r, "x", NULL), 1);
	ck_assert_int_eq(nw_field_get(r, "y", &value), 0);
	ck_assert_ptr_null(value.p);
	caller_end(0, NULL);
}
END_TEST

START_TEST(no_fields_at_all)
{
	size_t n = 9;

	caller_begin("GET / HTTP/1.0\r\n\r\n");
	nw_fields(r, &n);
	ck_assert_uint_eq(n, 0);
	ck_assert(is(nw_host(r), ""));
	ck_assert_int_eq(nw_minor_version(r), 0);
	caller_end(0, NULL);
}
END_TEST

START_TEST(memory_for_the_request)
{
	char *p;

	caller_begin(GET);
	p = nw_alloc(r, 100000);
	ck_assert_ptr_nonnull(p);
	memset(p, 'x', 100000);
	ck_assert_ptr_nonnull(nw_alloc(r, 0));
	errno = 0;
	ck_assert_ptr_null(nw_alloc(r, (size_t)-1));
	ck_assert_int_eq(errno, ENOMEM);
	caller_end(0, NULL);
}
END_TEST

/* ---- the request's body ---- */

START_TEST(a_body_is_read_to_its_end)
{
	char p[10];

	caller_begin(POST5 "hello");
	ck_assert_int_eq(nw_content_length(r), 5);
	ck_assert_int_eq(nw_read(r, p, 0), 0);
	ck_assert_int_eq(nw_read(r, NULL, 0), 0);
	ck_assert_int_eq(nw_read(r, p, 3), 3);
	ck_assert_int_eq(nw_body_left(r), 2);
	ck_assert_int_eq(nw_read(r, p + 3, 7), 2);
	ck_assert_mem_eq(p, "hello", 5);
	ck_assert_int_eq(nw_read(r, p, 10), 0);
	ck_assert_int_eq(nw_read(r, p, 10), 0);
	CHECK_FAILS(nw_read(r, NULL, 5), EINVAL);
	CHECK_FAILS(nw_read(r, p, (size_t)-1), EINVAL);
	caller_end(0, NULL);
}
END_TEST

START_TEST(trailers_come_after_the_body)
{
	const nw_field *f;
	char p[10];
	size_t n = 9;

	caller_begin(CHUNKED "3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n");
	ck_assert_int_eq(nw_content_length(r), -1);
	ck_assert_int_eq(nw_body_left(r), -1);
	nw_trailers(r, &n);
	ck_assert_uint_eq(n, 0);
	ck_assert_int_eq(nw_read(r, p, 10), 3);
	ck_assert_int_eq(nw_read(r, p, 10), 0);
	f = nw_trailers(r, &n);
	ck_assert_uint_eq(n, 1);
	ck_assert(is(f[0].name, "X-T") && is(f[0].value, "1"));
	nw_fields(r, &n);
	ck_assert_uint_eq(n, 3);
	caller_end(0, NULL);
}
END_TEST

START_TEST(a_broken_body_answers_for_itself)
{
	char p[10];
	const char *wire;
	bool keep = true;

	caller_begin(CHUNKED "3\r\nabc\r\nzz\r\n");
	ck_assert_int_eq(nw_start(r, 200, NULL), 0);
	ck_assert_int_eq(nw_read(r, p, 10), 3);
	CHECK_FAILS(nw_read(r, p, 10), EPROTO);
	CHECK_FAILS(nw_read(r, p, 10), EPROTO);
	CHECK_FAILS(nw_start(r, 200, NULL), ECANCELED);
	CHECK_FAILS(nw_write(r, "in spite of it", 14), ECANCELED);
	CHECK_FAILS(caller_lend("x", 1), ECANCELED);
	ck_assert_int_eq(caller.released, 1);
	ck_assert_int_eq(caller_log_lines(), 0);
	wire = caller_end(0, &keep);
	ck_assert_ptr_nonnull(strstr(wire, "HTTP/1.1 400 Bad Request\r\n"));
	ck_assert_ptr_nonnull(strstr(wire, "Connection: close\r\n"));
	ck_assert_ptr_null(strstr(wire, "spite"));
	ck_assert(!keep);
}
END_TEST

START_TEST(a_refusal_needs_no_start)
{
	char p[10];

	caller_begin(CHUNKED "zz\r\n");
	CHECK_FAILS(nw_read(r, p, 10), EPROTO);
	CHECK_FAILS(nw_write(r, "x", 1), ECANCELED);
	CHECK_FAILS(nw_flush(r), ECANCELED);
	ck_assert_int_eq(caller_log_lines(), 0);
	ck_assert_ptr_nonnull(strstr(caller_end(-1, NULL), "HTTP/1.1 400 "));
}
END_TEST

START_TEST(a_committed_response_is_cut)
{
	char p[10];
	const char *wire;
	bool keep = true;

	caller_begin(CHUNKED "zz\r\n");
	ck_assert_int_eq(nw_start(r, 200, NULL), 0);
	ck_assert_int_eq(nw_write(r, "half", 4), 0);
	CHECK_FAILS(nw_read(r, p, 10), EPROTO);
	wire = caller_end(-1, &keep);
	ck_assert_ptr_nonnull(strstr(wire, "HTTP/1.1 200 "));
	ck_assert_str_eq(caller_body(wire), "4\r\nhalf");
	ck_assert(!keep);
}
END_TEST

START_TEST(continue_is_said_by_the_first_read)
{
	char p[10];
	const char *wire;

	caller_begin("POST / HTTP/1.1\r\n" HOST
		     "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n");
	shutdown(caller.client, SHUT_WR); /* the read must not wait for ever */
	CHECK_FAILS(nw_read(r, p, 10), ECONNRESET);
	wire = caller_end(-1, NULL);
	ck_assert_int_eq(
		strncmp(wire, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 400 ", 38),
		0);

	caller_begin("POST / HTTP/1.1\r\n" HOST
		     "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n");
	ck_assert_int_eq(nw_start(r, 403, NULL), 0);
	ck_assert_int_eq(strncmp(caller_end(0, NULL), "HTTP/1.1 403 ", 13), 0);
}
END_TEST

START_TEST(a_body_is_passed_through)
{
	const char *wire;

	caller_begin(POST5 "hello");
	ck_assert_int_eq(nw_start(r, 200, NULL), 0);
	ck_assert_int_eq(nw_pass_body(r), 0);
	ck_assert_int_eq(nw_body_left(r), 0);
	wire = caller_end(0, NULL);
	ck_assert_ptr_nonnull(strstr(wire, "Content-Length: 5\r\n"));
	ck_assert_str_eq(caller_body(wire), "hello");

	caller_begin(CHUNKED "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
	ck_assert_int_eq(nw_start(r, 200, NULL), 0);
	ck_assert_int_eq(nw_pass_body(r), 0);
	ck_assert_int_eq(nw_add_trailer(r, N("X-T"), N("1")), 0);
	wire = caller_body(caller_end(0, NULL));
	ck_assert_int_eq(strncmp(wire, "5\r\nabcde\r\n0\r\n", 13), 0);
	ck_assert_str_eq(wire + 13, "X-T: 1\r\n\r\n");
}
END_TEST

/* More than a block, so that some of it is sent before the rest is read. */
START_TEST(a_long_body_is_passed_in_blocks)
{
	char head[] = "POST / HTTP/1.1\r\n" HOST "Content-Length: 1000\r\n\r\n";
	char body[1001];
	const char *wire;
	char *at, got[1001] = "";
	size_t n, have = 0;

	for (n = 0; n < 1000; n++)
		body[n] = (char)('a' + n % 23);
	body[1000] = '\0';
	caller_begin(head);
	caller_say(body);
	ck_assert_int_eq(nw_start(r, 200, NULL), 0);
	ck_assert_int_eq(nw_pass_body(r), 0);
	wire = caller_body(caller_end(0, NULL));
	while ((n = strtoul(wire, &at, 16)) > 0) {
		ck_assert_uint_le(have + n, 1000);
		memcpy(got + have, at + 2, n);
		have += n;
		wire = at + 2 + n + 2;
	}
	ck_assert_str_eq(got, body);
}
END_TEST

START_TEST(passing_a_broken_body)
{
	caller_begin(CHUNKED "3\r\nabc\r\nzz\r\n");
	ck_assert_int_eq(nw_start(r, 200, NULL), 0);
	CHECK_FAILS(nw_pass_body(r), EPROTO);
	ck_assert_str_eq(caller_body(caller_end(-1, NULL)), "3\r\nabc");
}
END_TEST

Suite *
api_request_suite(void)
{
	Suite *s = suite_create("api_request");
	TCase *t = tcase_create("calls");

	tcase_add_checked_fixture(t, caller_setup, caller_teardown);
	tcase_add_test(t, the_head_is_told);
	tcase_add_test(t, a_query_may_be_empty_or_missing);
	tcase_add_test(t, fields_in_their_order);
	tcase_add_test(t, no_fields_at_all);
	tcase_add_test(t, memory_for_the_request);
	tcase_add_test(t, a_body_is_read_to_its_end);
	tcase_add_test(t, trailers_come_after_the_body);
	tcase_add_test(t, a_broken_body_answers_for_itself);
	tcase_add_test(t, a_refusal_needs_no_start);
	tcase_add_test(t, a_committed_response_is_cut);
	tcase_add_test(t, continue_is_said_by_the_first_read);
	tcase_add_test(t, a_body_is_passed_through);
	tcase_add_test(t, a_long_body_is_passed_in_blocks);
	tcase_add_test(t, passing_a_broken_body);
	suite_add_tcase(s, t);
	return s;
}
