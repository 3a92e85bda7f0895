/*
 * test_between.c -- what clients do between two requests, and at their end.
 */
#include "process/harness.h"

#include <stdlib.h>
#include <string.h>

Suite *between_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))
#define GET "GET / HTTP/1.1\r\nHost: t\r\n\r\n"

static void
must_answer(struct client *c, int status)
{
	struct answer a;

	client_read(c, &a);
	MUST(a.status == status, "%s", a.head);
	answer_done(&a);
}

/* Each head has header-timeout for itself, also one that was pipelined. */
START_TEST(deadline_of_a_pipelined_head)
{
	const char *half = "GET / HTTP/1.1\r\n";
	struct server s;
	struct client c;

	server_start(&s,
		"[app]\napp = " APP(
			"probe") "\n"
				 "[timeouts]\nheader-timeout = 3s\n");
	client_open(&c, &s);
	client_puts(&c, "GET /sleep?ms=3500 HTTP/1.1\r\n");
	must_get(&s, "/", "probe"); /* by now the half head is parked */
	client_puts(&c, "Host: t\r\n\r\n");
	client_puts(&c, half);
	must_answer(&c, 200);
	must_get(&s, "/", "probe"); /* the worker is through with its look */
	client_puts(&c, "Host: t\r\n\r\n");
	must_answer(&c, 200);
	client_done(&c);
	server_stop(&s);
}
END_TEST

/* They begin no request: no line in the log, no 408, no 400. */
START_TEST(empty_lines_are_no_request)
{
	struct server s;
	struct client c;
	char *log;
	size_t n;

	server_start(&s,
		"[app]\napp = so:hello\n[server]\nkeepalive = 500ms\n"
		"[timeouts]\nheader-timeout = 200ms\n"
		"[log]\naccess-log = -\n");
	client_open(&c, &s);
	client_puts(&c, GET "\r\n");
	must_answer(&c, 200);
	client_wait_eof(&c);
	client_done(&c);
	client_open(&c, &s);
	client_puts(&c, GET);
	must_answer(&c, 200);
	client_puts(&c, "\r\n\r\n");
	client_puts(&c, GET);
	must_answer(&c, 200);
	client_puts(&c, "\r\n");
	client_shut(&c);
	client_wait_eof(&c);
	client_done(&c);
	log = read_file(s.out, &n);
	MUST(count_matches(log, "\"GET / HTTP/1.1\" 200") == 3 &&
			count_matches(log, ".") == 3,
		"%s", log);
	free(log);
	server_stop(&s);
}
END_TEST

/*
 * The same behind as many requests as are served in one turn, and more; sent
 * together with them or a little later.
 */
START_TEST(an_empty_line_behind_a_turn)
{
	const int n = 40;
	struct bytes b = {0};
	struct server s;
	struct client c;
	int i;

	server_start(&s,
		"[app]\napp = so:hello\n[server]\nkeepalive = 200ms\n"
		"[timeouts]\nheader-timeout = 10m\n");
	bytes_add(&b, "\r\n", 2);
	for (i = 0; i < n; i++) {
		b.n -= 2;
		bytes_add(&b, GET "\r\n", strlen(GET) + 2);
		client_open(&c, &s);
		client_send(&c, b.p, b.n - 2 * (size_t)_i);
		client_send(&c, "\r\n", 2 * (size_t)_i);
		client_slurp(&c);
		MUST(count_matches(c.in.p, "HTTP/1.1 200 ") == i + 1 &&
				count_matches(c.in.p, "HTTP/1.1 ") == i + 1,
			"%s", c.in.p);
		client_done(&c);
	}
	bytes_done(&b);
	server_stop(&s);
}
END_TEST

/*
 * Some clients end a body with a CRLF that is not part of it.  Left unread it
 * would turn the close into a reset, over what the client has not read yet.
 */
START_TEST(a_crlf_behind_the_body)
{
	const size_t size = 300000;
	struct server s;
	struct client c;
	struct answer a;
	char *body = some_bytes(size);

	server_start(&s, "[app]\napp = so:echo\n");
	MUST(client_try_port(&c, server_port(&s, 0), 4096), "no connection");
	client_printf(&c,
		"POST / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n"
		"Content-Length: %zu\r\n\r\n",
		size);
	client_send(&c, body, size);
	client_puts(&c, "\r\n");
	/* The kernel has taken the echo when the worker is free again. */
	ask(&s, GET, strlen(GET), &a);
	answer_done(&a);
	client_read(&c, &a);
	MUST(a.body.n == size && !memcmp(a.body.p, body, size), "%zu bytes",
		a.body.n);
	client_wait_eof(&c);
	answer_done(&a);
	client_done(&c);
	server_stop(&s);
	free(body);
}
END_TEST

static const char *const broken[] = {
	"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
	"Transfer-Encoding: chunked\r\n\r\n1\r\nxyz",
	"Transfer-Encoding: chunked\r\n\r\n0\r\nbad trailer\r\n\r\n",
};

/* Nobody wanted that body; no request can follow it all the same. */
START_TEST(a_broken_body_nobody_reads)
{
	struct server s;
	struct client c;
	struct answer a;

	server_start(&s, "[app]\napp = so:hello\n");
	client_open(&c, &s);
	client_printf(&c, "POST / HTTP/1.1\r\nHost: t\r\n%s", broken[_i]);
	client_read(&c, &a);
	MUST(a.status == 200 && a.close, "%s", a.head);
	answer_done(&a);
	client_puts(&c, GET);
	client_slurp(&c);
	MUST(c.in.n == 0, "%s", c.in.p);
	client_done(&c);
	server_stop(&s);
}
END_TEST

Suite *
between_suite(void)
{
	Suite *suite = suite_create("between");
	TCase *tc = harness_case(suite, "between");

	tcase_add_test(tc, deadline_of_a_pipelined_head);
	tcase_add_test(tc, empty_lines_are_no_request);
	tcase_add_loop_test(tc, an_empty_line_behind_a_turn, 0, 2);
	tcase_add_test(tc, a_crlf_behind_the_body);
	tcase_add_loop_test(tc, a_broken_body_nobody_reads, 0, N(broken));
	return suite;
}
