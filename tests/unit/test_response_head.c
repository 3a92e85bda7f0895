/*
 * test_response_head.c -- what is said before the body, and what may not be.
 */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "rig.h"

START_TEST(hello)
{
	struct wire_message *m;

	rig_start(200);
	rig_field("Content-Type", "text/plain");
	ck_assert(!rig.res.committed);
	ck_assert_int_eq(rig_write_z("Hello, World!"), 0);
	ck_assert(rig.res.committed);
	rig_read();
	ck_assert_uint_eq(rig.got.len, 0); /* it waits for company */
	m = rig_end(false, true, false);
	ck_assert_str_eq(m->body, "Hello, World!");
	ck_assert(wire_field_is(m, "Content-Length", "13"));
	ck_assert(wire_field_is(m, "Content-Type", "text/plain"));
	ck_assert(wire_field_is(m, "Server", "narwhal"));
	ck_assert_int_eq(wire_count(m, "Date"), 1);
	ck_assert_int_eq(wire_count(m, "Connection"), 0);
	ck_assert_uint_eq(response_body_bytes(&rig.res), 13);
	ck_assert_int_eq(response_peak_chunks(&rig.res), 1);
	ck_assert_int_eq(rig.waits, 0);
}
END_TEST

START_TEST(an_app_may_date_and_sign)
{
	struct wire_message *m;

	rig_start(200);
	rig_field("date", "Tue, 01 Jan 2030 00:00:00 GMT");
	rig_field("SERVER", "mine");
	rig_field("content-LENGTH", "2");
	ck_assert_int_eq(rig_write_z("ok"), 0);
	m = rig_end(false, true, false);
	ck_assert_int_eq(wire_count(m, "Date"), 1);
	ck_assert_int_eq(wire_count(m, "Server"), 1);
	ck_assert_int_eq(wire_count(m, "Content-Length"), 1);
	ck_assert(wire_field_is(m, "Server", "mine"));
	ck_assert(wire_field_is(m, "Date", "Tue, 01 Jan 2030 00:00:00 GMT"));
}
END_TEST

START_TEST(started_again)
{
	struct wire_message *m;

	rig_start(200);
	rig_field("X-Old", "1");
	rig_field("Content-Length", "5");
	rig_start(404);
	rig_field("X-New", "2");
	ck_assert_int_eq(rig_write_z("abc"), 0);
	ck_assert_int_eq(response_start(&rig.res, 500, STR("")), -1);
	ck_assert_int_eq(errno, EALREADY);
	ck_assert_int_eq(response_add_field(&rig.res, STR("A"), STR("b")), -1);
	ck_assert_int_eq(errno, EALREADY);
	m = rig_end(false, true, false);
	ck_assert_int_eq(strncmp(m->head, "HTTP/1.1 404 Not Found\r\n", 24), 0);
	ck_assert_int_eq(wire_count(m, "X-Old"), 0);
	ck_assert(wire_field_is(m, "X-New", "2"));
	ck_assert(wire_field_is(m, "Content-Length", "3"));
}
END_TEST

