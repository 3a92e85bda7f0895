/*
 * test_signals.c -- what each signal does to the master and to a worker.
 *
 * SOAK=1 repeats the race of starting and stopping 200 times.
 */
#include "process/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *signals_suite(void);

#define PROBE_APP "[app]\napp = " APP("probe") "\n"
#define GET(target) "GET " target " HTTP/1.1\r\nHost: t\r\n\r\n"

/* ---- stop ---- */

static void
open_address(struct client *c, const struct server *s, int how, int port)
{
	if (how == 0)
		client_open_port(c, port);
	else if (how == 1)
		client_open_unix(c, server_path(s, "socket"));
	else
		client_open(c, s);
}

/*
 * The request that runs and the one in the listen queue are both answered,
 * what is pipelined behind the first is not; then nobody listens any more.
 */
START_TEST(term_answers_what_is_there)
{
	struct client running, queued, late;
	int port = free_port();
	struct server s;
	struct answer a;

	server_init(&s);
	server_listen(&s);
	server_ini(&s,
		"[server]\nbind = fd:3, 127.0.0.1:%d, unix:%s\n" PROBE_APP,
		port, server_path(&s, "socket"));
	server_spawn(&s);
	server_wait_ready(&s);
	open_address(&running, &s, _i, port);
	client_puts(&running, GET("/sleep?ms=700") GET("/pid"));
	server_wait_log(&s, "probe: sleeping");
	open_address(&queued, &s, _i, port);
	client_puts(&queued, GET("/pid"));
	server_signal(&s, SIGTERM);
	server_wait_log(&s, "stopping: ");
	client_read(&running, &a);
	MUST(strcmp(a.body.p, "slept") == 0 && a.close, "%s", a.head);
	client_read(&queued, &a);
	MUST(a.status == 200 && a.close, "%s", a.head);
	client_wait_eof(&running);
	client_wait_eof(&queued);
	MUST(server_wait_exit(&s) == 0, "exit status");
	MUST(!client_try_port(&late, port, 0), "somebody listens on");
	MUST(access(server_path(&s, "socket"), F_OK) == -1, "socket left");
	client_done(&running);
	client_done(&queued);
	server_done(&s);
}
END_TEST

/* ABRT and KILL are for those who do not leave in time. */
START_TEST(graceful_timeout)
{
	struct server s;
	struct client c;

	server_start(&s, PROBE_APP "[timeouts]\ngraceful-timeout = 2s\n");
	client_open(&c, &s);
	client_puts(&c, GET("/sleep?ms=100000"));
	server_wait_log(&s, "probe: sleeping");
	server_signal(&s, SIGTERM);
	MUST(server_wait_exit(&s) == 0, "exit status");
	server_wait_log(&s, "has not left in time.*signal 6");
	client_wait_eof(&c);
	client_done(&c);
	server_done(&s);
}
END_TEST

/* The terminal sends INT to all: a worker leaves it to the master. */
START_TEST(int_to_the_whole_group)
{
	pid_t pids[WORKERS_MAX];
	struct server s;
	int n, i;

	server_start(&s, PROBE_APP "[server]\nworkers = 3\n");
	server_wait_workers(&s, 3);
	n = server_workers(&s, pids);
	for (i = 0; i < n; i++) {
		kill(pids[i], SIGINT);
		kill(pids[i], SIGHUP);
		kill(pids[i], SIGUSR1);
		kill(pids[i], SIGUSR2);
		kill(pids[i], SIGWINCH);
	}
	must_get(&s, "/ok", "probe");
	for (i = 0; i < n; i++)
		MUST(!proc_gone(pids[i]), "a worker heeded a signal");
	server_signal(&s, SIGINT);
	MUST(server_wait_exit(&s) == 0, "exit status");
	server_done(&s);
}
END_TEST

/* Sent to a worker: it finishes its request, leaves, and is replaced. */
START_TEST(term_to_a_worker)
{
	struct server s;
	struct client c;
	struct answer a;
	pid_t pid;

	server_start(&s, PROBE_APP);
	pid = server_worker(&s);
	client_open(&c, &s);
	client_puts(&c, GET("/sleep?ms=300"));
	server_wait_log(&s, "probe: sleeping");
	kill(pid, SIGTERM);
	client_read(&c, &a);
	MUST(strcmp(a.body.p, "slept") == 0 && a.close, "%s", a.head);
	UNTIL(proc_gone(pid));
	must_get(&s, "/ok", "probe");
	MUST(server_count_log(&s, "\\[error\\]") == 0, "it is no error");
	server_stop(&s);
}
END_TEST

START_TEST(quit_to_a_worker)
{
	struct server s;
	struct client c;
	pid_t pid;

	server_start(&s, PROBE_APP);
	pid = server_worker(&s);
	client_open(&c, &s);
	client_puts(&c, GET("/sleep?ms=100000"));
	server_wait_log(&s, "probe: sleeping");
	kill(pid, SIGQUIT);
	client_wait_eof(&c);
	must_get(&s, "/ok", "probe");
	server_stop(&s);
}
END_TEST

