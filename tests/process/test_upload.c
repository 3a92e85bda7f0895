/*
 * test_upload.c -- request bodies: whole, byte for byte, in bounded memory,
 * and read in blocks of the size that was set.
 *
 * SOAK=1 uploads a gigabyte where otherwise 64 MB do.
 */
#include "process/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

Suite *upload_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))
#define MB (1000 * 1000)

/* ---- with curl, as a user would ---- */

static const char *const ways[] = {
	"",
	"-H 'Connection: close'",
	"-H 'Expect: 100-continue'",
	"-H 'Transfer-Encoding: chunked'",
	"-H 'Transfer-Encoding: chunked' -H 'Connection: close'",
	"-H 'Transfer-Encoding: chunked' -H 'Expect: 100-continue'",
};

static void
make_file(const struct server *s, const char *name, size_t n)
{
	char *p = some_bytes(MB);
	FILE *f = fopen(server_path(s, name), "we");
	size_t some;

	for (; n > 0; n -= some) {
		some = n < MB ? n : MB;
		MUST(fwrite(p, 1, some, f) == some, "no room for %s", name);
	}
	fclose(f);
	free(p);
}

/* Twice in one call: a kept connection serves both. */
static void
curl_twice(const struct server *s, const char *way)
{
	shell(s,
		"curl -sS --fail --max-time 100 %s --data-binary @file "
		"-o one -o two http://127.0.0.1:%d/ http://127.0.0.1:%d/",
		way, server_port(s, 0), server_port(s, 0));
}

static void
upload(const struct server *s, size_t n, const char *way)
{
	char want[100], *json;

	curl_twice(s, way);
	json = read_file(server_path(s, "two"), NULL);
	snprintf(want, sizeof(want), "\"received_bytes\": ?%zu[,}]", n);
	MUST(count_matches(json, want) == 1, "%s", json);
	MUST(count_matches(json, "\"process_seconds\": ?[0-9.e-]+[,}]") == 1,
		"%s", json);
	free(json);
}

static void
echo(const struct server *s, size_t n, const char *way)
{
	(void)n;
	curl_twice(s, way);
	shell(s, "cmp file one && cmp file two");
}

static const struct {
	const char *app;
	void (*run)(const struct server *s, size_t n, const char *way);
} uploads[] = {
	{"so:upload", upload},
	{"so:echo", echo},
};

START_TEST(curl)
{
	const size_t sizes[] = {1, MB, (soak() ? 1000 : 64) * (size_t)MB};
	struct server s;
	long before = 0, grown;
	int i, way;

	server_start(&s, "[app]\napp = %s\n", uploads[_i].app);
	for (i = 0; i < N(sizes); i++) {
		make_file(&s, "file", sizes[i]);
		if (i == 2)
			before = proc_status(server_worker(&s), "VmHWM");
		for (way = 0; way < N(ways); way++)
			uploads[_i].run(&s, sizes[i], ways[way]);
	}
	grown = proc_status(server_worker(&s), "VmHWM") - before;
	MUST(sanitized() || grown < 1024, "memory grew by %ld kB", grown);
	server_stop(&s);
}
END_TEST

/* With curl, whose answer may start before its upload is over. */
START_TEST(pass_through)
{
	struct server s;
	int way;

	server_start(&s, "[app]\napp = so:echo\n");
	make_file(&s, "file", 10 * MB);
	for (way = 0; way < N(ways); way++) {
		char all[200];

		snprintf(all, sizeof(all), "-H 'X-Host-To-Host: true' %s",
			ways[way]);
		echo(&s, 0, all);
	}
	server_stop(&s);
}
END_TEST

/* ---- what it asks the socket for ---- */

static void
trace_upload(const char *app, const char *target, const char *block,
	bool chunked, struct trace *t)
{
	char *body = some_bytes(MB), *head;
	struct bytes all = {0};
	struct server s;
	struct client c;
	struct answer a;

	server_init(&s);
	server_listen(&s);
	server_ini(&s,
		"[server]\nbind = fd:3\n[app]\napp = %s\n"
		"[buffers]\ninput-block-size = %s\n",
		app, block);
	server_trace(&s, TRACE_CALLS);
	server_spawn(&s);
	server_wait_ready(&s);
	MUST(asprintf(&head,
		     "POST %s HTTP/1.1\r\nHost: t\r\n"
		     "Connection: close\r\n%s\r\n\r\n%s",
		     target,
		     chunked ? "Transfer-Encoding: chunked"
			     : "Content-Length: 1000000",
		     chunked ? "F4240\r\n" : "") > 0,
		"out of memory");
	bytes_add(&all, head, strlen(head));
	bytes_add(&all, body, MB);
	if (chunked)
		bytes_add(&all, "\r\n0\r\n\r\n", 7);
	client_open(&c, &s);
	client_exchange(&c, all.p, all.n, &a);
	MUST(a.status == 200, "%s", a.head);
	client_done(&c);
	server_signal(&s, SIGTERM);
	MUST(server_wait_exit(&s) == 0, "exit status");
	trace_read(&s, t);
	server_done(&s);
	answer_done(&a);
	bytes_done(&all);
	free(head);
	free(body);
}

static const struct {
	const char *app, *target;
	bool chunked;
} traced[] = {
	{"so:upload", "/", false},
	{"so:upload", "/", true},
	{"so:echo", "/", false}, /* reads 1024 at a time */
	{"so:echo", "/", true},
	{APP("probe"), "/read?size=100", false},
	{APP("probe"), "/read?size=1000000", false},
	{APP("probe"), "/read?size=1000000", true},
};