START_TEST(a_reason_of_its_own)
{
	struct wire_message *m;

	ck_assert_int_eq(
		response_start(&rig.res, 200, STR("Fine\r\nX: y")), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(response_start(&rig.res, 199, STR("")), -1);
	ck_assert_int_eq(response_start(&rig.res, 600, STR("")), -1);
	ck_assert_int_eq(response_start(&rig.res, 299, STR("Fine")), 0);
	m = rig_end(false, true, false);
	ck_assert_int_eq(strncmp(m->head, "HTTP/1.1 299 Fine\r\n", 19), 0);
	ck_assert(wire_field_is(m, "Content-Length", "0"));
}
END_TEST

static const struct {
	struct str name, value;
} refused[] = {
	{STR("X-T"), STR("a\r\nX-Evil: 1")},
	{STR("X-T"), STR("a\nX-Evil: 1")},
	{STR("X-T"), STR("a\rX-Evil: 1")},
	{STR("X-T"), STR("a\0b")},
	{STR("X-T"), STR("a\r\n\r\nHTTP/1.1 200 OK")},
	{STR("X-T"), STR("a\x7f")},
	{STR("X-T"), STR("\x1b[2J")},
	{STR("X T"), STR("a")},
	{STR("X:"), STR("a")},
	{STR(""), STR("a")},
	{STR("X\r\nY"), STR("a")},
	{STR("X-\xe4"), STR("a")},
	{STR("Connection"), STR("close")},
	{STR("keep-alive"), STR("timeout=5")},
	{STR("Transfer-Encoding"), STR("chunked")},
	{STR("TE"), STR("trailers")},
	{STR("Trailer"), STR("X")},
	{STR("UPGRADE"), STR("websocket")},
	{STR("Proxy-Connection"), STR("close")},
	{STR("Proxy-Authenticate"), STR("Basic")},
	{STR("Content-Length"), STR("")},
	{STR("Content-Length"), STR("-1")},
	{STR("Content-Length"), STR("5, 5")},
	{STR("Content-Length"), STR("0x5")},
	{STR("Content-Length"), STR("18446744073709551616")},
};

START_TEST(fields_are_refused)
{
	struct str name = refused[_i].name, value = refused[_i].value;
	struct wire_message *m;

	rig_start(200);
	ck_assert_int_eq(response_add_field(&rig.res, name, value), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(rig_logged("refused"), 1);
	ck_assert_int_eq(response_add_trailer(&rig.res, name, value), -1);
	ck_assert_int_eq(errno, EINVAL);
	m = rig_end(true, true, false);
	ck_assert_int_eq(strncmp(m->head, "HTTP/1.1 500 ", 13), 0);
	ck_assert_int_eq(wire_count(m, "X-Evil"), 0);
}
END_TEST

START_TEST(values_that_are_right)
{
	struct wire_message *m;

	rig_start(200);
	rig_field("X-Tab", "a\tb");
	rig_field("X-Obs", "caf\xe9");
	rig_field("X-Empty", "");
	rig_field("X-Blanks", " \t a b \t ");
	rig_field("Set-Cookie", "a=1");
	rig_field("Set-Cookie", "b=2");
	m = rig_end(false, true, false);
	ck_assert(wire_field_is(m, "X-Tab", "a\tb"));
	ck_assert(wire_field_is(m, "X-Obs", "caf\xe9"));
	ck_assert(wire_field_is(m, "X-Empty", ""));
	ck_assert(wire_field_is(m, "X-Blanks", "a b"));
	ck_assert_int_eq(wire_count(m, "Set-Cookie"), 2);
}
END_TEST

/* Behind each colon, and nowhere else round a value (RFC 9110 5.6.3). */
START_TEST(one_blank)
{
	struct str head, line, name;
	struct wire_message *m;

	rig_start(200);
	rig_field("X-Blanks", " \t a b \t ");
	m = rig_end(false, true, false);
	head = (struct str){m->head, m->head_len - 3}; /* "\n\r\n" */
	str_cut(&head, '\n', &line); /* the status line */
	while (str_cut(&head, '\n', &line)) {
		ck_assert(str_cut(&line, ':', &name) && line.len > 2);
		ck_assert(line.p[0] == ' ' && line.p[line.len - 1] == '\r');
		line = (struct str){line.p + 1, line.len - 2};
		ck_assert(str_eq(line, str_trim(line)));
	}
}
END_TEST

static struct wire_message *
answer(bool head_only, bool page)
{
	rig_begin(head_only, 1, true, false);
	rig_start(404);
	rig_field("Content-Type", "text/plain");
	rig_field("X-Mine", "1");
	rig_field("Content-Length", "5");
	if (!page)
		ck_assert_int_eq(rig_write_z("Moby?"), 0);
	return rig_end(page, true, head_only);
}

static bool
is_same_line(struct str a, struct str b)
{
	const struct str date = STR("Date: ");

	return str_eq(a, b) || (str_starts(a, date) && str_starts(b, date));
}

/* The application's, and those of the server's own page. */
START_TEST(head_gets_the_fields_of_get)
{
	struct str get, head, a, b;
	struct wire_message *m;
	struct buf copy;

	buf_init(&copy);
	m = answer(false, _i);
	buf_add(&copy, m->head, m->head_len);
	get = buf_str(&copy);
	m = answer(true, _i);
	head = (struct str){m->head, m->head_len};
	while (str_cut(&get, '\n', &a))
		ck_assert(str_cut(&head, '\n', &b) && is_same_line(a, b));
	ck_assert_uint_eq(head.len, 0);
	buf_done(&copy);
}
END_TEST

START_TEST(a_second_length_is_refused)
{
	rig_start(200);
	rig_field("Content-Length", "3");
	ck_assert_int_eq(
		response_add_field(&rig.res, STR("content-length"), STR("3")),
		-1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(rig_write_z("abc"), 0);
	ck_assert_int_eq(
		wire_count(rig_end(false, true, false), "Content-Length"), 1);
}
END_TEST

START_TEST(nothing_without_a_start)
{
	ck_assert_int_eq(rig_write_z("a"), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(response_add_field(&rig.res, STR("A"), STR("b")), -1);
	ck_assert_int_eq(response_flush(&rig.res), -1);
	ck_assert(wire_field_is(rig_end(false, true, false), "Content-Length",
		"26")); /* 500 Internal Server Error */
	rig_logged("started no response");
}
END_TEST

/* ---- interim responses ---- */

START_TEST(interim)
{
	struct wire_message m;
	struct wire w;

	ck_assert_int_eq(response_send_interim(&rig.res, 100, STR("")), 0);
	rig_read();
	ck_assert_str_eq(buf_z(&rig.got), "HTTP/1.1 100 Continue\r\n\r\n");
	buf_reset(&rig.got);
	ck_assert_int_eq(
		response_send_interim(&rig.res, 103, STR("Link: </a>\r\n")), 0);
	rig_start(200);
	ck_assert_int_eq(rig_write_z("a"), 0);
	ck_assert(response_end(&rig.res, false));
	rig_read();
	w = (struct wire){rig.got.p, rig.got.len};
	m = rig_message(&w, true);
	ck_assert_int_eq(
		strncmp(m.head, "HTTP/1.1 103 Early Hints\r\n", 26), 0);
	ck_assert(wire_field_is(&m, "Link", "</a>"));
	wire_free(&m);
	m = rig_message(&w, false);
	ck_assert_str_eq(m.body, "a");
	wire_free(&m);
}
END_TEST

START_TEST(interim_too_late)
{
	rig_start(200);
	ck_assert_int_eq(rig_write_z("a"), 0);
	/* committed, but nothing has gone out: the client still waits */
	ck_assert_int_eq(response_send_interim(&rig.res, 100, STR("")), 0);
	rig_read();
	ck_assert_int_eq(strncmp(buf_z(&rig.got), "HTTP/1.1 100 ", 13), 0);
	buf_reset(&rig.got);
	ck_assert_int_eq(response_send_interim(&rig.res, 100, STR("")), 0);
	ck_assert_int_eq(response_send_interim(&rig.res, 103, STR("")), -1);
	ck_assert_int_eq(errno, EALREADY);
	rig_read();
	ck_assert_uint_eq(rig.got.len, 0);
	ck_assert(response_end(&rig.res, false));
}
END_TEST

START_TEST(interim_is_not_for_http10)
{
	rig_begin(false, 0, false, false);
	ck_assert_int_eq(response_send_interim(&rig.res, 100, STR("")), 0);
	rig_start(200);
	ck_assert_int_eq(strncmp(rig_end(false, false, false)->head,
				 "HTTP/1.1 200 ", 13),
		0);
}
END_TEST

START_TEST(fields_for_the_access_log)
{
	struct str s;

	rig_start(200);
	rig_field("X-A", " one ");
	rig_field("x-b", "two:three");
	ck_assert_int_eq(rig_write_z("a"), 0);
	rig_end(false, true, false);
	s = response_field(&rig.res, STR("x-a"));
	ck_assert(str_eq(s, STR("one")));
	s = response_field(&rig.res, STR("X-B"));
	ck_assert(str_eq(s, STR("two:three")));
	s = response_field(&rig.res, STR("content-length"));
	ck_assert(str_eq(s, STR("1")));
	ck_assert_uint_eq(response_field(&rig.res, STR("X-C")).len, 0);
	ck_assert_uint_eq(
		response_field(&rig.res, STR("HTTP/1.1 200 OK")).len, 0);
}
END_TEST

Suite *response_head_suite(void);

Suite *
response_head_suite(void)
{
	Suite *s = suite_create("response_head");
	TCase *t = tcase_create("response_head");

	tcase_add_checked_fixture(t, rig_setup, rig_teardown);
	tcase_add_test(t, hello);
	tcase_add_test(t, an_app_may_date_and_sign);
	tcase_add_test(t, started_again);
	tcase_add_test(t, a_reason_of_its_own);
	tcase_add_loop_test(
		t, fields_are_refused, 0, sizeof(refused) / sizeof(*refused));
	tcase_add_test(t, values_that_are_right);
	tcase_add_test(t, one_blank);
	tcase_add_loop_test(t, head_gets_the_fields_of_get, 0, 2);
	tcase_add_test(t, a_second_length_is_refused);
	tcase_add_test(t, nothing_without_a_start);
	tcase_add_test(t, interim);
	tcase_add_test(t, interim_too_late);
	tcase_add_test(t, interim_is_not_for_http10);
	tcase_add_test(t, fields_for_the_access_log);
	suite_add_tcase(s, t);
	return s;
}