/* ---- TTIN, TTOU ---- */

START_TEST(more_and_fewer_workers)
{
	struct server s;

	server_start(&s, PROBE_APP "[server]\nworkers = 2\n");
	server_wait_workers(&s, 2);
	server_signal(&s, SIGTTIN);
	server_wait_workers(&s, 3);
	server_reload(&s, PROBE_APP "[server]\nworkers = 2\nkeepalive = 3s\n");
	server_wait_workers(&s, 3); /* kept: `workers` did not change */
	server_signal(&s, SIGTTOU);
	server_wait_workers(&s, 2);
	server_signal(&s, SIGTTOU);
	server_wait_workers(&s, 1);
	server_signal(&s, SIGTTOU);
	server_wait_log(&s, "1 workers? (is|are) wanted, that stays so");
	server_wait_workers(&s, 1);
	server_reload(&s, PROBE_APP "[server]\nworkers = 4\n");
	server_wait_workers(&s, 4);
	must_get(&s, "/ok", "probe");
	server_stop(&s);
}
END_TEST

/* ---- a signal sooner than the handlers ---- */

static void
delay_us(int us)
{
	int64_t until = now_us() + us;

	while (now_us() < until)
		;
}

/*
 * TERM some moments after exec.  A process that has installed no handler yet
 * may die of it; one that has said something must end in order.  Either way
 * nobody is left.
 */
START_TEST(term_while_starting)
{
	int n = soak() ? 200 : 40, i, status;
	struct server s;
	int64_t from;

	for (i = 0; i < n; i++) {
		server_init(&s);
		server_listen(&s);
		server_ini(&s,
			"[server]\nbind = fd:3\nworkers = 8\n"
			"[timeouts]\ngraceful-timeout = 5s\n%s",
			_i == 1 ? "[app]\napp = " APP(
					  "slowopen") "\n[options]\nms = 1000\n"
				: PROBE_APP);
		server_spawn(&s);
		delay_us(i * 60000 / n);
		if (_i == 2)
			server_signal(&s, SIGHUP);
		server_signal(&s, SIGTERM);
		from = now_ms();
		status = server_wait_exit(&s);
		MUST(now_ms() - from < 20000, "beyond graceful-timeout");
		MUST(status == 0 ||
				(status >= 128 &&
					server_count_log(&s, "starts") == 0),
			"exit status %d after %d us", status, i * 60000 / n);
		server_done(&s);
	}
}
END_TEST

/* ---- the master is killed ---- */

static int
count_gone(const pid_t *pids, int n)
{
	int gone = 0;

	while (n-- > 0)
		gone += proc_gone(pids[n]);
	return gone;
}

/*
 * The idle ones leave at once, the busy one after its request, which lasts
 * until they have gone; then the port is free.
 */
START_TEST(master_killed)
{
	int port = free_port(), n;
	pid_t pids[WORKERS_MAX];
	struct server s, next;
	struct client c;
	struct answer a;
	int64_t from;

	server_init(&s);
	server_ini(&s, "[server]\nbind = 127.0.0.1:%d\nworkers = 3\n" PROBE_APP,
		port);
	server_spawn(&s);
	server_wait_ready(&s);
	UNTIL(server_count_log(&s, "is ready") == 3);
	n = server_workers(&s, pids);
	client_open_port(&c, port);
	client_puts(&c,
		"POST /read HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n1");
	server_wait_log(&s, "probe: reading");
	server_signal(&s, SIGKILL);
	server_wait_exit(&s);
	from = now_ms();
	UNTIL(count_gone(pids, n) >= n - 1);
	MUST(now_ms() - from < 10000, "the idle ones took their time");
	client_puts(&c, "2");
	client_read(&c, &a);
	MUST(strcmp(a.body.p, "2") == 0 && a.close, "%s", a.head);
	UNTIL(count_gone(pids, n) == n);
	server_init(&next);
	server_ini(&next, "[server]\nbind = 127.0.0.1:%d\n" PROBE_APP, port);
	server_spawn(&next);
	server_wait_ready(&next);
	server_stop(&next);
	client_done(&c);
	server_done(&s);
}
END_TEST

Suite *
signals_suite(void)
{
	Suite *suite = suite_create("signals");
	TCase *tc = harness_case(suite, "stop");

	tcase_add_loop_test(tc, term_answers_what_is_there, 0, 3);
	tcase_add_test(tc, graceful_timeout);
	tcase_add_test(tc, int_to_the_whole_group);
	tcase_add_test(tc, term_to_a_worker);
	tcase_add_test(tc, quit_to_a_worker);
	tc = harness_case(suite, "count");
	tcase_add_test(tc, more_and_fewer_workers);
	tc = harness_case(suite, "races");
	tcase_add_loop_test(tc, term_while_starting, 0, 3);
	tcase_add_test(tc, master_killed);
	return suite;
}
