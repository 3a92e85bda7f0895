/*
 * test_inject.c -- calls that are interrupted, do less than asked for, or fail
 * for want of memory or descriptors: the n-th of each in a worker.
 *
 * Each test goes on until it has come to that, and once more; beside it a
 * client on a kept connection is served all the time.
 */
#include "process/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *inject_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))
#define BODY 200000
#define SOON_MS 5000 /* for a request that nothing holds up */

/* For a connection that is never idle: an idle one may be closed for others. */
#define BEGIN "GET /pid HT"
#define END_AND_BEGIN "TP/1.1\r\nHost: t\r\n\r\n" BEGIN

static const int nths[] = {1, 2, 3, 7};

static void
start(struct server *s, const char *app, const char *call, const char *what,
	int nth)
{
	static char preload[300] = "LD_PRELOAD=" NW_BUILD "/tests/inject.so";
	static char order[100];

	snprintf(order, sizeof(order), "INJECT=%s:%s:%d", call, what, nth);
	server_init(s);
	server_listen(s);
	server_ini(s,
		"[timeouts]\nheader-timeout = 60s\n[server]\nbind = fd:3\n"
		"[app]\napp = %s\n",
		app);
	s->prefix[0] = "env";
	s->prefix[1] = preload;
	s->prefix[2] = order;
	s->nprefix = 3;
	server_spawn(s);
	server_wait_ready(s);
}

static bool
is_met(const struct server *s)
{
	return server_count_log(s, "^inject: met$") > 0;
}

static void
begin(struct client *c, const struct server *s)
{
	client_open(c, s);
	client_puts(c, BEGIN);
}

/* End the request that has begun; the next begins, on a new one if lost. */
static bool
ask_on(struct client *c, const struct server *s)
{
	int64_t began = now_ms();
	struct answer a = {0};
	bool good = client_try_send(c, END_AND_BEGIN, strlen(END_AND_BEGIN)) &&
		client_try_read(c, &a, false) && a.status == 200;

	MUST(now_ms() - began < SOON_MS, "it was held up");
	if (!good) {
		client_done(c);
		begin(c, s);
	}
	answer_done(&a);
	return good;
}

/* ---- what no client notices ---- */

/* A request whose head comes in two pieces, with a body. */
static void
post(const struct server *s)
{
	char *body = some_bytes(BODY), want[20];
	struct answer a = {0};
	struct client c;

	client_open(&c, s);
	client_printf(&c,
		"POST /read?size=5000 HTTP/1.1\r\nHost: t\r\n"
		"Content-Length: %d\r\n",
		BODY);
	must_get(s, "/pid", NULL);
	client_puts(&c, "\r\n");
	client_send(&c, body, BODY);
	client_read(&c, &a);
	snprintf(want, sizeof(want), "%d", BODY);
	MUST(a.status == 200 && strcmp(a.body.p, want) == 0, "%s", a.head);
	answer_done(&a);
	client_done(&c);
	free(body);
}

static void
get_bytes(const struct server *s, const char *target, size_t n)
{
	struct answer a;

	get(s, target, &a);
	MUST(a.status == 200 && a.body.n == n, "%s: %d, %zu bytes", target,
		a.status, a.body.n);
	answer_done(&a);
}

static const struct {
	const char *call, *what;
} harmless[] = {
	{"accept4", "EINTR"},
	{"accept4", "EMFILE"},
	{"accept4", "ENFILE"},
	{"accept4", "ENOMEM"},
	{"recv", "EINTR"},
	{"recv", "short"},
	{"sendmsg", "EINTR"},
	{"sendmsg", "short"},
	{"sendfile", "EINTR"},
	{"sendfile", "short"},
	{"poll", "EINTR"},
	{"epoll_wait", "EINTR"},
};

/* All of these calls come up in it. */
static void
ask_for_all(const struct server *s, struct client *beside)
{
	MUST(ask_on(beside, s), "%s", beside->error);
	post(s);
	MUST(ask_on(beside, s), "%s", beside->error);
	get_bytes(s, "/big?n=300000&size=1000", 300000);
	get_bytes(s, "/file?n=5000", 5000);
	MUST(ask_on(beside, s), "%s", beside->error);
}

