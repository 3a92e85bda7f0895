/*
 * test_pidfile.c -- the pid file of a real server: who starts, who does not,
 * and what is left.
 */
#include "process/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *pidfile_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))
#define PROBE_APP "[app]\napp = " APP("probe") "\n"

static void
init(struct server *s)
{
	server_init(s);
	server_listen(s);
	server_ini(s,
		"[server]\nbind = fd:3\n" PROBE_APP
		"[process]\npidfile = pid\n");
}

static void
start(struct server *s)
{
	server_spawn(s);
	server_wait_ready(s);
}

static long
number_in(const struct server *s, const char *name)
{
	char *text = read_file(server_path(s, name), NULL);
	long n = atol(text);

	MUST(count_matches(text, "^[0-9]+$") == 1, "it says '%s'", text);
	free(text);
	return n;
}

static bool
is_there(const struct server *s, const char *name)
{
	return access(server_path(s, name), F_OK) == 0;
}

/* ---- start and stop ---- */

START_TEST(there_while_it_lives)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGQUIT};
	struct server s;

	init(&s);
	start(&s);
	MUST(number_in(&s, "pid") == s.pid, "another number");
	server_signal(&s, signals[_i]);
	MUST(server_wait_exit(&s) == 0, "exit status");
	MUST(!is_there(&s, "pid"), "it is still there");
	MUST(server_count_log(&s, "\\[error\\]") == 0, "errors");
	server_done(&s);
}
END_TEST

/* In the place of the first the number of a process that lives. */
static const char *const stale[] = {
	"", "1\n", "999999999\n", "", "abc\n", "-1\n", "12345   \n", "\n"};

START_TEST(stale_ones_are_replaced)
{
	char number[20];
	struct server s;
	pid_t sleeper = fork();
	const char *text = _i == 0 ? number : stale[_i];

	if (sleeper == 0) {
		pause();
		_exit(0);
	}
	snprintf(number, sizeof(number), "%d\n", (int)sleeper);
	init(&s);
	write_file(server_path(&s, "pid"), text, strlen(text));
	start(&s);
	MUST(number_in(&s, "pid") == s.pid, "another number");
	MUST(server_count_log(&s,
		     "\\[warning\\] pid file '.*/pid' was left behind") == 1,
		"no warning");
	MUST(!proc_gone(sleeper), "who is named there was killed");
	kill(sleeper, SIGKILL);
	waitpid(sleeper, NULL, 0);
	server_stop(&s);
}
END_TEST

START_TEST(second_one_is_refused)
{
	struct server s, other;
	int status;

	init(&s);
	start(&s);
	server_init(&other);
	server_ini(&other,
		"[server]\nbind = unix:%s\n" PROBE_APP
		"[process]\npidfile = %s\n",
		server_path(&other, "socket"), server_path(&s, "pid"));
	status = server_run(&other);
	MUST(status == 1, "exit status %d", status);
	MUST(server_count_log(&other,
		     "cannot take pid file '.*/pid': A running server holds "
		     "it") == 1,
		"no reason");
	MUST(!is_there(&other, "socket"), "a socket is left");
	MUST(server_count_log(&other, "worker") == 0, "a worker was forked");
	/* -t locks nothing, and finds nothing wrong */
	server_arg(&other, "-t");
	MUST(server_run(&other) == 0, "-t");
	server_done(&other);
	MUST(number_in(&s, "pid") == s.pid, "another number");
	must_get(&s, "/ok", "probe");
	server_stop(&s);
}
END_TEST

/* A worker that finishes its request does not hold the dead master's lock. */
START_TEST(after_sigkill)
{
	struct server s;
	struct client c;
	pid_t worker;

	init(&s);
	start(&s);
	worker = server_worker(&s);
	client_open(&c, &s);
	client_puts(&c, "GET /sleep?ms=30000 HTTP/1.1\r\nHost: t\r\n\r\n");
	server_wait_log(&s, "probe: sleeping");
	server_signal(&s, SIGKILL);
	server_wait_exit(&s);
	MUST(is_there(&s, "pid"), "who removed it?");
	start(&s);
	MUST(number_in(&s, "pid") == s.pid, "another number");
	MUST(!proc_gone(worker), "the old worker should be there still");
	kill(worker, SIGKILL);
	client_wait_eof(&c);
	client_done(&c);
	server_stop(&s);
}
END_TEST

/* A start that fails leaves none, nor does it touch another's. */
START_TEST(start_that_fails)
{
	struct server s, other;

	server_start(&other, PROBE_APP);
	init(&s);
	server_ini(&s,
		_i ? "[server]\nbind = fd:3\n[app]\napp = " APP(
			     "openfails") "\n[process]\npidfile = pid\n[options]\nport = %d\n"
		   : PROBE_APP "[process]\npidfile = pid\n"
			       "[server]\nbind = 127.0.0.1:%d\n",
		server_port(&other, 0));
	MUST(server_run(&s) == (_i ? 4 : 1), "exit status");
	MUST(!is_there(&s, "pid"), "it is still there");
	server_done(&s);
	server_stop(&other);
}
END_TEST

/* ---- it is removed only if it is ours ---- */

