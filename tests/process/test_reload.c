/*
 * test_reload.c -- SIGHUP puts a new configuration into force whole, or not at
 * all, and no client notices.
 *
 * SOAK=1 sends the 50 signals where otherwise 12 do.
 */
#include "process/load.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Suite *reload_suite(void);

static void
must_serve(const struct server *s, const char *key, const char *value)
{
	char target[100];

	snprintf(target, sizeof(target), "/setting?%s", key);
	must_get(s, target, value);
}

/* HUP with this text after the bind, and what the log says of it. */
static void
hup(struct server *s, const char *text, const char *outcome)
{
	server_ini(s, "[server]\nbind = fd:3\n%s", text);
	server_signal(s, SIGHUP);
	server_wait_log(s, outcome);
}

/* ---- the first test a reload has to pass ---- */

#define PROBE_APP "[app]\napp = " APP("probe") "\n"

START_TEST(broken_broken_mended)
{
	struct server s;
	struct load *l;

	server_start(&s, PROBE_APP "[options]\ncolour = old\n");
	l = load_start(server_port(&s, 0), 4, "/option?colour");
	hup(&s, PROBE_APP "[options]\ncolour = new\n[server]\nwrokers = 2\n",
		REFUSED);
	MUST(server_count_log(&s, "narwhal\\.ini:8: wrokers: ") == 1, "log");
	must_get(&s, "/option?colour", "old");
	hup(&s, "[app]\napp = " APP("openfails") "\n[options]\ncolour = new\n",
		REFUSED);
	MUST(server_count_log(&s, "no luck today") == 1, "log");
	must_get(&s, "/option?colour", "old");
	hup(&s, PROBE_APP "[options]\ncolour = new\n", RELOADED);
	must_get(&s, "/option?colour", "new");
	load_stop(l);
	server_stop(&s);
}
END_TEST

/* ---- every key ---- */

static const char *const keys[][2] = {
	{"keepalive = 7s\n", "keepalive"},
	{"worker-connections = 77\n", "worker-connections"},
	{"max-requests = 7777\n", "max-requests"},
	{"backlog = 77\n", "backlog"},
	{"[buffers]\ninput-block-size = 7777\n", "input-block-size"},
	{"[buffers]\noutgoing-body-buffer-chunks = 7\n",
		"outgoing-body-buffer-chunks"},
	{"[buffers]\noutgoing-body-chunk-size = 7777\n",
		"outgoing-body-chunk-size"},
	{"[buffers]\noutgoing-flush-delay = 7ms\n", "outgoing-flush-delay"},
	{"[timeouts]\nheader-timeout = 7s\n", "header-timeout"},
	{"[timeouts]\nbody-timeout = 7s\n", "body-timeout"},
	{"[timeouts]\nsend-timeout = 7s\n", "send-timeout"},
	{"[timeouts]\ntimeout = 7s\n", "timeout"},
	{"[timeouts]\ngraceful-timeout = 7s\n", "graceful-timeout"},
	{"[limits]\nrequest-line = 7777\n", "request-line"},
	{"[limits]\nrequest-head = 77777\n", "request-head"},
	{"[limits]\nrequest-fields = 77\n", "request-fields"},
	{"[limits]\nrequest-field-size = 7777\n", "request-field-size"},
	{"[limits]\nrequest-body = 77777\n", "request-body"},
	{"[log]\nlog-level = debug\n", "log-level"},
};

/* A 7 somewhere in its value, or debug. */
START_TEST(every_key_can_change)
{
	char text[500], target[100];
	struct server s;
	struct answer a;
	size_t i;

	server_start(&s, PROBE_APP);
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		snprintf(text, sizeof(text), "%s" PROBE_APP, keys[i][0]);
		hup(&s, text, RELOADED);
		snprintf(target, sizeof(target), "/setting?%s", keys[i][1]);
		get(&s, target, &a);
		MUST(strchr(a.body.p, '7') || strcmp(a.body.p, "debug") == 0,
			"%s is %s", keys[i][1], a.body.p);
		answer_done(&a);
	}
	hup(&s, PROBE_APP "chdir = /usr\n[env]\nNARWHAL_TEST = yes\n",
		RELOADED);
	must_get(&s, "/cwd", "/usr");
	must_get(&s, "/env?NARWHAL_TEST", "yes");
	hup(&s, PROBE_APP, RELOADED);
	must_get(&s, "/env?NARWHAL_TEST", "(none)");
	hup(&s, "[app]\napp = so:hello\n", RELOADED);
	must_get(&s, "/", "Hello, World!");
	server_stop(&s);
}
END_TEST