START_TEST(no_client_notices)
{
	struct client beside;
	struct server s;
	pid_t worker;
	int i;

	if (sanitized())
		return; /* its runtime wants to be the first */
	for (i = 0; i < N(nths); i++) {
		start(&s, APP("probe"), harmless[_i].call, harmless[_i].what,
			nths[i]);
		worker = server_worker(&s);
		begin(&beside, &s);
		do
			ask_for_all(&s, &beside);
		while (!is_met(&s)); /* or for ever, which has its timeout */
		ask_for_all(&s, &beside);
		client_done(&beside);
		MUST(server_worker(&s) == worker, "the worker died");
		MUST(strcmp(harmless[_i].call, "accept4") != 0 ||
				strcmp(harmless[_i].what, "EINTR") == 0 ||
				server_count_log(&s, "cannot accept") == 1,
			"more or less than one line");
		server_stop(&s);
	}
}
END_TEST

/* ---- what one client may notice ---- */

static const char *const scarce[] = {
	"malloc", "epoll_ctl", "recv", "sendmsg", "poll"};

static bool
try_get(const struct server *s)
{
	struct client c;
	bool good;

	begin(&c, s);
	good = ask_on(&c, s);
	client_done(&c);
	return good;
}

/*
 * Parked with half a head, then waited for when it has been told to go on.
 * Returns how many of its two requests were lost.
 */
static int
try_post(const struct server *s)
{
	struct answer a = {0};
	struct client c;
	int lost = 0;

	client_open(&c, s);
	client_puts(&c, "POST / HTTP/1.1\r\nHost: t\r\n");
	lost += !try_get(s);
	client_puts(&c, "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n");
	client_try_fill(&c);
	client_puts(&c, "hello");
	lost += !client_try_read(&c, &a, false) || a.status != 200;
	answer_done(&a);
	client_done(&c);
	return lost;
}

/* A request may fail for it, but nothing else does. */
START_TEST(one_request_at_most_is_lost)
{
	struct client beside;
	struct server s;
	pid_t worker;
	int i, lost;

	if (sanitized())
		return;
	for (i = 0; i < N(nths); i++) {
		start(&s, "so:echo", scarce[_i], "ENOMEM", nths[i]);
		worker = server_worker(&s);
		begin(&beside, &s);
		lost = 0;
		do
			lost += !ask_on(&beside, &s) + try_post(&s);
		while (!is_met(&s));
		/* a kept connection that was lost is noticed late */
		lost += !ask_on(&beside, &s);
		MUST(lost <= 1, "%d were lost", lost);
		lost = !ask_on(&beside, &s) + try_post(&s);
		MUST(lost == 0, "%d more were lost", lost);
		client_done(&beside);
		MUST(server_worker(&s) == worker, "the worker died");
		server_stop(&s);
	}
}
END_TEST

/* A worker that cannot watch its listener for now is back soon. */
START_TEST(no_connection_is_stranded)
{
	struct client c[6];
	struct server s;

	if (sanitized())
		return;
	start(&s, "so:hello\n[server]\nworkers = 2\nkeepalive = 60s", "watch",
		"ENOMEM", 1);
	server_wait_workers(&s, 2);
	for (int i = 0; i < N(c); i++) {
		struct answer a;

		client_open(&c[i], &s);
		client_puts(&c[i], "GET / HTTP/1.1\r\nHost: t\r\n\r\n");
		client_read(&c[i], &a);
		MUST(a.status == 200, "%d: %s", i, a.head);
		answer_done(&a);
	}
	MUST(is_met(&s), "nothing was injected");
	MUST(server_count_log(&s, "cannot accept: Cannot allocate") > 0, "log");
	for (int i = 0; i < N(c); i++)
		client_done(&c[i]);
	server_stop(&s);
}
END_TEST

Suite *
inject_suite(void)
{
	Suite *suite = suite_create("inject");
	TCase *tc = harness_case(suite, "calls");

	tcase_add_loop_test(tc, no_client_notices, 0, N(harmless));
	tcase_add_test(tc, no_connection_is_stranded);
	tcase_add_loop_test(tc, one_request_at_most_is_lost, 0, N(scarce));
	return suite;
}
