/*
 * test_daemon.c -- in the background: what the command says at its end, and
 * what goes on.
 *
 * A daemon leaves the process group that Check would kill.  So the test is its
 * subreaper, and a guard outside of the group kills it when the test ends, in
 * whatever way.
 */
#include "process/harness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *daemon_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))
#define DAEMON(app)                                                            \
	"[app]\napp = " app "\n[log]\nerror-log = error\n"                     \
	"[process]\ndaemon = yes\npidfile = pid\n"

static pid_t
daemon_pid(const struct server *s)
{
	char *text;
	pid_t pid;

	if (access(server_path(s, "pid"), F_OK) == -1)
		return 0;
	text = read_file(server_path(s, "pid"), NULL);
	pid = atoi(text);
	free(text);
	return pid;
}

static void
guard(const struct server *s, int alive)
{
	char *path = strdup(server_path(s, "pid")), text[20] = "";
	char c;
	FILE *f;

	setsid();
	while (read(alive, &c, 1) == -1 && errno == EINTR)
		;
	f = fopen(path, "re");
	if (f && fgets(text, sizeof(text), f) && atoi(text) > 1)
		kill(atoi(text), SIGKILL);
	_exit(0);
}

static void
init(struct server *s, const char *ini)
{
	static int alive[2]; /* its writing end is the test's life */

	server_init(s);
	server_listen(s);
	server_ini(s, "[server]\nbind = fd:3\n%s", ini);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	MUST(pipe(alive) == 0, "pipe");
	if (fork() == 0) {
		close(alive[1]);
		guard(s, alive[0]);
	}
	close(alive[0]);
}

/* The command has ended with 0; from here on s->pid is the daemon. */
static void
start(struct server *s)
{
	int status = server_run(s);

	MUST(status == 0, "exit status %d", status);
	s->pid = daemon_pid(s);
	MUST(s->pid > 1, "no pid file");
	strcpy(s->log, server_path(s, "error"));
}

/* What the descriptor is of. */
static const char *
link_of(pid_t pid, int fd)
{
	static char to[1000];
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	n = readlink(path, to, sizeof(to) - 1);
	to[n > 0 ? n : 0] = '\0';
	return to;
}

/* Session and terminal of a process. */
static void
session_of(pid_t pid, int *ret_sid, int *ret_tty)
{
	char path[64], *text, *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	text = read_file(path, NULL);
	p = strrchr(text, ')');
	MUST(p && sscanf(p + 2, "%*c %*d %*d %d %d", ret_sid, ret_tty) == 2,
		"%s", text);
	free(text);
}

/* ---- good starts ---- */

START_TEST(ready_when_the_command_ends)
{
	struct server s;
	int sid, tty;
	pid_t worker;

	init(&s, DAEMON("so:hello"));
	start(&s);
	MUST(server_count_log(&s, "worker .* is ready") == 1, "not ready");
	must_get(&s, "/", "Hello, World!");
	worker = server_worker(&s);
	for (int fd = 0; fd < 3; fd++)
		MUST(strcmp(link_of(s.pid, fd), "/dev/null") == 0,
			"descriptor %d is %s", fd, link_of(s.pid, fd));
	for (int fd = 0; fd < 2; fd++)
		MUST(strcmp(link_of(worker, fd), "/dev/null") == 0,
			"descriptor %d of the worker is %s", fd,
			link_of(worker, fd));
	MUST(strcmp(link_of(worker, 2), s.log) == 0, "stderr is %s",
		link_of(worker, 2));
	session_of(s.pid, &sid, &tty);
	MUST(tty == 0, "it has a terminal");
	MUST(sid != getsid(0), "it is in our session");
	MUST(sid != s.pid, "it could get a terminal");
	server_stop(&s);
}
END_TEST

/* Nothing of its says anything at the terminal, nor holds it. */
START_TEST(silent)
{
	struct server s;
	char *text;

	init(&s, DAEMON("so:hello"));
	strcpy(s.log, server_path(&s, "terminal"));
	start(&s);
	text = read_file(server_path(&s, "terminal"), NULL);
	MUST(*text == '\0', "it said: %s", text);
	free(text);
	text = read_file(s.out, NULL);
	MUST(*text == '\0', "it said: %s", text);
	free(text);
	server_stop(&s);
}
END_TEST

/* While the application loads, the command waits. */
START_TEST(waits_for_the_worker)
{
	struct server s;
	int status;

	init(&s, DAEMON(APP("slowopen")) "[options]\nwhile = opening\n");
	shell(&s, "touch opening");
	shell(&s, "sed -i \"s|opening|$PWD/opening|\" narwhal.ini");
	server_spawn(&s);
	UNTIL(access(server_path(&s, "error"), F_OK) == 0 &&
		count_matches(read_file(server_path(&s, "error"), NULL),
			"slowopen: opening") == 1);
	MUST(!server_has_ended(&s), "it did not wait");
	shell(&s, "rm opening");
	status = server_wait_exit(&s);
	MUST(status == 0, "exit status %d", status);
	s.pid = daemon_pid(&s);
	server_stop(&s);
}
END_TEST

