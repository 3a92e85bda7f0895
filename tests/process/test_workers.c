/*
 * test_workers.c -- which connection a worker takes: silent and dripping ones
 * hold nobody, none waits while a worker is idle, and each is kept as long as
 * was agreed.
 */
#include "process/load.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

Suite *workers_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))
#define PROBE_APP "[app]\napp = " APP("probe") "\n"
#define GET(target) "GET " target " HTTP/1.1\r\nHost: t\r\n\r\n"

static void
raise_fd_limit(void)
{
	struct rlimit l;

	getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

static bool
has_bytes(const struct client *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

/* ---- who says nothing ---- */

static const char *const little[] = {"", "GET / HT", "GET / HTTP/1.1\r\nHos"};

START_TEST(silent_client_holds_nobody)
{
	struct client silent;
	struct server s;

	server_start(&s,
		PROBE_APP "[timeouts]\nheader-timeout = 1s\n"
			  "timeout = 10s\n");
	client_open(&silent, &s);
	client_puts(&silent, little[_i]);
	must_get(&s, "/ok", "probe");
	MUST(!has_bytes(&silent), "the silent one was closed early");
	client_slurp(&silent); /* 408, or closed without a word */
	if (_i > 0)
		MUST(strncmp(silent.in.p, "HTTP/1.1 408 ", 13) == 0, "%s",
			silent.in.p);
	MUST(server_count_log(&s, "worker .* (died|left|aborted)") == 0,
		"the worker was killed");
	client_done(&silent);
	server_stop(&s);
}
END_TEST

/* ---- a thousand silent ones and two hundred that drip ---- */

struct crowd {
	struct client *c;
	int n;
	atomic_bool stop;
	pthread_t thread;
};

/* A byte of a field to each, ten times a second. */
static void *
drip(void *arg)
{
	struct crowd *d = arg;
	int i;

	while (!atomic_load(&d->stop)) {
		for (i = 0; i < d->n; i++)
			send(d->c[i].fd, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		poll(NULL, 0, 100);
	}
	return NULL;
}

static void
gather(struct crowd *d, const struct server *s, int n, const char *text)
{
	int i;

	d->n = n;
	d->c = calloc((size_t)n, sizeof(d->c[0]));
	atomic_init(&d->stop, false);
	for (i = 0; i < n; i++) {
		client_open(&d->c[i], s);
		client_puts(&d->c[i], text);
	}
}

static int
by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int64_t
median_of_requests(const struct server *s)
{
	int64_t took[51];
	int i;

	for (i = 0; i < N(took); i++) {
		took[i] = now_us();
		must_get(s, "/ok", "probe");
		took[i] = now_us() - took[i];
	}
	qsort(took, N(took), sizeof(took[0]), by_value);
	return took[N(took) / 2];
}

START_TEST(silent_and_dripping_crowd)
{
	struct crowd silent, dripping;
	int64_t before, after;
	struct server s;
	struct answer a;
	int i;

	raise_fd_limit();
	server_start(&s,
		PROBE_APP "[server]\nworkers = 2\n"
			  "worker-connections = 1500\n"
			  "[timeouts]\nheader-timeout = 3s\n");
	server_wait_workers(&s, 2);
	before = median_of_requests(&s);
	gather(&silent, &s, 1000, "");
	gather(&dripping, &s, 200, "GET / HTTP/1.1\r\nHost: t\r\nX-Slow: ");
	pthread_create(&dripping.thread, NULL, drip, &dripping);
	after = median_of_requests(&s);
	MUST(after < 3 * before + 3000, "median %lld us, %lld without them",
		(long long)after, (long long)before);
	for (i = 0; i < dripping.n; i++) {
		MUST(client_try_read(&dripping.c[i], &a, false),
			"dripper %d: %s", i, dripping.c[i].error);
		MUST(a.status == 408, "dripper %d: %d", i, a.status);
		answer_done(&a);
	}
	atomic_store(&dripping.stop, true);
	pthread_join(dripping.thread, NULL);
	for (i = 0; i < silent.n; i++) /* and their time is over, too */
		while (client_try_fill(&silent.c[i]))
			;
	for (i = 0; i < silent.n; i++)
		MUST(silent.c[i].eof || silent.c[i].reset, "still open");
	must_get(&s, "/ok", "probe");
	server_stop(&s);
}
END_TEST

/* ---- nobody waits while a worker is idle ---- */

static void
ask_quickly(const struct client *busy, struct client *quick)
{
	struct answer a;

	client_read(quick, &a);
	MUST(strcmp(a.body.p, "probe") == 0, "%s", a.body.p);
	MUST(!has_bytes(busy), "the quick one waited for the busy one");
	client_done(quick);
	answer_done(&a);
}

/* One worker is busy; a connection comes, on whichever listener. */
static void
one_is_busy(struct server *s, int busy_on, int quick_on)
{
	struct client busy, quick;
	struct answer a;

	client_open_nth(&busy, s, busy_on);
	client_puts(&busy, GET("/sleep?ms=400"));
	server_wait_log(s, "probe: sleeping");
	client_open_nth(&quick, s, quick_on);
	client_puts(&quick, GET("/ok"));
	ask_quickly(&busy, &quick);
	client_read(&busy, &a);
	client_done(&busy);
}

/* Both wait in listen queues when the workers look. */
static void
both_are_queued(struct server *s, int busy_on, int quick_on)
{
	struct client busy, quick;
	pid_t pids[WORKERS_MAX];
	int n = server_workers(s, pids), i;
	struct answer a;

	for (i = 0; i < n; i++)
		kill(pids[i], SIGSTOP);
	client_open_nth(&busy, s, busy_on);
	client_puts(&busy, GET("/sleep?ms=400"));
	client_open_nth(&quick, s, quick_on);
	client_puts(&quick, GET("/ok"));
	for (i = 0; i < n; i++)
		kill(pids[i], SIGCONT);
	ask_quickly(&busy, &quick);
	client_read(&busy, &a);
	client_done(&busy);
}

START_TEST(no_connection_is_stranded)
{
	int listeners = _i % 2 ? 3 : 1, i;
	struct server s;

	server_init(&s);
	for (i = 0; i < listeners; i++)
		server_listen(&s);
	server_ini(&s, "[server]\nbind = fd:3%s\nworkers = 2\n" PROBE_APP,
		listeners == 3 ? " fd:4 fd:5" : "");
	server_spawn(&s);
	server_wait_ready(&s);
	server_wait_log(&s, "is ready");
	server_wait_log(&s, "is ready");
	for (i = 0; i < (soak() ? 200 : 9); i++)
		(_i < 2 ? one_is_busy : both_are_queued)(
			&s, i % listeners, i / 3 % listeners);
	server_stop(&s);
}
END_TEST

/* ---- kept connections ---- */

/* Each has its answer long before a kept connection would be given up. */
static void
ask_each(struct client *c, int n)
{
	int64_t from = now_ms();
	struct answer a;
	int i;

	for (i = 0; i < n; i++)
		client_puts(&c[i], GET("/ok"));
	for (i = 0; i < n; i++) {
		client_read(&c[i], &a);
		MUST(a.status == 200 && !a.close, "%s", a.head);
		answer_done(&a);
	}
	MUST(now_ms() - from < 5000, "%d clients: %lld ms", n,
		(long long)(now_ms() - from));
}

START_TEST(kept_connections_starve_nobody)
{
	struct client kept[40];
	struct server s;
	struct load *l;
	int i;

	server_start(&s, PROBE_APP "[server]\nworkers = 2\nkeepalive = 30s\n");
	for (i = 0; i < N(kept); i++) {
		client_open(&kept[i], &s);
		ask_each(&kept[i], 1);
	}
	for (i = 0; i < (soak() ? 20 : 3); i++) {
		poll(NULL, 0, soak() ? 1000 : 100); /* all of them are idle */
		ask_each(kept, N(kept));
	}
	for (i = 0; i < N(kept); i++)
		client_done(&kept[i]);
	l = load_start(server_port(&s, 0), 40, "/ok");
	UNTIL(load_count(l) > 2000);
	load_stop(l);
	server_stop(&s);
}
END_TEST

START_TEST(idle_connection_is_closed)
{
	struct client c;
	struct server s;
	struct answer a;

	server_start(
		&s, PROBE_APP "[server]\nkeepalive = %s\n", _i ? "300ms" : "0");
	client_open(&c, &s);
	client_puts(&c, GET("/ok"));
	client_read(&c, &a);
	MUST(a.close == (_i == 0), "%s", a.head);
	client_wait_eof(&c);
	client_done(&c);
	server_stop(&s);
}
END_TEST

/* Beyond worker-connections the oldest idle one has to go. */
START_TEST(oldest_idle_connection_goes)
{
	struct client c[15];
	struct server s;
	int i;

	server_start(&s, PROBE_APP "[server]\nworker-connections = 10\n");
	for (i = 0; i < N(c); i++) {
		client_open(&c[i], &s);
		if (i < 6) {
			struct answer a;

			client_puts(&c[i], GET("/ok"));
			client_read(&c[i], &a);
		}
	}
	must_get(&s, "/ok", "probe");
	for (i = 0; i < 6; i++)
		client_wait_eof(&c[i]);
	for (i = 6; i < N(c); i++) {
		struct answer a;

		client_puts(&c[i], GET("/ok"));
		client_read(&c[i], &a);
		MUST(a.status == 200, "connection %d", i);
	}
	server_stop(&s);
}
END_TEST

/* With heads begun on all of them the worker does not accept. */
START_TEST(no_room_no_accept)
{
	struct client c[5], last;
	struct server s;
	struct answer a;
	int i;

	server_start(&s, PROBE_APP "[server]\nworker-connections = 5\n");
	for (i = 0; i < N(c); i++) {
		client_open(&c[i], &s);
		client_puts(&c[i], "GET /ok HTTP/1.1\r\n");
	}
	client_open(&last, &s);
	client_puts(&last, GET("/ok"));
	client_puts(&c[2], "Host: t\r\nConnection: close\r\n\r\n");
	client_read(&c[2], &a); /* makes room for the last one */
	client_done(&c[2]);
	client_read(&last, &a);
	MUST(a.status == 200, "%s", a.head);
	for (i = 0; i < N(c); i++) {
		if (i == 2)
			continue;
		client_puts(&c[i], "Host: t\r\n\r\n");
		client_read(&c[i], &a);
		MUST(a.status == 200, "connection %d", i);
	}
	server_stop(&s);
}
END_TEST

/* ---- max-requests ---- */

START_TEST(worker_is_retired_after_so_many)
{
	char left[100];
	struct client c;
	struct server s;
	struct answer a;
	int i;

	server_start(&s, PROBE_APP "[server]\nmax-requests = 3\n");
	snprintf(left, sizeof(left), "\\[info\\] worker %d .* left .*: exit 0",
		server_worker(&s));
	client_open(&c, &s);
	for (i = 1; i <= 3; i++) {
		client_puts(&c, GET("/ok"));
		client_read(&c, &a);
		MUST(a.close == (i == 3), "%d: %s", i, a.head);
	}
	client_wait_eof(&c);
	client_done(&c);
	server_wait_log(&s, left);
	for (i = 0; i < 20; i++)
		must_get(&s, "/ok", "probe");
	MUST(server_count_log(&s, "\\[error\\]") == 0, "it is no error");
	server_stop(&s);
}
END_TEST

START_TEST(never_is_never_whatever_the_jitter)
{
	struct server s;
	pid_t pid;
	int i;

	server_start(&s,
		PROBE_APP "[server]\nmax-requests = 0\n"
			  "max-requests-jitter = 10\n");
	pid = server_worker(&s);
	for (i = 0; i < 200; i++)
		must_get(&s, "/ok", "probe");
	MUST(server_worker(&s) == pid, "another worker");
	server_stop(&s);
}
END_TEST

/* No client notices that workers come and go. */
START_TEST(retiring_under_load)
{
	struct server s;
	struct load *l;

	server_start(&s,
		PROBE_APP "[server]\nworkers = 2\nmax-requests = 50\n"
			  "max-requests-jitter = 20\n");
	l = load_start(server_port(&s, 0), 8, "/ok");
	UNTIL(load_count(l) > 2000);
	load_stop(l);
	server_stop(&s);
}
END_TEST

/* ---- all workers busy ---- */

/* NULL, or what went wrong. */
static void *
one_request(void *arg)
{
	static char no_connection[] = "no connection",
		    no_answer[] = "no answer";

	struct client c;
	struct answer a;
	int *port = arg;
	bool good;

	if (!client_try_port(&c, *port, 0))
		return no_connection;
	good = client_try_send(
		       &c, GET("/sleep?ms=50"), strlen(GET("/sleep?ms=50"))) &&
		client_try_read(&c, &a, false) && a.status == 200;
	client_done(&c);
	return good ? NULL : no_answer;
}

/* The backlog is what was configured; a burst beyond it waits outside. */
START_TEST(burst_beyond_the_backlog)
{
	pthread_t threads[40];
	struct server s;
	int port = free_port(), i, wrong = 0;
	void *why;

	server_init(&s);
	server_ini(&s,
		"[server]\nbind = 127.0.0.1:%d\nbacklog = 4\n"
		"workers = 2\n" PROBE_APP,
		port);
	server_trace(&s, "trace=listen");
	server_spawn(&s);
	server_wait_ready(&s);
	for (i = 0; i < N(threads); i++)
		pthread_create(&threads[i], NULL, one_request, &port);
	for (i = 0; i < N(threads); i++) {
		pthread_join(threads[i], &why);
		wrong += why != NULL;
	}
	MUST(wrong == 0, "%d of 40 were not answered", wrong);
	why = one_request(&port);
	MUST(!why, "afterwards: %s", (char *)why);
	server_signal(&s, SIGTERM);
	MUST(server_wait_exit(&s) == 0, "exit status");
	shell(&s, "grep -q 'listen([0-9]*, 4)' trace");
	server_done(&s);
}
END_TEST

/* Clients that come faster than they are taken: the log says so, once. */
START_TEST(full_queue_is_told)
{
	struct server s;
	struct client busy, waits[4];
	int i, port = free_port();

	server_init(&s);
	server_ini(&s,
		"[server]\nbind = 127.0.0.1:%d\nbacklog = 1\n"
		"workers = 1\n" PROBE_APP,
		port);
	server_spawn(&s);
	server_wait_ready(&s);
	MUST(client_try_port(&busy, port, 0), "connect");
	client_puts(&busy, GET("/sleep?ms=2500"));
	server_wait_log(&s, "probe: sleeping");
	for (i = 0; i < 2; i++)
		MUST(client_try_port(&waits[i], port, 0), "connect %d", i);
	server_wait_log(&s, "the listen queue of .* is full, 2 connections");
	for (i = 0; i < 2; i++)
		client_done(&waits[i]);
	client_done(&busy);
	server_stop(&s);
}
END_TEST

/* ---- who waits, and leaves ---- */

#define CALL GET("/sleep?ms=0") /* which the log tells */
#define CALLS "probe: sleeping"
#define LEAVE 10

/* A request, and the end of its client's side. */
static void
ask_and_end(struct client *c, const char *request)
{
	client_puts(c, request);
	client_shut(c);
}

static void
must_end_with(struct client *c, int status, int interim)
{
	struct answer a;

	client_read(c, &a);
	MUST(a.status == status && a.interim == interim, "%s", a.head);
	answer_done(&a);
	client_wait_eof(c);
	client_done(c);
}

/*
 * Those who left while the worker was busy are not served one by one.  A close
 * looks like the end of what a client sends: who only did that is answered.
 */
START_TEST(who_left_is_not_served)
{
	static const struct {
		const char *request;
		int status, interim;
	} rows[] = {
		{CALL, 200, 0},
		{GET("/hints"), 200, 1},
		{GET("/fail"), 500, 0},
		{GET("/file"), 200, 0},
		{"GET / HTTP/2.0\r\n\r\n", 505, 0},
	};
	struct client busy, ends[N(rows)], leaves[LEAVE], kept[2], local[2];
	struct answer a;
	struct server s;
	char path[128];
	int i;

	server_init(&s);
	server_listen(&s);
	snprintf(path, sizeof(path), "%s", server_path(&s, "socket"));
	server_ini(&s, "[server]\nbind = fd:3, unix:%s\n" PROBE_APP, path);
	server_spawn(&s);
	server_wait_ready(&s);
	for (i = 0; i < 2; i++) {
		client_open(&kept[i], &s);
		client_puts(&kept[i], GET("/ok"));
		client_read(&kept[i], &a);
		answer_done(&a);
	}
	client_open(&busy, &s);
	client_puts(&busy,
		"POST /read HTTP/1.1\r\nHost: t\r\n"
		"Content-Length: 1\r\n\r\n");
	server_wait_log(&s, "probe: reading");
	for (i = 0; i < 2; i++) {
		client_open_unix(&local[i], path);
		ask_and_end(&kept[i], CALL);
		ask_and_end(&local[i], CALL);
	}
	for (i = 0; i < LEAVE; i++) {
		client_open(&leaves[i], &s);
		ask_and_end(&leaves[i], CALL);
		client_done(&leaves[i]);
	}
	client_done(&kept[0]);
	client_done(&local[0]);
	for (i = 0; i < N(rows); i++) {
		client_open(&ends[i], &s);
		ask_and_end(&ends[i], rows[i].request);
	}
	poll(NULL, 0, 200); /* for less nobody is taken to have left */
	client_puts(&busy, "1");
	client_read(&busy, &a);
	MUST(a.status == 200, "%s", a.head);
	answer_done(&a);
	client_done(&busy);
	for (i = 0; i < N(rows); i++)
		must_end_with(&ends[i], rows[i].status, rows[i].interim);
	must_end_with(&kept[1], 200, 0);
	must_end_with(&local[1], 200, 0);
	i = server_count_log(&s, CALLS);
	MUST(i == 3, "%d calls of the application", i);
	server_stop(&s);
}
END_TEST

Suite *
workers_suite(void)
{
	Suite *suite = suite_create("workers");
	TCase *tc = harness_case(suite, "silence");

	tcase_add_loop_test(tc, silent_client_holds_nobody, 0, N(little));
	tcase_add_test(tc, silent_and_dripping_crowd);
	tc = harness_case(suite, "waking");
	tcase_add_loop_test(tc, no_connection_is_stranded, 0, 4);
	tc = harness_case(suite, "keeping");
	tcase_add_test(tc, kept_connections_starve_nobody);
	tcase_add_loop_test(tc, idle_connection_is_closed, 0, 2);
	tcase_add_test(tc, oldest_idle_connection_goes);
	tcase_add_test(tc, no_room_no_accept);
	tc = harness_case(suite, "retiring");
	tcase_add_test(tc, worker_is_retired_after_so_many);
	tcase_add_test(tc, never_is_never_whatever_the_jitter);
	tcase_add_test(tc, retiring_under_load);
	tc = harness_case(suite, "burst");
	tcase_add_test(tc, burst_beyond_the_backlog);
	tcase_add_test(tc, full_queue_is_told);
	tc = harness_case(suite, "leaving");
	tcase_add_test(tc, who_left_is_not_served);
	return suite;
}
