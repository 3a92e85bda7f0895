/*
 * test_http.c -- where a request ends, and what is refused.  Limits have
 * test_limits.c.
 *
 * Behind the server is tests/apps/conformance.c, which answers with the
 * request as JSON.  The rows are what real servers got wrong; after each, the
 * one worker must answer somebody else.
 */
#include "process/harness.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

Suite *http_suite(void);

#define B(text) text, sizeof(text) - 1
#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))

#define POST_CHUNKED                                                           \
	"POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
#define GET_SECOND "GET /second HTTP/1.1\r\nHost: t\r\n\r\n"

enum end {
	CLOSES, /* and nothing comes after the last answer */
	STAYS, /* the connection serves another request */
	HALF_CLOSE /* the client ends its side; then as CLOSES */
};

struct row {
	const char *p;
	size_t n;
	const char *answers; /* "200 400": in order; "400|-": or none at all */
	enum end end;
	const char *key, *value; /* of the JSON in the last answer, or NULL */
};

/* Is "key": "value" in the JSON? */
static bool
json_is(const struct answer *a, const char *key, const char *value)
{
	char want[1000];
	const char *p;
	size_t n;

	n = (size_t)snprintf(want, sizeof(want), "\"%s\":", key);
	p = strstr(a->body.p, want);
	if (!p)
		return false;
	p += n;
	p += *p == ' ';
	n = strlen(value);
	return p[0] == '"' && strncmp(p + 1, value, n) == 0 && p[n + 1] == '"';
}

static void
check_status(const struct row *row, const char *word, const struct answer *a)
{
	char status[8];

	snprintf(status, sizeof(status), "%d", a->status);
	MUST(strstr(word, status), "%s instead of %s for %.300s", status, word,
		row->p);
	if (a->status >= 400)
		MUST(a->close, "no Connection: close for %.300s", row->p);
}

static void
check_answers(struct client *c, const struct row *row)
{
	char words[100], *word, *rest = words;
	struct answer a;

	snprintf(words, sizeof(words), "%s", row->answers);
	while ((word = strsep(&rest, " "))) {
		while (c->in.n == 0 && client_try_fill(c))
			;
		if (c->in.n == 0 && c->eof && strchr(word, '-'))
			return;
		client_read(c, &a);
		check_status(row, word, &a);
		if (!rest && row->key && a.status < 400)
			MUST(json_is(&a, row->key, row->value),
				"%s is not %s in %s", row->key, row->value,
				a.body.p);
		answer_done(&a);
	}
}

static void
check_row(const struct server *s, const struct row *row)
{
	struct client c;
	struct answer a;

	client_open(&c, s);
	client_send(&c, row->p, row->n);
	if (row->end == HALF_CLOSE)
		client_shut(&c);
	check_answers(&c, row);
	if (row->end == STAYS) {
		client_puts(&c, GET_SECOND);
		client_read(&c, &a);
		MUST(json_is(&a, "target", "/second"), "%s", a.body.p);
		answer_done(&a);
	} else {
		client_wait_eof(&c);
	}
	client_done(&c);
	must_get(s, "/ok", NULL);
}

/* Whatever has come, the worker has nothing to do any more. */
static void
must_rest(const struct server *s)
{
	pid_t pid = server_worker(s);
	long before = proc_cpu_ms(pid), used;

	poll(NULL, 0, 300);
	used = proc_cpu_ms(pid) - before;
	MUST(used < 50, "%ld ms of CPU for nothing", used);
}

static void
check_rows(const struct row *rows, int n)
{
	struct server s;
	int i;

	server_start(&s, "[app]\napp = %s\n[server]\nkeepalive = 30s\n",
		APP("conformance"));
	for (i = 0; i < n; i++)
		check_row(&s, &rows[i]);
	must_rest(&s);
	server_stop(&s);
}

/* ---- framing ---- */