START_TEST(number_of_workers)
{
	struct server s;

	server_start(&s, PROBE_APP "[server]\nworkers = 4\n");
	server_wait_workers(&s, 4);
	hup(&s, PROBE_APP "[server]\nworkers = 2\n", RELOADED);
	server_wait_workers(&s, 2);
	hup(&s, PROBE_APP "[server]\nworkers = 6\n", RELOADED);
	server_wait_workers(&s, 6);
	hup(&s, PROBE_APP "[server\nworkers = 3\n", REFUSED);
	server_wait_workers(&s, 6);
	hup(&s, PROBE_APP "[server]\nworkers = 3\n", RELOADED);
	server_wait_workers(&s, 3);
	server_stop(&s);
}
END_TEST

/* What the command line says stays in force, and the log says why. */
START_TEST(command_line_wins)
{
	struct server s;

	server_init(&s);
	server_listen(&s);
	server_ini(&s,
		"[server]\nbind = fd:3\n" PROBE_APP
		"[buffers]\ninput-block-size = 8k\n");
	server_arg(&s, "--input-block-size=32k");
	server_spawn(&s);
	server_wait_ready(&s);
	must_serve(&s, "input-block-size", "32768");
	server_ini(&s,
		"[server]\nbind = fd:3\n" PROBE_APP
		"[buffers]\ninput-block-size = 16k\n");
	server_signal(&s, SIGHUP);
	server_wait_log(&s,
		"reload: .*narwhal\\.ini:6: input-block-size: "
		"overridden by --input-block-size=32k");
	server_wait_log(&s, RELOADED);
	must_serve(&s, "input-block-size", "32768");
	server_stop(&s);
}
END_TEST

/* ---- the trial ---- */

/* HUP with an application that opens only once `hold` is gone; it is opening. */
static void
begin_trial(struct server *s)
{
	char text[400];

	write_file(server_path(s, "hold"), "", 0);
	snprintf(text, sizeof(text), "[app]\napp = %s\n[options]\nwhile = %s\n",
		APP("slowopen"), server_path(s, "hold"));
	hup(s, text, "slowopen: opening");
}

/* While it opens the old generation serves; another HUP ends it. */
START_TEST(another_hup_during_the_trial)
{
	struct server s;
	pid_t pids[WORKERS_MAX], old;
	int n, i;

	server_start(&s, PROBE_APP);
	old = server_worker(&s);
	begin_trial(&s);
	must_get(&s, "/ok", "probe");
	n = server_workers(&s, pids);
	MUST(n == 2, "%d workers", n);
	hup(&s, PROBE_APP "[options]\ncolour = new\n", RELOADED);
	must_get(&s, "/option?colour", "new");
	server_wait_workers(&s, 1);
	for (i = 0; i < n; i++)
		UNTIL(proc_gone(pids[i]));
	MUST(server_worker(&s) != old, "the old worker serves on");
	server_stop(&s);
}
END_TEST

/* Stop in the middle of a trial. */
START_TEST(term_during_the_trial)
{
	struct server s;

	server_start(&s, PROBE_APP);
	begin_trial(&s);
	server_stop(&s);
}
END_TEST

/* A worker that would die at boot is no successor either. */
START_TEST(trial_that_dies)
{
	struct server s;
	pid_t pid;

	server_start(&s, PROBE_APP);
	pid = server_worker(&s);
	hup(&s, "[app]\napp = " APP("dies") "\n[options]\nhow = signal\n",
		REFUSED);
	hup(&s, "[app]\napp = so:/no/such/file.so\n", REFUSED);
	MUST(server_worker(&s) == pid, "the worker was replaced");
	must_get(&s, "/ok", "probe");
	server_stop(&s);
}
END_TEST

