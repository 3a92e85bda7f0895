/*
 * test_responses.c -- what an application's answer looks like on the wire,
 * whatever the application does; it asks tests/apps/probe.c to do it.
 */
#include "process/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *responses_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))
#define REQUEST(method, target) method " " target " HTTP/1.1\r\nHost: t\r\n\r\n"
#define LAST(method, target)                                                   \
	method " " target " HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"

static struct server s;

static void
start(void)
{
	server_start(&s, "[app]\napp = %s\n", APP("probe"));
}

static void
stop(void)
{
	server_stop(&s);
}

/* All that comes for these bytes, to the end of the connection. */
static char *
talk(const char *text)
{
	struct client c;

	client_open(&c, &s);
	client_puts(&c, text);
	client_slurp(&c);
	MUST(c.in.p, "nothing at all for %s", text);
	return c.in.p;
}

static int
count(const char *text, const char *what)
{
	int n = 0;

	while ((text = strstr(text, what))) {
		n++;
		text += strlen(what);
	}
	return n;
}

/* ---- no body where none may be ---- */

START_TEST(head_ends_at_the_blank_line)
{
	char *text = talk(REQUEST("HEAD", "/lazy") REQUEST("HEAD", "/nothing")
			REQUEST("HEAD", "/big") LAST("GET", "/ok"));
	char *at = text;
	int i;

	for (i = 0; i < 4; i++) {
		MUST(strncmp(at, "HTTP/1.1 200 ", 13) == 0, "%s", at);
		at = strstr(at, "\r\n\r\n") + 4;
	}
	MUST(strcmp(at, "probe") == 0, "%s", text);
	free(text);
}
END_TEST

static const char *const bodiless[] = {
	"204", "204&length=1", "304", "304&length=1", "205", "205&length=1"};

START_TEST(no_body_with_some_statuses)
{
	struct client c;
	struct answer a;

	client_open(&c, &s);
	client_printf(&c,
		"GET /status?status=%s HTTP/1.1\r\nHost: t\r\n\r\n" LAST(
			"GET", "/status?length=1"),
		bodiless[_i]);
	client_read(&c, &a);
	MUST(a.status == atoi(bodiless[_i]), "%s", a.head);
	MUST(!answer_field(&a, "Transfer-Encoding"), "%s", a.head);
	MUST(a.status != 204 || !answer_field(&a, "Content-Length"), "%s",
		a.head);
	client_read(&c, &a);
	MUST(a.status == 200 && strcmp(a.body.p, "hello") == 0, "%s", a.head);
	client_wait_eof(&c);
	client_done(&c);
}
END_TEST

/* ---- lengths ---- */

START_TEST(more_than_its_length)
{
	char *text = talk(REQUEST("GET", "/over") LAST("GET", "/over"));

	MUST(strstr(text, "\r\n\r\nhello"), "%s", text);
	MUST(!strstr(text, "EXTRA") && !strstr(text, "MORE"), "%s", text);
	MUST(server_count_log(&s, "Content-Length") > 0, "not logged");
	free(text);
}
END_TEST

START_TEST(less_than_its_length)
{
	char *text = talk(REQUEST("GET", "/under") REQUEST("GET", "/ok"));

	MUST(count(text, "HTTP/1.1 ") == 1, "%s", text);
	MUST(strstr(text, "\r\n\r\nhello") &&
			strcmp(strstr(text, "hello"), "hello") == 0,
		"%s", text);
	free(text);
}
END_TEST