static const struct row lengths[] = {
	/* what a lenient integer parser takes */
	{B("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: +3\r\n\r\nabc"),
		"400", CLOSES, NULL, NULL},
	{B("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 0_3\r\n\r\nabc"),
		"400", CLOSES, NULL, NULL},
	{B("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: -0\r\n\r\n"), "400",
		CLOSES, NULL, NULL},
	{B("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 0x3\r\n\r\nabc"),
		"400", CLOSES, NULL, NULL},
	{B("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 3 3\r\n\r\nabc"),
		"400", CLOSES, NULL, NULL},
	{B("POST / HTTP/1.1\r\nHost: t\r\nContent-Length:\r\n\r\n"), "400",
		CLOSES, NULL, NULL},
	{B("POST / HTTP/1.1\r\nHost: t\r\n"
	   "Content-Length: 99999999999999999999999\r\n\r\n"),
		"400|413", CLOSES, NULL, NULL},
	{B("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: \t003 \r\n\r\nabc"),
		"200", STAYS, "body_b64", "YWJj"},
	/* both */
	{B("POST /one HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n"
	   "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" GET_SECOND),
		"400", CLOSES, NULL, NULL},
};

static const struct row codings[] = {
	{B("POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: \x0b"
	   "chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
		"400|501", CLOSES, NULL, NULL},
	{B("POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\x0c\r\n"
	   "\r\n3\r\nabc\r\n0\r\n\r\n"),
		"400|501", CLOSES, NULL, NULL},
	{B("POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: \xa0"
	   "chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
		"400|501", CLOSES, NULL, NULL},
	{B("POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\x1f\r\n"
	   "\r\n3\r\nabc\r\n0\r\n\r\n"),
		"400|501", CLOSES, NULL, NULL},
	{B("POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip, chunked\r\n"
	   "\r\n3\r\nabc\r\n0\r\n\r\n"),
		"501", CLOSES, NULL, NULL},
	{B("POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding:\t ChUnKeD \t\r\n"
	   "\r\n3\r\nabc\r\n0\r\n\r\n"),
		"200", STAYS, "body_b64", "YWJj"},
	/* a fold would hide the coding from somebody */
	{B("POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding:\r\n chunked\r\n"
	   "\r\n3\r\nabc\r\n0\r\n\r\n"),
		"400", CLOSES, NULL, NULL},
};

static const struct row chunks[] = {
	/* bare LF is no end of a chunk's line */
	{B(POST_CHUNKED "3\nabc\r\n0\r\n\r\n"), "400", CLOSES, NULL, NULL},
	{B(POST_CHUNKED "3;a=\nb\r\nabc\r\n0\r\n\r\n"), "400", CLOSES, NULL,
		NULL},
	{B(POST_CHUNKED "3\r\nabc\n0\r\n\r\n"), "400", CLOSES, NULL, NULL},
	{B(POST_CHUNKED "3\r\nabc\r\n0\n\r\n"), "400", CLOSES, NULL, NULL},
	{B(POST_CHUNKED "0x3\r\nabc\r\n0\r\n\r\n"), "400", CLOSES, NULL, NULL},
	{B(POST_CHUNKED "3 \r\nabc\r\n0\r\n\r\n"), "400", CLOSES, NULL, NULL},
	{B(POST_CHUNKED "10000000000000000\r\nabc"), "400", CLOSES, NULL, NULL},
	{B(POST_CHUNKED "3;name=val;q=\"a;b\"\r\nabc\r\n000\r\n\r\n"), "200",
		STAYS, "body_b64", "YWJj"},
	/* the closing CRLF belongs to the body */
	{B("POST /one HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
	   "3\r\nabc\r\n0\r\n\r\nGET /two HTTP/1.1\r\nHost: t\r\n"
	   "Connection: close\r\n\r\n"),
		"200 200", CLOSES, "target", "/two"},
	/* trailers are consumed */
	{B("POST /one HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n"
	   "Trailer: X-Sum\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 9\r\n"
	   "Content-Length: 99\r\nX-User: root\r\n\r\n"
	   "GET /two HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"),
		"200 200", CLOSES, "target", "/two"},
	/* cut short */
	{B(POST_CHUNKED "3\r\nabc\r\n0\r\n"), "400|-", HALF_CLOSE, NULL, NULL},
	{B(POST_CHUNKED "5\r\nhello"), "400|-", HALF_CLOSE, NULL, NULL},
	{B(POST_CHUNKED "5\r\nhello\r"), "400|-", HALF_CLOSE, NULL, NULL},
	{B(POST_CHUNKED "5\r\nhel"), "400|-", HALF_CLOSE, NULL, NULL},
	{B(POST_CHUNKED "5"), "400|-", HALF_CLOSE, NULL, NULL},
};

/* ---- the head ---- */

static const struct row heads[] = {
	/* Host */
	{B("GET / HTTP/1.1\r\n\r\n"), "400", CLOSES, NULL, NULL},
	{B("GET / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n"), "400",
		CLOSES, NULL, NULL},
	{B("GET / HTTP/1.1\r\nHost: a.test\r\nhost: a.test\r\n\r\n"), "400",
		CLOSES, NULL, NULL},
	{B("GET / HTTP/1.1\r\nHost: a.test/x\r\n\r\n"), "400", CLOSES, NULL,
		NULL},
	{B("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), "400", CLOSES, NULL, NULL},
	{B("GET /x HTTP/1.0\r\n\r\n"), "200", CLOSES, "target", "/x"},
	{B("GET /x HTTP/1.1\r\nHost:\r\n\r\n"), "200", STAYS, "target", "/x"},
	{B("GET /x HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n"), "200", STAYS,
		"target", "/x"},
	/* control bytes */
	{B("GET / HTTP/1.1\r\nHost: t\r\nX-A: a\0b\r\n\r\n"), "400", CLOSES,
		NULL, NULL},
	{B("GET / HTTP/1.1\r\nHost: t\r\nX-A: a\rb\r\n\r\n"), "400", CLOSES,
		NULL, NULL},
	{B("GET / HTTP/1.1\r\nHost: t\r\nX-A: a\rX-B: c\r\n\r\n"), "400",
		CLOSES, NULL, NULL},
	/* folding, blanks */
	{B("GET / HTTP/1.1\r\nHost: t\r\nX-A: one\r\n two\r\n\r\n"), "400",
		CLOSES, NULL, NULL},
	{B("GET / HTTP/1.1\r\n Host: t\r\nHost: t\r\n\r\n"), "400", CLOSES,
		NULL, NULL},
	{B("GET / HTTP/1.1\r\nHost : t\r\n\r\n"), "400", CLOSES, NULL, NULL},
	/* the request line; what follows a refused one is never parsed */
	{B("GET /a b HTTP/1.1\r\nHost: t\r\n\r\n" GET_SECOND), "400", CLOSES,
		NULL, NULL},
	{B("GET / HTTP/1.1 HTTP/1.1\r\nHost: t\r\n\r\n" GET_SECOND), "400",
		CLOSES, NULL, NULL},
	{B("GET /\r\nHost: t\r\n\r\n" GET_SECOND), "400", CLOSES, NULL, NULL},
	{B("GET / HTTP/2.0\r\nHost: t\r\n\r\n" GET_SECOND), "505", CLOSES, NULL,
		NULL},
	{B("CONNECT t:80 HTTP/1.1\r\nHost: t:80\r\n\r\n" GET_SECOND), "501",
		CLOSES, NULL, NULL},
	{B("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n"
	   "Expect: a-miracle\r\n\r\nabc"),
		"417", CLOSES, NULL, NULL},
	{B("PRIVATE-method /x HTTP/1.1\r\nHost: t\r\n\r\n"), "200", STAYS,
		"method", "PRIVATE-method"},
	{B("OPTIONS * HTTP/1.1\r\nHost: t\r\n\r\n"), "200", STAYS, "target",
		"*"},
};

/* ---- Connection ---- */

static const struct row connections[] = {
	{B("GET / HTTP/1.1\r\nHost: t\r\nConnection: Close\r\n\r\n"), "200",
		CLOSES, NULL, NULL},
	{B("GET / HTTP/1.1\r\nHost: t\r\nConnection: keep-alive, CLOSE\r\n"
	   "\r\n"),
		"200", CLOSES, NULL, NULL},
	{B("GET / HTTP/1.1\r\nHost: t\r\nConnection: x-foo\r\n"
	   "Connection: close\r\n\r\n"),
		"200", CLOSES, NULL, NULL},
	{B("GET / HTTP/1.0\r\nHost: t\r\n\r\n"), "200", CLOSES, NULL, NULL},
	{B("GET / HTTP/1.1\r\nHost: t\r\nConnection: closed\r\n\r\n"), "200",
		STAYS, NULL, NULL},
	{B("GET / HTTP/1.0\r\nHost: t\r\nConnection: x-foo, Keep-Alive\r\n"
	   "\r\n"),
		"200", STAYS, NULL, NULL},
};

static const struct {
	const struct row *rows;
	int n;
} tables[] = {
	{lengths, N(lengths)},
	{codings, N(codings)},
	{chunks, N(chunks)},
	{heads, N(heads)},
	{connections, N(connections)},
};

START_TEST(rows_of_bytes)
{
	check_rows(tables[_i].rows, tables[_i].n);
}
END_TEST

/* The reply of a connection that stays says so to HTTP/1.0 only. */
START_TEST(connection_is_announced)
{
	struct server s;
	struct client c;
	struct answer a;
	int i;

	server_start(&s, "[app]\napp = so:hello\n");
	for (i = 0; i < 3; i++) { /* the first three rows close */
		client_open(&c, &s);
		client_send(&c, connections[i].p, connections[i].n);
		client_read(&c, &a);
		MUST(a.close, "no Connection: close in %s", a.head);
		client_done(&c);
	}
	client_open(&c, &s);
	client_send(&c, connections[5].p, connections[5].n);
	client_read(&c, &a);
	MUST(answer_field(&a, "Connection") &&
			strcmp(answer_field(&a, "Connection"), "keep-alive") ==
				0,
		"%s", a.head);
	client_done(&c);
	server_stop(&s);
}
END_TEST

/* ---- absolute-form: its authority wins ---- */

static const struct {
	const char *target, *host, *authority, *path, *query;
} authorities[] = {
	{"http://one.test/p?q=1", "two.test", "one.test", "/p", "q=1"},
	{"http://one.test", "one.test", "one.test", "/", ""},
	{"HTTP://one.test:81/a/../b", "one.test:81", "one.test:81", "/a/../b",
		""},
};

START_TEST(absolute_form)
{
	char want[200];
	struct server s;
	struct answer a;
	int i;

	server_start(&s, "[app]\napp = %s\n[options]\nalways = /host\n",
		APP("probe"));
	for (i = 0; i < N(authorities); i++) {
		struct client c;

		client_open(&c, &s);
		client_printf(&c, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n",
			authorities[i].target, authorities[i].host);
		client_read(&c, &a);
		snprintf(want, sizeof(want), "%s %s %s %s",
			authorities[i].target, authorities[i].authority,
			authorities[i].path, authorities[i].query);
		MUST(a.status == 200 && strcmp(a.body.p, want) == 0, "%s",
			a.body.p);
		answer_done(&a);
		client_done(&c);
	}
	server_stop(&s);
}
END_TEST

/* ---- cut anywhere, and pipelined ---- */

START_TEST(chunks_cut_anywhere)
{
	static const size_t sizes[] = {
		1, 2, 3, 7, 1027, 4093, 4096, 4097, 8191};
	struct bytes wire = {0};
	struct server s;
	struct client c;
	struct answer a;
	char block[1024 + 1];
	size_t at, n;
	int i;

	memset(block, 'x', 1024);
	block[1024] = '\0';
	bytes_add(&wire,
		B("POST / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n"
		  "Transfer-Encoding: chunked\r\n\r\n"));
	for (i = 0; i < 64; i++) {
		bytes_add(&wire, B("400\r\n"));
		bytes_add(&wire, block, 1024);
		bytes_add(&wire, B("\r\n"));
	}
	bytes_add(&wire, B("0\r\n\r\n"));
	server_start(&s, "[app]\napp = so:echo\n");
	for (i = 0; i < N(sizes); i++) {
		client_open(&c, &s);
		for (at = 0; at < wire.n; at += n) {
			n = wire.n - at < sizes[i] ? wire.n - at : sizes[i];
			client_send(&c, wire.p + at, n);
		}
		client_read(&c, &a);
		MUST(a.status == 200 && a.body.n == 65536 &&
				strspn(a.body.p, "x") == 65536,
			"cut in %zu: %d, %zu bytes", sizes[i], a.status,
			a.body.n);
		answer_done(&a);
		client_wait_eof(&c);
		client_done(&c);
	}
	server_stop(&s);
}
END_TEST

START_TEST(pipelined_and_the_last_one_cut)
{
	static const char *const targets[] = {"/1", "/2", "/3", "/4"};
	struct server s;
	struct client c;
	struct answer a;
	int i;

	server_start(&s, "[app]\napp = %s\n", APP("conformance"));
	client_open(&c, &s);
	client_puts(&c,
		"GET /1 HTTP/1.1\r\nHost: t\r\n\r\n\r\nPOST /2 HTTP/1.1\r\n"
		"Host: t\r\nContent-Length: 3\r\n\r\nabcGET /3 HTTP/1.1\r\n"
		"Host: t\r\n\r\nGET /4 HT");
	for (i = 0; i < 4; i++) {
		if (i == 3) /* the first three did not wait for this */
			client_puts(&c,
				"TP/1.1\r\nHost: t\r\n"
				"Connection: close\r\n\r\n");
		client_read(&c, &a);
		MUST(a.status == 200 && json_is(&a, "target", targets[i]), "%s",
			a.body.p);
		answer_done(&a);
	}
	client_wait_eof(&c);
	client_done(&c);
	server_stop(&s);
}
END_TEST

/* ---- Expect ---- */

START_TEST(expect_continue)
{
	struct server s;
	struct client c;
	struct answer a;

	server_start(&s, "[app]\napp = so:echo\n");
	client_open(&c, &s);
	client_puts(&c,
		"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n"
		"Expect: 100-Continue\r\n\r\n");
	client_wait_bytes(&c, 25);
	MUST(strcmp(c.in.p, "HTTP/1.1 100 Continue\r\n\r\n") == 0, "%s",
		c.in.p);
	client_puts(&c, "abc");
	client_read(&c, &a);
	MUST(a.status == 200 && strcmp(a.body.p, "abc") == 0, "%s", a.head);
	client_done(&c);
	server_stop(&s);
}
END_TEST

/* An application that does not read asks for nothing. */
START_TEST(expect_continue_of_the_deaf)
{
	struct server s;
	struct client c;
	struct answer a;

	server_start(&s, "[app]\napp = %s\n", APP("probe"));
	client_open(&c, &s);
	client_puts(&c,
		"POST /deaf HTTP/1.1\r\nHost: t\r\n"
		"Content-Length: 3\r\nExpect: 100-continue\r\n\r\n");
	client_read(&c, &a);
	MUST(a.status == 200 && a.interim == 0, "%s", a.head);
	if (a.close) {
		client_wait_eof(&c);
	} else { /* then the body is still due, and skipped */
		client_puts(&c, "abc" GET_SECOND);
		client_read(&c, &a);
		MUST(a.status == 200, "%s", a.head);
	}
	client_done(&c);
	server_stop(&s);
}
END_TEST

Suite *
http_suite(void)
{
	Suite *suite = suite_create("http");
	TCase *tc = harness_case(suite, "rows");

	tcase_add_loop_test(tc, rows_of_bytes, 0, N(tables));
	tcase_add_test(tc, connection_is_announced);
	tc = harness_case(suite, "targets");
	tcase_add_test(tc, absolute_form);
	tc = harness_case(suite, "pieces");
	tcase_add_test(tc, chunks_cut_anywhere);
	tcase_add_test(tc, pipelined_and_the_last_one_cut);
	tc = harness_case(suite, "expect");
	tcase_add_test(tc, expect_continue);
	tcase_add_test(tc, expect_continue_of_the_deaf);
	return suite;
}