/* ---- old workers ---- */

/* A parked connection is answered once more, and told to go. */
START_TEST(parked_connection_is_answered_once_more)
{
	struct server s;
	struct client c;
	struct answer a;
	pid_t old;

	server_start(&s, PROBE_APP "[server]\nkeepalive = 50s\n");
	old = server_worker(&s);
	client_open(&c, &s);
	client_puts(&c, "GET /pid HTTP/1.1\r\nHost: t\r\n\r\n");
	client_read(&c, &a);
	MUST(atoi(a.body.p) == old && !a.close, "%s", a.head);
	hup(&s, PROBE_APP "[server]\nkeepalive = 50s\n",
		"reload: generation [0-9]+ takes over");
	client_puts(&c, "GET /pid HTTP/1.1\r\nHost: t\r\n\r\n");
	client_read(&c, &a);
	MUST(a.status == 200, "%s", a.head);
	if (atoi(a.body.p) == old && !a.close) { /* it was not told yet */
		server_wait_log(&s, RELOADED);
		client_puts(&c, "GET /pid HTTP/1.1\r\nHost: t\r\n\r\n");
		client_read(&c, &a);
	}
	MUST(a.close, "no Connection: close in %s", a.head);
	client_wait_eof(&c);
	client_done(&c);
	UNTIL(proc_gone(old));
	server_stop(&s);
}
END_TEST

/* Is it gone?  If not, another signal comes in. */
static bool
gone_in_spite_of(struct server *s, int sig, pid_t pid)
{
	if (proc_gone(pid))
		return true;
	if (sig)
		server_signal(s, sig);
	if (sig == SIGHUP)
		server_wait_log(s, RELOADED);
	poll(NULL, 0, 100);
	return false;
}

/*
 * Nothing the worker does keeps it beyond graceful-timeout, and no signals
 * that go on and on wind up the clock again.
 */
START_TEST(stuck_worker_is_killed)
{
	static const int signals[] = {0, SIGHUP, SIGTERM};
	char killed[100], died[100];
	struct server s;
	struct client c;
	int64_t from;
	pid_t old;

	server_start(&s,
		PROBE_APP "[timeouts]\ngraceful-timeout = 2s\n"
			  "timeout = 0\n");
	old = server_worker(&s);
	client_open(&c, &s);
	client_puts(&c, "GET /stuck HTTP/1.1\r\nHost: t\r\n\r\n");
	server_wait_log(&s, "probe: spinning");
	hup(&s, PROBE_APP "[timeouts]\ngraceful-timeout = 2s\ntimeout = 0\n",
		"takes over");
	from = now_ms();
	must_get(&s, "/ok", "probe"); /* new workers serve at once */
	UNTIL(gone_in_spite_of(&s, signals[_i], old));
	MUST(now_ms() - from < 15000, "that was late");
	snprintf(killed, sizeof(killed),
		"worker %d has not left in time and gets signal 9 ", old);
	snprintf(died, sizeof(died),
		"worker %d .* died .*: signal 9 .*sent by the master", old);
	UNTIL(server_count_log(&s, died) == 1);
	MUST(server_count_log(&s, killed) == 1, "log");
	client_done(&c);
	if (signals[_i] != SIGTERM)
		server_signal(&s, SIGTERM);
	MUST(server_wait_exit(&s) == 0, "exit status");
	server_done(&s);
}
END_TEST

/*
 * A busy worker does not hold up `reload done`, so it must not take a client
 * that came after that, even if the new one has no time.
 */