/* The head is read in a read of its own, which may ask for 8 KiB. */
START_TEST(blocks_bound_the_reads)
{
	struct trace small, large;

	trace_upload(traced[_i].app, traced[_i].target, "4k",
		traced[_i].chunked, &small);
	MUST(small.second <= 4096, "asked for %zu", small.second);
	MUST(small.most <= 8192, "asked for %zu", small.most);
	MUST(small.reads >= MB / 4096 - 10, "only %d reads traced",
		small.reads);
	trace_upload(traced[_i].app, traced[_i].target, "256k",
		traced[_i].chunked, &large);
	MUST(large.most <= 256 * 1024, "asked for %zu", large.most);
	MUST(large.most > 128 * 1024, "never asked for more than %zu",
		large.most);
	MUST(large.reads * 2 < small.reads, "%d reads, %d with 4k", large.reads,
		small.reads);
}
END_TEST

/* ---- a body nobody reads ---- */

static const struct {
	const char *fields;
	size_t n; /* bytes sent after the head */
} unread[] = {
	{"Content-Length: 262144\r\nConnection: close\r\n", 262144},
	{"Content-Length: 262144\r\n", 262144},
	{"Transfer-Encoding: chunked\r\n", 0x40000},
	/* more than is drained: closed in stages, the answer still whole */
	{"Content-Length: 4194304\r\n", 4194304},
};

/*
 * The client takes its time: a server that closed over what it has not read
 * would reset the connection under an answer that is still on its way.
 */
START_TEST(answer_to_an_unread_body_is_whole)
{
	char *body = some_bytes(unread[_i].n);
	bool chunked = strstr(unread[_i].fields, "chunked");
	struct bytes all = {0};
	struct server s;
	struct client c;
	struct answer a;
	int port;

	server_start(&s, "[app]\napp = %s\n", APP("probe"));
	port = server_port(&s, 0);
	MUST(client_try_port(&c, port, 4096), "connect");
	c.slow = true;
	bytes_add(&all, "POST /big?length=1 HTTP/1.1\r\nHost: t\r\n", 38);
	bytes_add(&all, unread[_i].fields, strlen(unread[_i].fields));
	bytes_add(&all, "\r\n", 2);
	if (chunked)
		bytes_add(&all, "40000\r\n", 7);
	bytes_add(&all, body, unread[_i].n);
	if (chunked)
		bytes_add(&all, "\r\n0\r\n\r\n", 7);
	client_exchange(&c, all.p, all.n, &a);
	MUST(a.status == 200 && a.body.n == 1048576, "%d, %zu bytes", a.status,
		a.body.n);
	client_done(&c);
	must_get(&s, "/ok", NULL);
	server_stop(&s);
}
END_TEST

/* What is left of a small unread body does not become the next request. */
START_TEST(unread_body_is_skipped)
{
	struct server s;
	struct client c;
	struct answer a;
	int i;

	server_start(&s, "[app]\napp = %s\n", APP("probe"));
	client_open(&c, &s);
	for (i = 0; i < 3; i++) {
		client_puts(&c,
			"POST /deaf HTTP/1.1\r\nHost: t\r\n"
			"Content-Length: 30\r\n\r\n"
			"GET /evil HTTP/1.1\r\nHost: t\r\n");
		client_read(&c, &a);
		MUST(a.status == 200 && strcmp(a.body.p, "ok\n") == 0, "%s",
			a.head);
		answer_done(&a);
	}
	client_done(&c);
	server_stop(&s);
}
END_TEST

/* ---- clients that stall or leave ---- */

START_TEST(slow_body_is_408)
{
	struct server s;
	struct client c;
	struct answer a;

	server_start(&s,
		"[app]\napp = so:upload\n"
		"[timeouts]\nbody-timeout = 300ms\n");
	client_open(&c, &s);
	client_puts(&c,
		"POST / HTTP/1.1\r\nHost: t\r\n"
		"Content-Length: 100\r\n\r\nabc");
	client_read(&c, &a);
	MUST(a.status == 408 && a.close, "%s", a.head);
	client_wait_eof(&c);
	client_done(&c);
	must_get(&s, "/ok", NULL);
	server_stop(&s);
}
END_TEST

START_TEST(client_that_leaves)
{
	struct server s;
	struct client c;
	int i;

	server_start(&s, "[app]\napp = so:upload\n");
	for (i = 0; i < 2; i++) {
		client_open(&c, &s);
		client_puts(&c,
			"POST / HTTP/1.1\r\nHost: t\r\n"
			"Content-Length: 100\r\n\r\nabc");
		if (i == 0)
			client_done(&c);
		else
			client_abort(&c);
		must_get(&s, "/ok", NULL); /* the one worker is free again */
	}
	server_stop(&s);
}
END_TEST

Suite *
upload_suite(void)
{
	Suite *suite = suite_create("upload");
	TCase *tc = harness_case(suite, "curl");

	if (soak())
		tcase_set_timeout(tc, 1200);
	tcase_add_loop_test(tc, curl, 0, N(uploads));
	tcase_add_test(tc, pass_through);
	tc = harness_case(suite, "blocks");
	tcase_add_loop_test(tc, blocks_bound_the_reads, 0, N(traced));
	tc = harness_case(suite, "unread");
	tcase_add_loop_test(
		tc, answer_to_an_unread_body_is_whole, 0, N(unread));
	tcase_add_test(tc, unread_body_is_skipped);
	tc = harness_case(suite, "leaving");
	tcase_add_test(tc, slow_body_is_408);
	tcase_add_test(tc, client_that_leaves);
	return suite;
}
