/*
 * test_inject.c -- calls that are interrupted, do less than asked for, or fail
 * for want of memory or descriptors: the n-th of each in a worker.
 */
#include "process/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *inject_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))
#define BODY 200000

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
	server_ini(s, "[server]\nbind = fd:3\n[app]\napp = %s\n", app);
	s->prefix[0] = "env";
	s->prefix[1] = preload;
	s->prefix[2] = order;
	s->nprefix = 3;
	server_spawn(s);
	server_wait_ready(s);
}

/* A request whose head comes in two pieces, with a body; may it fail? */
static bool
post(const struct server *s, bool may_fail)
{
	char *body = some_bytes(BODY), want[20];
	struct answer a = {0};
	struct client c;
	bool good;

	client_open(&c, s);
	client_printf(&c,
		"POST /read?size=5000 HTTP/1.1\r\nHost: t\r\n"
		"Content-Length: %d\r\n",
		BODY);
	must_get(s, "/pid", NULL);
	client_puts(&c, "\r\n");
	good = client_try_send(&c, body, BODY) &&
		client_try_read(&c, &a, false);
	snprintf(want, sizeof(want), "%d", BODY);
	good = good && a.status == 200 && strcmp(a.body.p, want) == 0;
	MUST(good || may_fail, "%d %s", a.status, a.head ? a.head : c.error);
	answer_done(&a);
	client_done(&c);
	free(body);
	return good;
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

START_TEST(no_client_notices)
{
	struct server s;
	pid_t worker;
	int i;

	if (sanitized())
		return; /* its runtime wants to be the first */
	for (i = 0; i < N(nths); i++) {
		start(&s, APP("probe"), harmless[_i].call, harmless[_i].what,
			nths[i]);
		worker = server_worker(&s);
		post(&s, false);
		get_bytes(&s, "/big?n=300000&size=1000", 300000);
		get_bytes(&s, "/file?n=5000", 5000);
		post(&s, false);
		MUST(server_worker(&s) == worker, "the worker died");
		if (harmless[_i].what[0] == 'E' &&
			strcmp(harmless[_i].what, "EINTR") != 0) {
			/* how many calls one connection takes may differ */
			while (server_count_log(&s, "cannot accept") == 0)
				must_get(&s, "/pid", NULL);
			MUST(server_count_log(&s, "cannot accept") == 1,
				"more than one line");
		}
		server_stop(&s);
	}
}
END_TEST

static const char *const scarce[] = {
	"malloc", "epoll_ctl", "recv", "sendmsg", "poll"};

/* A request may fail for it, but nothing else does. */
START_TEST(one_request_at_most_is_lost)
{
	struct server s;
	pid_t worker;
	int i, lost;

	if (sanitized())
		return;
	for (i = 0; i < N(nths); i++) {
		start(&s, "so:echo", scarce[_i], "ENOMEM", nths[i]);
		worker = server_worker(&s);
		lost = 0;
		for (int n = 0; n < 10; n++) {
			struct client c;
			struct answer a = {0};

			client_open(&c, &s);
			client_puts(&c, "POST / HTTP/1.1\r\nHost: t\r\n");
			client_puts(&c,
				"Content-Length: 5\r\n\r\n"
				"hello");
			if (!client_try_read(&c, &a, false) || a.status != 200)
				lost++;
			answer_done(&a);
			client_done(&c);
		}
		MUST(lost <= 1, "%d were lost", lost);
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
	MUST(server_count_log(&s, "cannot accept: Cannot allocate") > 0,
		"nothing was injected");
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