START_TEST(busy_worker_takes_nobody_new)
{
	struct client busy, late;
	struct server s;
	struct answer a;
	pid_t pids[WORKERS_MAX], old, new;

	server_start(&s, PROBE_APP);
	old = server_worker(&s);
	client_open(&busy, &s);
	client_puts(&busy,
		"POST /read HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n1");
	server_wait_log(&s, "probe: reading");
	hup(&s, PROBE_APP, RELOADED);
	MUST(server_workers(&s, pids) == 2, "workers");
	new = pids[pids[0] == old];
	kill(new, SIGSTOP);
	UNTIL(proc_stopped(new));
	client_open(&late, &s);
	client_puts(&late, "GET /pid HTTP/1.0\r\n\r\n");
	client_puts(&busy, "2");
	client_read(&busy, &a);
	MUST(a.status == 200 && a.close, "%s", a.head);
	UNTIL(proc_gone(old));
	kill(new, SIGCONT);
	client_read(&late, &a);
	MUST(atoi(a.body.p) == new, "%s instead of %d", a.body.p, new);
	client_done(&busy);
	client_done(&late);
	server_stop(&s);
}
END_TEST

/* ---- addresses ---- */

START_TEST(second_address_comes_and_goes)
{
	struct server s;
	struct client c;
	struct answer a;
	int port = free_port(), i;

	server_start(&s, PROBE_APP);
	for (i = 0; i < 3; i++) {
		server_ini(&s, "[server]\nbind = fd:3, 127.0.0.1:%d\n%s", port,
			PROBE_APP);
		server_signal(&s, SIGHUP);
		server_wait_log(&s, RELOADED);
		client_open_port(&c, port);
		client_puts(&c, "GET /ok HTTP/1.0\r\n\r\n");
		client_read(&c, &a);
		MUST(a.status == 200, "%s", a.head);
		client_done(&c);
		/* to one that overlaps it, and back */
		server_ini(&s, "[server]\nbind = fd:3, 0.0.0.0:%d\n%s", port,
			PROBE_APP);
		server_signal(&s, SIGHUP);
		server_wait_log(&s, RELOADED);
		client_open_port(&c, port);
		client_puts(&c, "GET /ok HTTP/1.0\r\n\r\n");
		client_read(&c, &a);
		client_done(&c);
		hup(&s, PROBE_APP, RELOADED);
		server_wait_workers(&s, 1);
		MUST(!client_try_port(&c, port, 0), "still listening");
		must_get(&s, "/ok", "probe");
	}
	/* an address that cannot be had changes nothing */
	server_ini(
		&s, "[server]\nbind = fd:3, 192.0.2.1:%d\n%s", port, PROBE_APP);
	server_signal(&s, SIGHUP);
	server_wait_log(&s, REFUSED);
	must_get(&s, "/ok", "probe");
	server_stop(&s);
}
END_TEST

static void
reload_with(struct server *s, int port)
{
	char second[40] = "";

	if (port)
		snprintf(second, sizeof(second), ", 127.0.0.1:%d", port);
	server_ini(s, "[server]\nbind = fd:3%s\nworkers = 2\n%s", second,
		PROBE_APP);
	server_signal(s, SIGHUP);
	server_wait_log(s, "reload.*(takes over|refused)");
	MUST(strstr(s->line, "takes over"), "%s", s->line);
}

/*
 * A busy worker of an old generation still has the socket of the address that
 * was removed; that is no reason to refuse the address when it comes back.
 */
START_TEST(address_comes_back_while_it_drains)
{
	struct client busy, c;
	int port = free_port(), i;
	struct server s;
	struct answer a;

	server_start(&s, "workers = 2\n" PROBE_APP);
	reload_with(&s, port);
	client_open_port(&busy, port);
	client_puts(&busy, "GET /sleep?ms=2000 HTTP/1.1\r\nHost: t\r\n\r\n");
	server_wait_log(&s, "probe: sleeping");
	reload_with(&s, 0);
	reload_with(&s, port);
	for (i = 0; i < 20; i++) { /* the new one gets them all */
		client_open_port(&c, port);
		client_puts(&c, "GET /ok HTTP/1.0\r\n\r\n");
		client_read(&c, &a);
		MUST(a.status == 200, "%s", a.head);
		client_done(&c);
	}
	client_read(&busy, &a);
	MUST(strcmp(a.body.p, "slept") == 0, "%s", a.head);
	client_done(&busy);
	server_stop(&s);
}
END_TEST

