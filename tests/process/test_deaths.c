/*
 * test_deaths.c -- workers that die or take too long: what their clients see,
 * what the log says, and who comes after them.
 */
#include "process/load.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

Suite *deaths_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))
#define PROBE_APP "[app]\napp = " APP("probe") "\n"
#define GET(target) "GET " target " HTTP/1.1\r\nHost: t\r\n\r\n"

/* ---- obituaries ---- */

static const struct {
	const char *target, *cause;
} deaths[] = {
	{"/kill?signal=9", "died.*signal 9 .*in hand: GET /kill"},
	{"/kill?signal=11", "died.*signal 11 .*in hand: GET /kill"},
	{"/kill?signal=6", "died.*signal 6 .*in hand: GET /kill"},
	{"/exit?status=5", "died.*exit 5.*in hand: GET /exit"},
	{"/exit?status=3", "died.*exit 3"}, /* no longer a failed boot */
	{"/exit?status=0", "died.*exit 0.*in hand: GET /exit"},
};

/* The client sees the end of its connection; the next one is served soon. */
START_TEST(death_is_named)
{
	char obituary[200];
	struct server s;
	struct client c;
	int64_t from;
	pid_t pid;

	if (sanitized() && strchr(deaths[_i].target, '1'))
		return; /* the sanitizer makes an exit of that signal */
	server_start(&s, PROBE_APP);
	pid = server_worker(&s);
	client_open(&c, &s);
	client_printf(
		&c, "GET %s HTTP/1.1\r\nHost: t\r\n\r\n", deaths[_i].target);
	client_slurp(&c);
	from = now_ms();
	MUST(c.in.n == 0, "%s", c.in.p);
	client_done(&c);
	snprintf(obituary, sizeof(obituary), "\\[error\\] worker %d .*%s", pid,
		deaths[_i].cause);
	server_wait_log(&s, obituary);
	must_get(&s, "/ok", "probe");
	MUST(now_ms() - from < 5000, "a new worker was long in coming");
	MUST(server_worker(&s) != pid, "the same worker?");
	MUST(server_count_log(&s, deaths[_i].cause) == 1, "named twice");
	server_stop(&s);
}
END_TEST

/* In the middle of a response: nothing but the end follows. */
START_TEST(death_in_mid_stream)
{
	struct server s;
	struct client c;

	server_start(&s, PROBE_APP);
	client_open(&c, &s);
	client_puts(&c, GET("/stream?n=1000&ms=100"));
	client_wait_bytes(&c, 100);
	kill(server_worker(&s), SIGKILL);
	client_slurp(&c);
	MUST(!strstr(c.in.p, "HTTP/1.1 5"), "%s", c.in.p);
	MUST(!strstr(c.in.p, "\r\n0\r\n\r\n"), "it looks whole: %s", c.in.p);
	client_done(&c);
	must_get(&s, "/ok", "probe");
	server_stop(&s);
}
END_TEST

/* Killed from outside, again and again: each is replaced at once. */
START_TEST(killed_under_load)
{
	struct server s;
	pid_t pids[WORKERS_MAX];
	int i;

	server_start(&s, PROBE_APP "[server]\nworkers = 3\n");
	for (i = 0; i < 30; i++) {
		/* all are ready: a death before that is a failed boot */
		UNTIL(server_count_log(&s, "is ready") == 3 + i);
		MUST(server_workers(&s, pids) == 3, "workers");
		kill(pids[i % 3], SIGKILL);
		UNTIL(proc_gone(pids[i % 3]));
		must_get(&s, "/ok", "probe");
	}
	MUST(server_count_log(&s, "die young") == 0, "backed off");
	server_stop(&s);
}
END_TEST

/* ---- timeout ---- */

static const struct {
	const char *request;
	const char *never; /* must not come after the cut */
} overdue[] = {
	{"GET /stream?n=1000&ms=300 HTTP/1.0\r\nHost: t\r\n\r\n", "HTTP/1.1 5"},
	{GET("/stream?n=1000&ms=300"), "\r\n0\r\n\r\n"},
	{GET("/stream?n=1000&ms=300&length=1"), "HTTP/1.1 5"},
	{GET("/spin"), "HTTP"},
	{GET("/stuck"), "HTTP"}, /* by SIGKILL, a second later */
};

START_TEST(application_past_its_time)
{
	struct server s;
	struct client c;

	server_start(&s, PROBE_APP "[timeouts]\ntimeout = 1s\n");
	client_open(&c, &s);
	client_puts(&c, overdue[_i].request);
	client_slurp(&c);
	if (c.in.p)
		MUST(!strstr(c.in.p, overdue[_i].never), "%s", c.in.p);
	MUST(count_matches(c.in.p ? c.in.p : "", "^HTTP/1.1 ") <= 1, "%s",
		c.in.p);
	client_done(&c);
	/* the log names worker, method, target, peer, seconds */
	server_wait_log(&s,
		"worker [0-9]+ .*timeout.*GET /s[a-z]+.*"
		"127\\.0\\.0\\.1.* 1\\.[0-9]+ s");
	must_get(&s, "/ok", "probe");
	server_stop(&s);
}
END_TEST

