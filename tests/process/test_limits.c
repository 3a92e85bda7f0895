/*
 * test_limits.c -- limits are exact, and each has its status and page.
 */
#include "process/harness.h"

#include <stdlib.h>
#include <string.h>

Suite *limits_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))

#define POST_CHUNKED                                                           \
	"POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"

/* A request of three parts, the second n times. */
static void
check_limit(const struct server *s, const char *before, const char *middle,
	size_t n, const char *after, int status)
{
	struct bytes b = {0};
	struct client c;
	struct answer a;

	bytes_add(&b, before, strlen(before));
	while (n-- > 0)
		bytes_add(&b, middle, strlen(middle));
	bytes_add(&b, after, strlen(after));
	client_open(&c, s);
	client_send(&c, b.p, b.n);
	client_read(&c, &a);
	MUST(a.status == status, "%d instead of %d for %.60s", a.status, status,
		b.p);
	if (status >= 400) {
		MUST(a.close, "no Connection: close: %s", a.head);
		client_wait_eof(&c);
	}
	client_done(&c);
	bytes_done(&b);
}

START_TEST(limits_have_their_status)
{
	struct server s;
	long rss;

	server_start(&s, "[app]\napp = so:hello\n");
	check_limit(
		&s, "GET /", "a", 7900, " HTTP/1.1\r\nHost: t\r\n\r\n", 200);
	rss = proc_status(server_worker(&s), "VmHWM");
	check_limit(
		&s, "GET /", "a", 200000, " HTTP/1.1\r\nHost: t\r\n\r\n", 414);
	check_limit(&s, "GET / HTTP/1.1\r\nHost: t\r\nCookie: c=", "a", 200000,
		"\r\n\r\n", 431);
	check_limit(&s, "GET / HTTP/1.1\r\nHost: t\r\n", "X-N: 1\r\n", 5000,
		"\r\n", 431);
	check_limit(
		&s, "GET / HTTP/1.1\r\nHost: t\r\nX: ", "a", 4000000, "", 431);
	rss = proc_status(server_worker(&s), "VmHWM") - rss;
	MUST(rss < 2048 || getenv("ASAN_OPTIONS"), "grew by %ld kB", rss);
	server_stop(&s);
}
END_TEST

/* The boundary is where it was set: below and at it good, beyond it not. */
START_TEST(limits_are_exact)
{
	const char *http = " HTTP/1.1\r\nHost: t\r\n\r\n";
	const size_t line = 20000 - strlen("GET / HTTP/1.1");
	struct server s;
	int i;

	server_start(&s,
		"[app]\napp = so:hello\n[limits]\nrequest-line = 20000\n"
		"request-field-size = 32768\nrequest-fields = 10\n");
	for (i = -1; i <= 1; i++) {
		check_limit(&s, "GET /", "a", line + (size_t)i, http,
			i > 0 ? 414 : 200);
		check_limit(&s, "GET / HTTP/1.1\r\nHost: t\r\n", "X: y\r\n",
			(size_t)(9 + i), "\r\n", i > 0 ? 431 : 200);
		check_limit(&s, "GET / HTTP/1.1\r\nHost: t\r\nX-Long: ", "v",
			32768 - strlen("X-Long: ") + (size_t)i, "\r\n\r\n",
			i > 0 ? 431 : 200);
	}
	server_stop(&s);
}
END_TEST

START_TEST(limit_of_the_head)
{
	const char *before = "GET / HTTP/1.1\r\nHost: t\r\nX: ";
	size_t rest = 4096 - strlen(before) - 4;
	struct server s;
	int i;

	server_start(&s,
		"[app]\napp = so:hello\n[limits]\n"
		"request-head = 4096\nrequest-line = 1024\n"
		"request-field-size = 4096\n");
	for (i = -1; i <= 1; i++)
		check_limit(&s, before, "v", rest + (size_t)i, "\r\n\r\n",
			i > 0 ? 431 : 200);
	/* the default of request-line is beyond that, so never reached */
	server_reload(
		&s, "[app]\napp = so:hello\n[limits]\nrequest-head = 1k\n");
	check_limit(
		&s, "GET /", "a", 1100, " HTTP/1.1\r\nHost: t\r\n\r\n", 431);
	server_stop(&s);
}
END_TEST

/* Declared: before the application and before 100; chunked: when it shows. */
START_TEST(limit_of_the_body)
{
	struct server s;
	struct client c;
	struct answer a;

	server_start(&s,
		"[app]\napp = so:upload\n"
		"[limits]\nrequest-body = 1000\n");
	check_limit(&s,
		"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 1000\r\n"
		"\r\n",
		"x", 1000, "", 200);
	check_limit(&s,
		"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 1001\r\n"
		"\r\n",
		"x", 1001, "", 413);
	check_limit(&s, POST_CHUNKED, "1\r\nx\r\n", 1000, "0\r\n\r\n", 200);
	check_limit(&s, POST_CHUNKED, "1\r\nx\r\n", 1001, "0\r\n\r\n", 413);
	client_open(&c, &s);
	client_puts(&c,
		"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 1001\r\n"
		"Expect: 100-continue\r\n\r\n");
	client_read(&c, &a);
	MUST(a.status == 413 && a.interim == 0, "%s", a.head);
	client_wait_eof(&c);
	client_done(&c);
	server_stop(&s);
}
END_TEST

/* ---- error pages ---- */

START_TEST(error_pages_are_framed)
{
	static const char *const bad[] = {
		"GET /\x01 HTTP/1.1\r\nHost: t\r\n\r\n",
		"GET / HTTP/1.1\r\n\r\n", "GET / HTTP/3.0\r\nHost: t\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: t\r\n"};
	struct server s;
	struct client c;
	struct answer a;
	int i;

	server_start(&s,
		"[app]\napp = so:hello\n"
		"[timeouts]\nheader-timeout = 500ms\n");
	for (i = 0; i < N(bad); i++) { /* the last one is slow: 408 */
		client_open(&c, &s);
		client_puts(&c, bad[i]);
		client_read(&c, &a);
		MUST(a.status >= 400 && answer_fields(&a, "Content-Length"),
			"%s", a.head);
		MUST(answer_fields(&a, "Date") == 1, "%s", a.head);
		client_wait_eof(&c); /* no byte beyond the length */
		client_done(&c);
	}
	MUST(a.status == 408, "%d instead of 408", a.status);
	server_stop(&s);
}
END_TEST

Suite *
limits_suite(void)
{
	Suite *suite = suite_create("limits");
	TCase *tc = harness_case(suite, "limits");

	tcase_add_test(tc, limits_have_their_status);
	tcase_add_test(tc, limits_are_exact);
	tcase_add_test(tc, limit_of_the_head);
	tcase_add_test(tc, limit_of_the_body);
	tcase_add_test(tc, error_pages_are_framed);
	return suite;
}