/* Requests over a unix socket, of which no worker serves more than two. */
static void
wear_out(const char *path, const struct stat *before)
{
	struct client c;
	struct answer a;
	struct stat now;
	int i;

	for (i = 0; i < 20; i++) {
		client_open_unix(&c, path);
		client_puts(&c, "GET /ok HTTP/1.1\r\nHost: t\r\n\r\n");
		client_read(&c, &a);
		MUST(a.status == 200, "%s", a.head);
		answer_done(&a);
		client_done(&c);
		MUST(stat(path, &now) == 0 && now.st_ino == before->st_ino,
			"another socket");
	}
}

/* The unix socket keeps its inode over reloads, and goes with the last one. */
START_TEST(unix_socket_stays_the_same)
{
	struct server s;
	struct client c;
	struct stat before, after;
	const char *path;
	int i;

	server_init(&s);
	path = strdup(server_path(&s, "socket"));
	server_ini(&s, "[server]\nbind = unix:%s\nmax-requests = 2\n" PROBE_APP,
		path);
	server_spawn(&s);
	server_wait_ready(&s);
	MUST(stat(path, &before) == 0, "no socket");
	MUST((before.st_mode & 0777) == 0660, "mode %o", before.st_mode);
	wear_out(path, &before);
	for (i = 0; i < 3; i++) {
		server_signal(&s, SIGHUP);
		server_wait_log(&s, RELOADED);
	}
	wear_out(path, &before);
	client_open_unix(&c, path);
	client_puts(&c, "GET /exit?status=1 HTTP/1.1\r\nHost: t\r\n\r\n");
	client_slurp(&c);
	client_done(&c);
	server_wait_log(&s, "died after .*: exit 1");
	wear_out(path, &before);
	server_signal(&s, SIGTERM);
	MUST(server_wait_exit(&s) == 0, "exit status");
	MUST(stat(path, &after) == -1, "the socket is left behind");
	server_done(&s);
}
END_TEST

/* ---- descriptors and load ---- */

/* Both logs are moved away before each of the signals. */
START_TEST(descriptors_do_not_pile_up)
{
	const char *text =
		PROBE_APP "[log]\nerror-log = error\naccess-log = access\n";
	int master, worker, i, n = soak() ? 50 : 12;
	struct server s;

	server_start(&s, "%s", text);
	strcpy(s.log, server_path(&s, "error"));
	hup(&s, text, RELOADED);
	server_wait_workers(&s, 1);
	must_get(&s, "/ok", "probe"); /* what is made when first needed */
	master = proc_fds(s.pid);
	worker = proc_fds(server_worker(&s));
	for (i = 0; i < n; i++) {
		must_get(&s, "/ok", "probe");
		shell(&s, "mv access access.%d && mv error error.%d", i, i);
		s.log_seen = 0;
		hup(&s, text, RELOADED);
		server_wait_workers(&s, 1);
	}
	must_get(&s, "/ok", "probe");
	UNTIL(proc_fds(s.pid) <= master);
	UNTIL(proc_fds(server_worker(&s)) <= worker);
	shell(&s,
		"test -s access && rm access.* error.* && "
		"! ls -l /proc/%d/fd /proc/%d/fd | grep deleted",
		s.pid, server_worker(&s));
	server_stop(&s);
}
END_TEST

/* What the i-th HUP under load finds; `broken` ones change nothing. */
static const struct {
	const char *text;
	bool broken, second;
} turns[] = {
	{"[server]\nworkers = 3\n[buffers]\ninput-block-size = 4k\n"
	 "outgoing-body-buffer-chunks = 0\n",
		false, true},
	{"[server]\nworkers 3\n", true, false},
	{"[server]\nworkers = 1\n[buffers]\ninput-block-size = 256k\n"
	 "outgoing-body-buffer-chunks = 64\n",
		false, false},
	{"[app]\nchdir = /no/such/folder\n", true, false},
	{"[server]\nworkers = 4\n[timeouts]\nheader-timeout = 3s\n", false,
		true},
	{"[server]\nworkers = 2\n", false, false},
};