/* Waiting for the client is not the application's time. */
START_TEST(waiting_for_the_client_does_not_count)
{
	struct server s;
	struct client c;
	struct answer a;
	int64_t until;
	pid_t pid;

	server_start(&s, "[app]\napp = so:upload\n[timeouts]\ntimeout = 1s\n");
	pid = server_worker(&s);
	client_open(&c, &s);
	client_puts(&c,
		"POST / HTTP/1.1\r\nHost: t\r\n"
		"Content-Length: 1000000\r\n\r\n");
	for (until = now_ms() + 2500; now_ms() < until; nap())
		client_puts(&c, "x");
	client_shut(&c);
	client_slurp(&c);
	client_done(&c);
	MUST(server_worker(&s) == pid, "the worker was aborted");
	get(&s, "/", &a);
	MUST(a.status == 200, "%s", a.head);
	server_stop(&s);
}
END_TEST

/* ---- other people's children ---- */

/*
 * As PID 1 it reaps orphans, takes none of them for a worker, and only who
 * looks for faults is told.
 */
START_TEST(orphans_are_reaped)
{
	pid_t pids[WORKERS_MAX], pid;
	struct server s;
	int n, i, before;

	server_init(&s);
	server_listen(&s);
	server_ini(&s,
		"[server]\nbind = fd:3\n" PROBE_APP
		"[log]\nlog-level = debug\n");
	s.subreaper = true;
	server_spawn(&s);
	server_wait_ready(&s);
	server_wait_log(&s, "is ready");
	before = server_count_log(&s, "\\[(info|warning|error)\\]");
	pid = server_worker(&s);
	for (i = 0; i < 5; i++)
		must_get(&s, "/orphan", "orphaned");
	/* each shows up as a child and goes again, none as a zombie */
	UNTIL((n = server_workers(&s, pids)) == 1);
	MUST(pids[0] == pid, "another worker");
	UNTIL(server_count_log(&s, "\\[debug\\] reaped process") == 5);
	MUST(server_count_log(&s, "\\[(info|warning|error)\\]") == before,
		"more is said of orphans");
	must_get(&s, "/ok", "probe");
	server_stop(&s);
}
END_TEST

/* The application's own children are the application's. */
START_TEST(children_of_the_application)
{
	struct server s;
	struct answer a;
	int i;

	server_start(&s, PROBE_APP);
	for (i = 0; i < 20; i++)
		must_get(&s, "/system", "7");
	get(&s, "/masks", &a);
	MUST(count_matches(a.body.p, "SigBlk:\t0000000000000000") == 1, "%s",
		a.body.p);
	/* glibc's posix_spawn ignores its own signals 32 and 33 */
	MUST(count_matches(a.body.p, "SigIgn:\t0000000[01][08]0000000") == 1,
		"%s", a.body.p);
	server_stop(&s);
}
END_TEST

/* ---- the wall clock ---- */

/* Steps of an hour kill nobody; the log's stamps go along. */
START_TEST(clock_steps)
{
	static char path[300], preload[400];
	const int64_t steps[] = {3600, -3600, 0};
	struct server s;
	struct client c, idle;
	struct answer a;
	volatile int64_t *step;
	int fd, i;
	pid_t pid;

	if (sanitized())
		return; /* its runtime wants to be loaded first */
	server_init(&s);
	server_listen(&s);
	write_file(server_path(&s, "step"), "\0\0\0\0\0\0\0", 8);
	fd = open(server_path(&s, "step"), O_RDWR | O_CLOEXEC);
	step = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	snprintf(path, sizeof(path), "WALLCLOCK=%s", server_path(&s, "step"));
	snprintf(preload, sizeof(preload),
		"LD_PRELOAD=" NW_BUILD "/tests/wallclock.so");
	s.prefix[s.nprefix++] = "env";
	s.prefix[s.nprefix++] = path;
	s.prefix[s.nprefix++] = preload;
	server_ini(&s,
		"[server]\nbind = fd:3\n" PROBE_APP
		"[timeouts]\ntimeout = 3s\nheader-timeout = 20s\n");
	server_spawn(&s);
	server_wait_ready(&s);
	pid = server_worker(&s);
	client_open(&idle, &s);
	for (i = 0; i < N(steps); i++) {
		client_open(&c, &s);
		client_puts(&c, GET("/sleep?ms=300"));
		server_wait_log(&s, "probe: sleeping");
		*step = steps[i];
		client_read(&c, &a);
		MUST(strcmp(a.body.p, "slept") == 0, "%s", a.head);
		client_done(&c);
		must_get(&s, "/ok", "probe");
	}
	MUST(server_worker(&s) == pid, "the worker was killed");
	client_puts(&idle, GET("/ok")); /* it was not timed out, either */
	client_read(&idle, &a);
	*step = 366 * 24 * 3600;
	get(&s, "/ok", &a);
	MUST(a.status == 200, "%s", a.head);
	server_signal(&s, SIGUSR1);
	server_wait_log(&s, "reopened");
	MUST(strncmp(s.line, "[20", 3) == 0 &&
			atoi(s.line + 1) > 1970 + time(NULL) / 31557600,
		"the stamp is still %s", s.line);
	server_stop(&s);
}
END_TEST

Suite *
deaths_suite(void)
{
	Suite *suite = suite_create("deaths");
	TCase *tc = harness_case(suite, "obituaries");

	tcase_add_loop_test(tc, death_is_named, 0, N(deaths));
	tcase_add_test(tc, death_in_mid_stream);
	tcase_add_test(tc, killed_under_load);
	tc = harness_case(suite, "timeout");
	tcase_add_loop_test(tc, application_past_its_time, 0, N(overdue));
	tcase_add_test(tc, waiting_for_the_client_does_not_count);
	tc = harness_case(suite, "children");
	tcase_add_test(tc, orphans_are_reaped);
	tcase_add_test(tc, children_of_the_application);
	tc = harness_case(suite, "clock");
	tcase_add_test(tc, clock_steps);
	return suite;
}
