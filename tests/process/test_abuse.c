/*
 * test_abuse.c -- clients that leave at odd moments, come in masses, or send
 * what is allowed in quantities nobody means well with.
 */
#include "process/harness.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "process/load.h"

Suite *abuse_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))
#define GET "GET / HTTP/1.1\r\nHost: t\r\n\r\n"
#define SOON_MS 5000 /* for a request that nothing holds up */
#define POST(more) "POST /read HTTP/1.1\r\nHost: t\r\n" more "\r\n\r\n"

static void
must_answer(struct client *c, int status)
{
	struct answer a;

	client_read(c, &a);
	MUST(a.status == status, "%d: %s", status, a.head);
	answer_done(&a);
}

/* ---- leaving ---- */

static const char *const phases[] = {"", "GET /", GET, GET GET GET "GET /",
	"GET /big?n=50000000 HTTP/1.1\r\nHost: t\r\n\r\n",
	"GET /stream?n=3&ms=20 HTTP/1.1\r\nHost: t\r\n\r\n",
	"GET /file?n=3000000 HTTP/1.1\r\nHost: t\r\n\r\n",
	POST("Content-Length: 100") "half", POST("Transfer-Encoding: chunked"),
	POST("Transfer-Encoding: chunked") "5\r\nhel",
	POST("Transfer-Encoding: chunked") "5\r\nhello\r\n0\r\nX: y\r\n",
	POST("Expect: 100-continue\r\nContent-Length: 5"),
	"POST /deaf HTTP/1.1\r\nHost: t\r\nContent-Length: 900000\r\n\r\nsome",
	"GET / HTTP/9\r\n\r\n"};

START_TEST(resets_at_every_phase)
{
	struct server s;
	struct client c;
	struct load *l;
	pid_t before[WORKERS_MAX], after[WORKERS_MAX];
	int i;

	/* the second one while the first waits for a body */
	server_start(&s, "workers = 2\n[app]\napp = %s\n", APP("probe"));
	server_wait_workers(&s, 2);
	server_workers(&s, before);
	l = load_start(server_port(&s, 0), 2, "/");
	for (i = 0; i < 3 * N(phases); i++) {
		client_open(&c, &s);
		client_puts(&c, phases[i / 3]);
		if (i % 3 == 1) /* when all of that was looked at */
			must_get(&s, "/", "probe");
		if (i % 3 == 2)
			client_done(&c); /* with or without a reset */
		else
			client_abort(&c);
	}
	load_stop(l);
	must_get(&s, "/", "probe");
	MUST(server_workers(&s, after) == 2 &&
			memcmp(before, after, 2 * sizeof(before[0])) == 0,
		"a worker died");
	UNTIL(proc_fds(before[0]) < 20 && proc_fds(before[1]) < 20);
	server_stop(&s);
}
END_TEST

static const struct {
	const char *p;
	int status; /* 0: none */
} halves[] = {
	{GET, 200},
	{"GET / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n", 200},
	{"GET / HTTP/1.1\r\nHo", 400},
	{POST("Content-Length: 5") "hello", 200},
	{POST("Content-Length: 5") "hel", 400},
	{POST("Transfer-Encoding: chunked") "5\r\nhello\r\n", 400},
	{"", 0},
};

/* A client that has closed its half can still read, and holds nobody up. */
START_TEST(half_closed)
{
	struct server s;
	struct client c;
	struct load *l;
	long count;
	int i;

	server_start(&s, "[app]\napp = %s\n", APP("probe"));
	l = load_start(server_port(&s, 0), 2, "/");
	for (i = 0; i < N(halves); i++) {
		count = load_count(l);
		UNTIL(load_count(l) > count);
		client_open(&c, &s);
		client_puts(&c, halves[i].p);
		client_shut(&c);
		if (halves[i].status)
			must_answer(&c, halves[i].status);
		client_wait_eof(&c);
		client_done(&c);
	}
	load_stop_within(l, SOON_MS);
	server_stop(&s);
}
END_TEST

/* ---- masses ---- */

#define CROWD 60

/*
 * Silent ones make room at once, the oldest first, so a healthy client does not
 * notice; those with half a head keep it until their time is over.
 */
START_TEST(more_connections_than_room)
{
	struct client crowd[CROWD];
	struct server s;
	int i;

	server_start(&s,
		"worker-connections = 20\n[app]\napp = %s\n"
		"[timeouts]\nheader-timeout = %s\n",
		APP("probe"), _i ? "1s" : "1h");
	for (i = 0; i < CROWD; i++) {
		client_open(&crowd[i], &s);
		if (_i)
			client_puts(&crowd[i], "GET / HT");
	}
	for (i = 0; i < 20; i++)
		must_get(&s, "/", "probe");
	for (i = 0; i < CROWD; i++)
		client_done(&crowd[i]);
	must_get(&s, "/", "probe");
	server_stop(&s);
}
END_TEST

/* For a connection that is never idle: an idle one may be closed for others. */
#define BEGIN "GET / HT"
#define END_AND_BEGIN "TP/1.1\r\nHost: t\r\n\r\n" BEGIN

/*
 * No descriptor is left: no spinning, one line, who is connected is served, and
 * all is well afterwards.
 */