START_TEST(no_client_notices)
{
	int n = soak() ? 50 : 12, nturns = sizeof(turns) / sizeof(turns[0]);
	int broken = 0, fds, i, port = free_port();
	pid_t pids[WORKERS_MAX], now[WORKERS_MAX];
	char second[40];
	struct server s;
	struct load *l;
	long count = 0;
	int first;

	snprintf(second, sizeof(second), ", 127.0.0.1:%d", port);
	server_start(&s, PROBE_APP "[server]\nworkers = 2\n");
	server_wait_workers(&s, 2);
	first = server_workers(&s, pids);
	fds = proc_fds(s.pid);
	l = load_start(server_port(&s, 0), 20, "/big?n=3000&size=1000");
	for (i = 0; i < n; i++) {
		const char *text = turns[i % nturns].text;

		server_ini(&s, "[server]\nbind = fd:3%s\n" PROBE_APP "%s",
			turns[i % nturns].second ? second : "", text);
		server_signal(&s, SIGHUP);
		server_wait_log(
			&s, turns[i % nturns].broken ? REFUSED : RELOADED);
		broken += turns[i % nturns].broken;
		UNTIL(load_count(l) > count); /* it goes on */
		count = load_count(l);
	}
	load_stop(l);
	MUST(server_count_log(&s, "narwhal\\.ini:[0-9]+: ") == broken,
		"%d broken files, other complaints", broken);
	hup(&s, PROBE_APP "[server]\nworkers = 2\n", RELOADED);
	server_wait_workers(&s, 2);
	MUST(server_workers(&s, now) == 2, "workers");
	for (i = 0; i < first; i++)
		MUST(proc_gone(pids[i]), "an old worker is still there");
	UNTIL(proc_fds(s.pid) <= fds);
	server_stop(&s);
}
END_TEST

/* Signals without waiting for what becomes of them. */
START_TEST(storm_of_hups)
{
	struct server s;
	struct load *l;
	int i;

	server_start(&s, PROBE_APP "[server]\nworkers = 2\n");
	l = load_start(server_port(&s, 0), 4, "/pid");
	for (i = 0; i < 100; i++) {
		server_signal(&s, SIGHUP);
		nap();
	}
	hup(&s, PROBE_APP "[options]\ncolour = new\n", "trial");
	UNTIL(server_count_log(&s, "reload done") > 0);
	server_wait_workers(&s, 1);
	load_stop(l);
	must_get(&s, "/option?colour", "new");
	server_stop(&s);
}
END_TEST

Suite *
reload_suite(void)
{
	Suite *suite = suite_create("reload");
	TCase *tc = harness_case(suite, "first");

	tcase_add_test(tc, broken_broken_mended);
	tc = harness_case(suite, "keys");
	tcase_add_test(tc, every_key_can_change);
	tcase_add_test(tc, number_of_workers);
	tcase_add_test(tc, command_line_wins);
	tc = harness_case(suite, "trial");
	tcase_add_test(tc, another_hup_during_the_trial);
	tcase_add_test(tc, term_during_the_trial);
	tcase_add_test(tc, trial_that_dies);
	tc = harness_case(suite, "old");
	tcase_add_test(tc, parked_connection_is_answered_once_more);
	tcase_add_loop_test(tc, stuck_worker_is_killed, 0, 3);
	tcase_add_test(tc, busy_worker_takes_nobody_new);
	tc = harness_case(suite, "addresses");
	tcase_add_test(tc, second_address_comes_and_goes);
	tcase_add_test(tc, address_comes_back_while_it_drains);
	tcase_add_test(tc, unix_socket_stays_the_same);
	tc = harness_case(suite, "load");
	if (soak())
		tcase_set_timeout(tc, 600);
	tcase_add_test(tc, descriptors_do_not_pile_up);
	tcase_add_test(tc, no_client_notices);
	tcase_add_test(tc, storm_of_hups);
	return suite;
}