/* What ends within the queue gets a length, what does not is chunked. */
START_TEST(length_or_chunks)
{
	struct answer a;
	struct client c;

	get(&s, "/nothing", &a);
	MUST(!a.chunked && a.body.n == 0, "%s", a.head);
	get(&s, "/lazy", &a);
	MUST(a.chunked && strcmp(a.body.p, "payload") == 0, "%s", a.head);
	client_open(&c, &s);
	client_puts(&c, "GET /lazy HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	client_read(&c, &a);
	MUST(a.until_eof && strcmp(a.body.p, "payload") == 0, "%s", a.head);
	MUST(!answer_field(&a, "Connection") || a.close, "%s", a.head);
	client_done(&c);
}
END_TEST

START_TEST(empty_writes_are_no_chunks)
{
	struct client c;
	struct answer a;
	int i;

	client_open(&c, &s);
	for (i = 0; i < 3; i++) {
		client_puts(&c, REQUEST("GET", "/empties"));
		client_read(&c, &a);
		MUST(strcmp(a.body.p, "abcdef") == 0, "%s", a.body.p);
	}
	client_done(&c);
}
END_TEST

/* ---- fields ---- */

START_TEST(nothing_is_injected)
{
	char text[200], *got;

	snprintf(text, sizeof(text),
		"GET /inject?value=%d HTTP/1.1\r\nHost: t\r\n"
		"Connection: close\r\n\r\n",
		_i);
	got = talk(text);
	MUST(strncmp(got, "HTTP/1.1 500 ", 13) == 0, "%s", got);
	MUST(!strstr(got, "Evil") && count(got, "HTTP/1.1") == 1, "%s", got);
	free(got);
}
END_TEST

START_TEST(own_fields_replace_the_servers)
{
	struct answer a;

	get(&s, "/own", &a);
	MUST(answer_fields(&a, "Date") == 1 &&
			strstr(answer_field(&a, "Date"), "2030"),
		"%s", a.head);
	MUST(answer_fields(&a, "Server") == 1 &&
			strcmp(answer_field(&a, "Server"), "mine") == 0,
		"%s", a.head);
	MUST(answer_fields(&a, "Content-Length") == 1, "%s", a.head);
	get(&s, "/ok", &a);
	MUST(answer_fields(&a, "Date") == 1, "%s", a.head);
	MUST(answer_fields(&a, "Server") == 1, "%s", a.head);
}
END_TEST

START_TEST(early_hints)
{
	char *text = talk(LAST("GET", "/hints"));

	MUST(strncmp(text, "HTTP/1.1 103 ", 13) == 0, "%s", text);
	MUST(strstr(text, "rel=preload\r\n\r\nHTTP/1.1 200 "), "%s", text);
	free(text);
	text = talk("GET /hints HTTP/1.0\r\n\r\n");
	MUST(strncmp(text, "HTTP/1.1 200 ", 13) == 0, "%s", text);
	free(text);
}
END_TEST

/* ---- failures ---- */

START_TEST(failure_before_the_commit)
{
	struct client c;
	struct answer a;

	client_open(&c, &s);
	client_puts(&c, REQUEST("GET", "/fail"));
	client_read(&c, &a);
	MUST(a.status == 500 && answer_field(&a, "Content-Length"), "%s",
		a.head);
	MUST(!strstr(a.head, "Secret") && !strstr(a.body.p, "detail"), "%s%s",
		a.head, a.body.p);
	if (!a.close) {
		client_puts(&c, LAST("HEAD", "/fail"));
		client_read_head(&c, &a);
		MUST(a.status == 500, "%s", a.head);
	}
	client_wait_eof(&c);
	client_done(&c);
}
END_TEST

/* Cut without the last chunk: nobody takes it for the whole. */
START_TEST(failure_after_it)
{
	char *text = talk(REQUEST("GET", "/fail-late") REQUEST("GET", "/ok"));

	MUST(count(text, "HTTP/1.1 ") == 1, "%s", text);
	MUST(strstr(text, "half"), "%s", text);
	MUST(!strstr(text, "0\r\n\r\n"), "it looks whole: %s", text);
	free(text);
}
END_TEST

START_TEST(misuse_is_refused)
{
	must_get(&s, "/misuse", "11");
	MUST(server_count_log(&s, "called .* wrongly|refused|cannot be sent") >=
			8,
		"the log does not say so");
}
END_TEST

/* ---- files ---- */

static const struct {
	const char *query, *body;
} files[] = {
	{"n=10", "0123456789"},
	{"n=10&offset=5", "56789"},
	{"n=20&offset=8&claim=4", "8901"},
};

START_TEST(file_ranges)
{
	char target[100];
	struct client c;
	struct answer a;

	snprintf(target, sizeof(target), "/file?%s", files[_i].query);
	must_get(&s, target, files[_i].body);
	client_open(&c, &s);
	client_printf(&c, "GET %s HTTP/1.0\r\n\r\n", target);
	client_read(&c, &a);
	MUST(strcmp(a.body.p, files[_i].body) == 0, "%s", a.body.p);
	client_done(&c);
}
END_TEST

START_TEST(file_that_shrank)
{
	char *text = talk(REQUEST("GET", "/file?n=10&claim=20"));

	MUST(count(text, "HTTP/1.1 ") <= 1, "%s", text);
	MUST(!strstr(text, "\r\n0\r\n\r\n"), "it looks whole: %s", text);
	free(text);
	must_get(&s, "/ok", "probe");
}
END_TEST

Suite *
responses_suite(void)
{
	Suite *suite = suite_create("responses");
	TCase *tc = harness_case(suite, "responses");

	tcase_add_checked_fixture(tc, start, stop);
	tcase_add_test(tc, head_ends_at_the_blank_line);
	tcase_add_loop_test(tc, no_body_with_some_statuses, 0, N(bodiless));
	tcase_add_test(tc, more_than_its_length);
	tcase_add_test(tc, less_than_its_length);
	tcase_add_test(tc, length_or_chunks);
	tcase_add_test(tc, empty_writes_are_no_chunks);
	tcase_add_loop_test(tc, nothing_is_injected, 0, 5);
	tcase_add_test(tc, own_fields_replace_the_servers);
	tcase_add_test(tc, early_hints);
	tcase_add_test(tc, failure_before_the_commit);
	tcase_add_test(tc, failure_after_it);
	tcase_add_test(tc, misuse_is_refused);
	tcase_add_loop_test(tc, file_ranges, 0, N(files));
	tcase_add_test(tc, file_that_shrank);
	return suite;
}