START_TEST(out_of_descriptors)
{
	struct rlimit few, old;
	struct client c[8], kept;
	struct server s;
	int64_t began;
	pid_t worker;
	long cpu;
	int i;

	server_start(&s,
		"keepalive = 60s\n[app]\napp = %s\n"
		"[timeouts]\nheader-timeout = 60s\n",
		APP("probe"));
	client_open(&kept, &s);
	client_puts(&kept, BEGIN END_AND_BEGIN);
	must_answer(&kept, 200);
	worker = server_worker(&s);
	UNTIL(proc_fds(worker) < 20);
	MUST(prlimit(worker, RLIMIT_NOFILE, NULL, &old) == 0, "prlimit");
	few = old;
	few.rlim_cur = 5; /* it has those already */
	MUST(prlimit(worker, RLIMIT_NOFILE, &few, NULL) == 0, "prlimit");
	for (i = 0; i < N(c); i++) {
		client_open(&c[i], &s);
		client_puts(&c[i], GET);
	}
	server_wait_log(&s, "cannot accept: Too many open files");
	began = now_ms();
	client_puts(&kept, END_AND_BEGIN);
	must_answer(&kept, 200);
	MUST(now_ms() - began < SOON_MS, "a kept connection waited");
	cpu = proc_cpu_ms(worker);
	poll(NULL, 0, 1000); /* how much it does meanwhile is the feature */
	cpu = proc_cpu_ms(worker) - cpu;
	MUST(cpu < 300, "%ld ms of 1000 spent waiting", cpu);
	client_puts(&kept, END_AND_BEGIN);
	must_answer(&kept, 200);
	MUST(prlimit(worker, RLIMIT_NOFILE, &old, NULL) == 0, "prlimit");
	for (i = 0; i < N(c); i++) {
		must_answer(&c[i], 200);
		client_done(&c[i]);
	}
	client_puts(&kept, END_AND_BEGIN);
	must_answer(&kept, 200);
	client_done(&kept);
	MUST(server_count_log(&s, "cannot accept") == 1, "more than one line");
	MUST(server_worker(&s) == worker, "the worker died");
	server_stop(&s);
}
END_TEST

/* ---- quantities ---- */

static void
send_many(struct client *c, const char *text, int n)
{
	struct bytes b = {0};

	while (n-- > 0)
		bytes_add(&b, text, strlen(text));
	client_send(c, b.p, b.n);
	bytes_done(&b);
}

START_TEST(chunks_without_number)
{
	struct server s;
	struct client c;
	struct answer a;
	struct load *l;

	server_start(&s, "[app]\napp = %s\n", APP("probe"));
	l = load_start(server_port(&s, 0), 2, "/");
	client_open(&c, &s);
	client_puts(&c, POST("Transfer-Encoding: chunked"));
	send_many(&c, "1\r\nx\r\n", 100000);
	client_puts(&c, "0\r\n\r\n");
	client_read(&c, &a);
	MUST(a.status == 200 && strcmp(a.body.p, "100000") == 0, "%s", a.head);
	answer_done(&a);
	client_puts(&c, GET);
	must_answer(&c, 200);
	client_done(&c);
	load_stop(l);
	server_stop(&s);
}
END_TEST

static const struct {
	const char *first, *then;
	int status;
} endless[] = {
	{POST("Transfer-Encoding: chunked") "5;", "extension", 400},
	{POST("Transfer-Encoding: chunked"), "1;some=extension\r\nx\r\n", 400},
	{POST("Transfer-Encoding: chunked") "0\r\n", "X-Trailer: y\r\n", 431},
	{"GET / HTTP/1.1\r\nHost: t\r\n", "X-Field: y\r\n", 431},
	{"GET / HTTP/1.1\r\nHost: t\r\nX: ", "value", 431},
	{"GET /", "path", 414},
	{"", "\r\n", 431},
};

START_TEST(what_has_no_end_is_ended)
{
	struct server s;
	struct client c;
	struct answer a;
	struct load *l;
	long rss;

	server_start(&s, "[app]\napp = %s\n", APP("probe"));
	l = load_start(server_port(&s, 0), 2, "/");
	UNTIL(load_count(l) > 10);
	rss = proc_status(server_worker(&s), "VmHWM");
	client_open(&c, &s);
	client_puts(&c, endless[_i].first);
	send_many(&c, endless[_i].then, 500000);
	client_read(&c, &a);
	MUST(a.status == endless[_i].status && a.close, "%s", a.head);
	answer_done(&a);
	client_done(&c);
	rss = proc_status(server_worker(&s), "VmHWM") - rss;
	MUST(rss < 2048 || sanitized(), "it grew by %ld kB", rss);
	load_stop(l);
	must_get(&s, "/", "probe");
	server_stop(&s);
}
END_TEST

Suite *
abuse_suite(void)
{
	Suite *suite = suite_create("abuse");
	TCase *tc = harness_case(suite, "leaving");

	tcase_add_test(tc, resets_at_every_phase);
	tcase_add_test(tc, half_closed);
	tc = harness_case(suite, "masses");
	tcase_add_loop_test(tc, more_connections_than_room, 0, 2);
	tcase_add_test(tc, out_of_descriptors);
	tc = harness_case(suite, "quantities");
	tcase_add_test(tc, chunks_without_number);
	tcase_add_loop_test(tc, what_has_no_end_is_ended, 0, N(endless));
	return suite;
}