/* All that works in the foreground. */
START_TEST(reload_and_reopen)
{
	struct server s;

	init(&s, DAEMON("so:hello"));
	start(&s);
	server_signal(&s, SIGHUP);
	server_wait_log(&s, RELOADED);
	shell(&s, "mv error old");
	server_signal(&s, SIGUSR1);
	UNTIL(access(s.log, F_OK) == 0);
	s.log_seen = 0;
	server_wait_log(&s, "reopened");
	/* it cannot come back from there */
	server_reload(&s,
		"[app]\napp = so:hello\n[log]\nerror-log = error\n"
		"[process]\npidfile = pid\n");
	MUST(server_count_log(&s, "\\[warning\\] .*daemon has changed") == 1,
		"no warning");
	must_get(&s, "/", "Hello, World!");
	server_stop(&s);
}
END_TEST

/* ---- starts that fail ---- */

static const struct {
	const char *ini;
	int status;
	const char *says; /* where it was started */
} bad[] = {
	{"[app]\napp = so:hello\n[process]\ndaemon = yes\n", 2,
		"narwhal\\.ini:6: daemon: error-log is -"},
	{DAEMON("so:hello") "[log]\naccess-log = -\n", 2,
		"daemon: access-log is -"},
	{DAEMON("so:hello") "user = no_such_user_x\n", 2, "no such user"},
	{DAEMON("so:hello") "[limits]\nrequest-line = 1\n", 2,
		"narwhal\\.ini:11: request-line: "},
	{DAEMON("so:/no/such/file.so"), 4, "no worker got ready"},
	{DAEMON(APP("openfails")), 4, "no worker got ready"},
	{DAEMON(APP("dies")) "[options]\nhow = signal\n", 3,
		"no worker got ready"},
};

/* Orphans are ours to reap. */
static int
children_left(void)
{
	pid_t left[WORKERS_MAX];

	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return proc_children(getpid(), left);
}

START_TEST(the_command_tells)
{
	struct server s;
	int status;

	init(&s, bad[_i].ini);
	status = server_run(&s);
	MUST(status == bad[_i].status, "exit status %d", status);
	MUST(server_count_log(&s, bad[_i].says) == 1, "not said: %s",
		bad[_i].says);
	MUST(daemon_pid(&s) == 0, "a pid file is left");
	UNTIL(children_left() == 1); /* the guard */
	server_done(&s);
}
END_TEST

/* The reason stands at the terminal: the log may not even be open. */
START_TEST(address_in_use)
{
	struct server s, other;
	int status;

	server_start(&other, "[app]\napp = so:hello\n");
	init(&s, "");
	server_ini(&s, DAEMON("so:hello") "[server]\nbind = 127.0.0.1:%d\n",
		server_port(&other, 0));
	status = server_run(&s);
	MUST(status == 1, "exit status %d", status);
	MUST(server_count_log(&s, "cannot bind '.*': Address already") == 1,
		"no reason");
	MUST(daemon_pid(&s) == 0, "a pid file is left");
	server_done(&s);
	server_stop(&other);
}
END_TEST

/* Killed in the middle of its start: the command does not wait for ever. */
START_TEST(killed_while_it_starts)
{
	struct server s;
	int status;

	init(&s, DAEMON(APP("slowopen")) "[options]\nms = 100000\n");
	server_spawn(&s);
	UNTIL(daemon_pid(&s) != 0);
	UNTIL(access(server_path(&s, "error"), F_OK) == 0 &&
		count_matches(read_file(server_path(&s, "error"), NULL),
			"slowopen: opening") == 1);
	kill(daemon_pid(&s), SIGKILL);
	status = server_wait_exit(&s);
	MUST(status == 1, "exit status %d", status);
	MUST(server_count_log(&s, "died while it started") == 1, "no reason");
	server_done(&s);
}
END_TEST

/* -t and -T stay where they are. */
START_TEST(checks_stay)
{
	struct server s;

	init(&s, DAEMON("so:hello"));
	server_arg(&s, _i ? "-T" : "-t");
	MUST(server_run(&s) == 0, "exit status");
	MUST(access(server_path(&s, "error"), F_OK) == -1, "a log");
	server_done(&s);
}
END_TEST

Suite *
daemon_suite(void)
{
	Suite *suite = suite_create("daemon");
	TCase *tc = harness_case(suite, "good");

	tcase_add_test(tc, ready_when_the_command_ends);
	tcase_add_test(tc, silent);
	tcase_add_test(tc, waits_for_the_worker);
	tcase_add_test(tc, reload_and_reopen);
	tc = harness_case(suite, "bad");
	tcase_add_loop_test(tc, the_command_tells, 0, N(bad));
	tcase_add_test(tc, address_in_use);
	tcase_add_test(tc, killed_while_it_starts);
	tcase_add_loop_test(tc, checks_stay, 0, 2);
	return suite;
}
