/*
 * test_clauses.c -- what single clauses of RFC 9112 and 9110 ask of a worker.
 *
 * Those that no other test is about; tests/rfc has the whole list.  Each row is
 * all that comes on a connection, and what the answers have to have in them,
 * one after the other, and must not have.
 */
#include <check.h>

#include "rfc/tank.h"

Suite *clauses_suite(void);

#define HAS_MAX 5
#define SECOND "GET /second HTTP/1.1\r\nHost: t\r\n\r\n"

static const struct row {
	const char *what;
	const char *sent;
	const char *has[HAS_MAX]; /* in this order */
	const char * not ; /* NULL: anything else may be there */
} rows[] = {
	/* RFC 9112 */
	{"octets, not characters",
		"GET /\xff\xc3 HTTP/1.1\r\nHost: t\r\nX: \xe9\xff\r\n\r\n",
		{"HTTP/1.1 200 ", "GET /\xff\xc3 ", "X: \xe9\xff\n"}, NULL},
	{"junk is answered with 400", "\x16\x03\x01\x02 hello\r\n\r\n",
		{"HTTP/1.1 400 ", "\r\nConnection: close\r\n"}, "HTTP/1.1 2"},
	{"no guess at a broken request line",
		"GET /a b HTTP/1.1\r\nHost: t\r\n\r\n" SECOND,
		{"HTTP/1.1 400 "}, "HTTP/1.1 2"},
	{"a blank line of blanks before the fields",
		"GET / HTTP/1.1\r\n X: y\r\nHost: t\r\n\r\n", {"HTTP/1.1 400 "},
		"HTTP/1.1 2"},
	{"a small method is another one", "get / HTTP/1.1\r\nHost: t\r\n\r\n",
		{"HTTP/1.1 200 ", "get / HTTP/1.1\n"}, NULL},
	{"a method nobody knows", "BREW / HTTP/1.1\r\nHost: t\r\n\r\n",
		{"HTTP/1.1 200 ", "BREW / HTTP/1.1\n"}, NULL},
	{"a body of any method is framed",
		"GET / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\n"
		"abc" SECOND,
		{"HTTP/1.1 200 ", "\n\nabc", "HTTP/1.1 200 ", "GET /second"},
		NULL},
	{"a body of HEAD is framed",
		"HEAD / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\n"
		"abc" SECOND,
		{"HTTP/1.1 200 ", "\r\n\r\nHTTP/1.1 200 ", "GET /second"},
		"abc"},
	{"no length is no body", "POST / HTTP/1.1\r\nHost: t\r\n\r\n" SECOND,
		{"HTTP/1.1 200 ", "POST / ", "HTTP/1.1 200 ", "GET /second"},
		NULL},
	{"a body cut short is no body",
		"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\nabc",
		{"HTTP/1.1 400 ", "\r\nConnection: close\r\n"}, "POST"},
	{"a chunked body cut short is no body",
		"POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n"
		"\r\n3\r\nabc\r\n",
		{"HTTP/1.1 400 ", "\r\nConnection: close\r\n"}, "POST"},
	{"chunk extensions are ignored",
		"POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n"
		"\r\n3;unheard=\"of\"\r\nabc\r\n0\r\n\r\n",
		{"HTTP/1.1 200 ", "\n\nabc\n"}, "unheard"},
	{"trailers are no fields",
		"POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n"
		"\r\n0\r\nContent-Length: 7\r\n\r\n" SECOND,
		{"HTTP/1.1 200 ", "\n\n\nContent-Length: 7\n", "HTTP/1.1 200 "},
		NULL},
	{"answers come in order",
		"GET /1 HTTP/1.1\r\nHost: t\r\n\r\n" SECOND
		"GET /3 HTTP/1.1\r\nHost: t\r\n\r\n",
		{"GET /1 ", "GET /second ", "GET /3 "}, "Connection: close"},
	{"nothing behind a close",
		"GET / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n" SECOND,
		{"HTTP/1.1 200 ", "\r\nConnection: close\r\n"}, "second"},
	{"nothing behind a refusal",
		"GET / HTTP/1.1\r\nHost: t\r\nContent-Length: x\r\n\r\n" SECOND,
		{"HTTP/1.1 400 ", "\r\nConnection: close\r\n"}, "second"},
	{"1.0 closes", "GET / HTTP/1.0\r\n\r\n" SECOND,
		{"HTTP/1.1 200 ", "\r\nConnection: close\r\n"}, "second"},
	{"1.0 goes on when it asks",
		"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" SECOND,
		{"HTTP/1.1 200 ", "\r\nConnection: keep-alive\r\n",
			"GET /second"},
		NULL},
	{"both lengths close, whoever is right",
		"POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n"
		"Content-Length: 5\r\n\r\n0\r\n\r\n" SECOND,
		{"HTTP/1.1 400 ", "\r\nConnection: close\r\n"}, "second"},
	/* RFC 9110 */
	{"1.2 is served as 1.1", "GET / HTTP/1.2\r\nHost: t\r\n\r\n" SECOND,
		{"HTTP/1.1 200 ", "GET / HTTP/1.1\n", "GET /second"}, NULL},
	{"1.2 needs a Host", "GET / HTTP/1.2\r\n\r\n", {"HTTP/1.1 400 "},
		"HTTP/1.1 2"},
	{"another major version", "GET / HTTP/3.0\r\nHost: t\r\n\r\n",
		{"HTTP/1.1 505 ",
			"\r\n\r\n505 HTTP Version Not Supported\n"
			"This server speaks HTTP/1.1 and HTTP/1.0.\n"},
		"HTTP/1.1 2"},
	{"an http URI without a host",
		"GET http:///x HTTP/1.1\r\nHost: t\r\n\r\n", {"HTTP/1.1 400 "},
		"HTTP/1.1 2"},
	{"userinfo in an http URI",
		"GET http://u@t/x HTTP/1.1\r\nHost: t\r\n\r\n",
		{"HTTP/1.1 400 "}, "HTTP/1.1 2"},
	{"https of a stranger is misdirected",
		"GET https://t/ HTTP/1.1\r\nHost: t\r\n\r\n" SECOND,
		{"HTTP/1.1 421 ", "\r\nConnection: close\r\n"}, "HTTP/1.1 2"},
	{"a field nobody knows is passed on",
		"GET / HTTP/1.1\r\nHost: t\r\nUnheard-Of: yes\r\n\r\n",
		{"HTTP/1.1 200 ", "Unheard-Of: yes\n"}, NULL},
	{"lines of a name keep their order",
		"GET / HTTP/1.1\r\nHost: t\r\nA: 1\r\nB: 2\r\na: 3\r\n\r\n",
		{"HTTP/1.1 200 ", "A: 1\nB: 2\na: 3\n"}, NULL},
	{"nothing is applied before the head is whole",
		"DELETE / HTTP/1.1\r\nHost: t\r\n", {"HTTP/1.1 400 "},
		"HTTP/1.1 2"},
	{"refusals have a date and a page", "GET / HTTP/1.1\r\n\r\n",
		{"HTTP/1.1 400 Bad Request\r\n", "Content-Type: text/plain\r\n",
			"\r\nDate: ", "400 Bad Request\n"},
		NULL},
	{"upgrades are not made",
		"GET / HTTP/1.1\r\nHost: t\r\nConnection: upgrade\r\n"
		"Upgrade: websocket, h2c\r\n\r\n" SECOND,
		{"HTTP/1.1 200 ", "HTTP/1.1 200 "}, "HTTP/1.1 101"},
	{"upgrades of 1.0 are not even looked at",
		"GET / HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
		{"HTTP/1.1 200 "}, "HTTP/1.1 101"},
	{"an expectation of 1.0 is ignored",
		"POST / HTTP/1.0\r\nContent-Length: 1\r\n"
		"Expect: 100-continue\r\n\r\nx",
		{"HTTP/1.1 200 "}, "HTTP/1.1 100"},
	{"an expectation without a body is ignored",
		"GET / HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\n\r\n",
		{"HTTP/1.1 200 "}, "HTTP/1.1 100"},
	{"a body that is here needs no 100",
		"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\n"
		"Expect: 100-continue\r\n\r\nx",
		{"HTTP/1.1 200 "}, "HTTP/1.1 100"},
	{"TRACE is no business of the server's",
		"TRACE / HTTP/1.1\r\nHost: t\r\nMax-Forwards: 0\r\n\r\n",
		{"HTTP/1.1 200 ", "TRACE / ", "Max-Forwards: 0\n"}, NULL},
	{"CONNECT is not implemented",
		"CONNECT t:80 HTTP/1.1\r\nHost: t:80\r\n\r\n" SECOND,
		{"HTTP/1.1 501 ", "\r\nConnection: close\r\n"}, "HTTP/1.1 2"},
};

START_TEST(clause)
{
	const struct row *row = &rows[_i];
	const struct tank_stream s = {row->sent, strlen(row->sent), 0, 0};
	const char *at;
	struct buf got;

	tank_open(&tank_default);
	buf_init(&got);
	buf_add_str(&got, tank_run(&s));
	at = buf_z(&got);
	for (int i = 0; i < HAS_MAX && row->has[i]; i++) {
		at = strstr(at, row->has[i]);
		ck_assert_msg(at, "%s: no '%s' in %s", row->what, row->has[i],
			buf_z(&got));
	}
	ck_assert_msg(!row->not || !strstr(buf_z(&got), row->not ),
		"%s: '%s' in %s", row->what, row->not, buf_z(&got));
	buf_done(&got);
	tank_close();
}
END_TEST

Suite *
clauses_suite(void)
{
	Suite *s = suite_create("clauses");
	TCase *t = tcase_create("clauses");

	tcase_add_loop_test(t, clause, 0, sizeof(rows) / sizeof(rows[0]));
	suite_add_tcase(s, t);
	return s;
}