static const char *const changes[] = {
	"echo 1 >pid",
	"rm pid && echo 1 >pid",
	"echo 1 >new && mv new pid",
};

START_TEST(no_longer_ours)
{
	struct server s;

	init(&s);
	start(&s);
	shell(&s, "%s", changes[_i]);
	server_signal(&s, SIGTERM);
	MUST(server_wait_exit(&s) == 0, "exit status");
	MUST(number_in(&s, "pid") == 1, "it was not ours to change");
	server_done(&s);
}
END_TEST

/* ---- reload ---- */

static void
reload(struct server *s, const char *pidfile, const char *app)
{
	server_ini(s, "[server]\nbind = fd:3\n[app]\napp = %s\n[process]\n%s\n",
		app, pidfile);
	server_signal(s, SIGHUP);
}

START_TEST(reload_changes_the_path)
{
	struct server s;

	init(&s);
	start(&s);
	reload(&s, "pidfile = other", APP("probe"));
	server_wait_log(&s, RELOADED);
	MUST(!is_there(&s, "pid"), "the old one is still there");
	MUST(number_in(&s, "other") == s.pid, "another number");
	reload(&s, "", APP("probe"));
	server_wait_log(&s, RELOADED);
	MUST(!is_there(&s, "other"), "the old one is still there");
	reload(&s, "pidfile = pid", APP("probe"));
	server_wait_log(&s, RELOADED);
	MUST(number_in(&s, "pid") == s.pid, "another number");
	server_signal(&s, SIGTERM);
	MUST(server_wait_exit(&s) == 0, "exit status");
	MUST(!is_there(&s, "pid"), "it is still there");
	server_done(&s);
}
END_TEST

/* The same path: the same file, unless somebody has removed it. */
START_TEST(reload_keeps_the_path)
{
	struct server s;
	struct stat before, after;

	init(&s);
	start(&s);
	MUST(stat(server_path(&s, "pid"), &before) == 0, "stat");
	for (int i = 0; i < 3; i++) {
		reload(&s, "pidfile = ./pid", APP("probe"));
		server_wait_log(&s, RELOADED);
	}
	MUST(stat(server_path(&s, "pid"), &after) == 0, "stat");
	MUST(before.st_ino == after.st_ino, "another file");
	shell(&s, "rm pid");
	reload(&s, "pidfile = pid", APP("probe"));
	server_wait_log(&s, RELOADED);
	MUST(number_in(&s, "pid") == s.pid, "another number");
	server_stop(&s);
}
END_TEST

/* A reload that fails has taken nothing, and leaves nothing. */
START_TEST(refused_reload_keeps_the_old)
{
	struct server s, other;
	char line[200];

	init(&s);
	start(&s);
	reload(&s, "pidfile = other", APP("openfails"));
	server_wait_log(&s, REFUSED);
	MUST(!is_there(&s, "other"), "it should be gone");
	MUST(number_in(&s, "pid") == s.pid, "the old one has changed");
	init(&other);
	start(&other);
	snprintf(
		line, sizeof(line), "pidfile = %s", server_path(&other, "pid"));
	reload(&s, line, APP("probe"));
	server_wait_log(&s, "cannot take pid file '.*': A running server");
	server_wait_log(&s, REFUSED);
	MUST(number_in(&other, "pid") == other.pid, "it was stolen");
	MUST(number_in(&s, "pid") == s.pid, "the old one has changed");
	must_get(&s, "/ok", "probe");
	server_stop(&other);
	server_stop(&s);
}
END_TEST

/* Nothing piles up: not a descriptor, not a file. */
START_TEST(many_reloads)
{
	struct server s;
	int fds;

	init(&s);
	start(&s);
	reload(&s, "pidfile = b", APP("probe"));
	server_wait_log(&s, RELOADED);
	server_wait_workers(&s, 1); /* each has a leash: the old one is gone */
	fds = proc_fds(s.pid);
	for (int i = 0; i < 10; i++) {
		reload(&s, i % 2 ? "pidfile = b" : "pidfile = a", APP("probe"));
		server_wait_log(&s, RELOADED);
	}
	UNTIL(proc_fds(s.pid) == fds);
	shell(&s, "test \"$(ls | grep -c '^[ab]')\" = 1");
	server_stop(&s);
}
END_TEST

Suite *
pidfile_suite(void)
{
	Suite *suite = suite_create("pidfile");
	TCase *tc = harness_case(suite, "start");

	tcase_add_loop_test(tc, there_while_it_lives, 0, 3);
	tcase_add_loop_test(tc, stale_ones_are_replaced, 0, N(stale));
	tcase_add_test(tc, second_one_is_refused);
	tcase_add_test(tc, after_sigkill);
	tcase_add_loop_test(tc, start_that_fails, 0, 2);
	tcase_add_loop_test(tc, no_longer_ours, 0, N(changes));
	tc = harness_case(suite, "reload");
	tcase_add_test(tc, reload_changes_the_path);
	tcase_add_test(tc, reload_keeps_the_path);
	tcase_add_test(tc, refused_reload_keeps_the_old);
	tcase_add_test(tc, many_reloads);
	return suite;
}
