/*
 * test_start.c -- starting, stopping, and the exit status that says why not.
 */
#include "process/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

Suite *start_suite(void);

/* Start with this INI; the exit status, the log kept for more questions. */
static int
run_ini(struct server *s, const char *ini)
{
	server_init(s);
	server_ini(s, "%s", ini);
	return server_run(s);
}

/* Run with these arguments after -c FILE. */
static int
run_args(struct server *s, const char *ini, const char *one, const char *two)
{
	server_init(s);
	server_ini(s, "%s", ini);
	server_arg(s, one);
	if (two)
		server_arg(s, two);
	return server_run(s);
}

static void
must_log(const struct server *s, const char *pattern)
{
	MUST(server_count_log(s, pattern) > 0, "not in the log: %s", pattern);
}

/* ---- stopping ---- */

START_TEST(ready_serves_and_stops)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGQUIT};
	struct server s;
	int status;

	server_start(&s, "[app]\napp = so:hello\n");
	must_get(&s, "/", "Hello, World!");
	server_signal(&s, signals[_i]);
	status = server_wait_exit(&s);
	MUST(status == 0, "exit status %d", status);
	server_done(&s);
}
END_TEST

/* A second signal, sooner than the first has done its work. */
START_TEST(quick_stop_during_graceful_one)
{
	struct server s;
	struct client c;
	int64_t from;

	server_start(&s,
		"[app]\napp = %s\n[timeouts]\ngraceful-timeout = 50s\n",
		APP("probe"));
	client_open(&c, &s);
	client_puts(&c, "GET /sleep?ms=50000 HTTP/1.1\r\nHost: t\r\n\r\n");
	server_wait_log(&s, "probe: sleeping");
	server_signal(&s, SIGTERM);
	server_wait_log(&s, "TERM|stopping");
	from = now_ms();
	server_signal(&s, SIGQUIT);
	MUST(server_wait_exit(&s) == 0, "exit status");
	MUST(now_ms() - from < 20000, "QUIT waited for the request");
	client_wait_eof(&c);
	server_done(&s);
}
END_TEST

/* ---- 1: could not start ---- */

START_TEST(address_in_use)
{
	struct server s, other;
	int status;

	server_start(&other, "[app]\napp = so:hello\n");
	server_init(&s);
	server_ini(&s, "[app]\napp = so:hello\n[server]\nbind = 127.0.0.1:%d\n",
		server_port(&other, 0));
	status = server_run(&s);
	MUST(status == 1, "exit status %d", status);
	must_log(&s,
		"cannot bind '127\\.0\\.0\\.1:[0-9]+': Address already "
		"in use");
	MUST(server_count_log(&s, "worker") == 0, "a worker was forked");
	server_done(&s);
	must_get(&other, "/", "Hello, World!");
	server_stop(&other);
}
END_TEST

/* A unix socket somebody listens on is not stolen; a dead one is replaced. */
START_TEST(unix_socket_in_use)
{
	struct server s, other;
	struct client c;
	const char *path;
	struct stat st;

	server_init(&other);
	path = strdup(server_path(&other, "socket"));
	server_ini(&other, "[app]\napp = so:hello\n[server]\nbind = unix:%s\n",
		path);
	server_spawn(&other);
	server_wait_ready(&other);
	server_init(&s);
	server_ini(
		&s, "[app]\napp = so:hello\n[server]\nbind = unix:%s\n", path);
	MUST(server_run(&s) == 1, "a live socket was taken");
	must_log(&s, "cannot bind 'unix:.*/socket'");
	client_open_unix(&c, path);
	client_puts(&c, "GET / HTTP/1.0\r\n\r\n");
	client_wait_bytes(&c, 13);
	client_done(&c);
	server_signal(&other, SIGKILL);
	server_wait_exit(&other);
	MUST(stat(path, &st) == 0, "the socket should have been left behind");
	server_spawn(&s);
	server_wait_ready(&s);
	client_open_unix(&c, path);
	client_puts(&c, "GET / HTTP/1.0\r\n\r\n");
	client_wait_bytes(&c, 13);
	client_done(&c);
	server_stop(&s);
	MUST(stat(path, &st) == -1, "the socket is still there after TERM");
	server_done(&other);
}
END_TEST

/* ---- 2: usage and configuration ---- */

static const struct {
	const char *arg;
	const char *says;
} usage[] = {
	{"--wrokers=3", "wrokers.*did you mean '(--)?workers'"},
	{"--workers=none", "--workers: "},
	{"--no-such-thing", "no-such-thing"},
	{"-x", "x"},
	{"-c", "c"},
	{"--input-block-size=511", "--input-block-size: "},
	{"--bind=127.0.0.1:99999", "--bind: "},
};

START_TEST(bad_usage)
{
	struct server s;
	int status;

	status = run_args(&s, "[app]\napp = so:hello\n", usage[_i].arg, NULL);
	MUST(status == 2, "%s: exit status %d", usage[_i].arg, status);
	must_log(&s, usage[_i].says);
	server_done(&s);
}
END_TEST

START_TEST(app_is_required)
{
	struct server s;
	int status;

	status = run_ini(&s, "[server]\nbind = 127.0.0.1:0\n");
	MUST(status == 2, "exit status %d", status);
	must_log(&s, "app: not set");
	server_done(&s);
}
END_TEST

START_TEST(named_file_must_be_there)
{
	struct server s;
	int status;

	server_init(&s);
	status = server_run(&s);
	MUST(status == 2, "exit status %d", status);
	must_log(&s, "narwhal\\.ini: No such file");
	server_done(&s);
}
END_TEST

/* ---- 3 and 4: the first worker did not come up ---- */

static const struct {
	const char *app;
	int status;
	const char *says;
} boots[] = {
	{"so:/no/such/file.so", 4, "/no/such/file\\.so"},
	{APP("noentry"), 4, "narwhal_app"},
	{APP("badmajor"), 4, "ABI"},
	{APP("openfails"), 4, "open"},
	{APP("dies") "\n[options]\nhow = exit", 3, "exit(ed)?.* 7|status 7"},
	{APP("dies") "\n[options]\nhow = signal", 3, "signal 11"},
	{"so:hello\nchdir = /no/such/folder", 2, "chdir: .*/no/such/folder"},
};

START_TEST(app_cannot_be_loaded)
{
	struct server s;
	int status;

	server_init(&s);
	server_ini(&s,
		"[server]\nbind = 127.0.0.1:0\nworkers = 4\n"
		"[app]\napp = %s\n",
		boots[_i].app);
	status = server_run(&s);
	MUST(status == boots[_i].status, "%s: exit status %d", boots[_i].app,
		status);
	must_log(&s, boots[_i].says);
	MUST(server_count_log(&s, boots[_i].says) < 10, "many tries");
	server_done(&s);
}
END_TEST

/* ---- where settings come from ---- */

START_TEST(default_file_is_in_the_current_folder)
{
	struct server s;

	server_init(&s);
	server_listen(&s);
	server_ini(&s, "[app]\napp = so:hello\n[server]\nbind = fd:3\n");
	s.no_file = true;
	server_spawn(&s);
	server_wait_ready(&s);
	must_get(&s, "/", "Hello, World!");
	server_stop(&s);
}
END_TEST

START_TEST(all_from_the_command_line)
{
	struct server s;

	server_init(&s);
	server_listen(&s);
	s.no_file = true;
	server_arg(&s, "--bind=fd:3");
	server_arg(&s, "--workers=3");
	server_arg(&s, "so:hello");
	server_spawn(&s);
	server_wait_ready(&s);
	must_get(&s, "/", "Hello, World!");
	server_wait_workers(&s, 3);
	server_stop(&s);
}
END_TEST

/* LISTEN_FDS replaces the default address and adds to explicit ones. */
START_TEST(listen_fds)
{
	struct server s;
	struct client c;

	setenv("TEST_LISTEN_FDS", "1", 1);
	server_init(&s);
	server_listen(&s);
	server_ini(&s, "[app]\napp = so:hello\n%s%s%s",
		_i ? "[server]\nbind = unix:" : "",
		_i ? server_path(&s, "socket") : "", _i ? "\n" : "");
	server_spawn(&s);
	server_wait_ready(&s);
	must_get(&s, "/", "Hello, World!");
	if (_i) {
		client_open_unix(&c, server_path(&s, "socket"));
		client_puts(&c, "GET / HTTP/1.0\r\n\r\n");
		client_wait_bytes(&c, 13);
		client_done(&c);
	}
	server_stop(&s);
}
END_TEST

/* ---- -t, -T, -h, -V ---- */

START_TEST(check_beside_a_running_server)
{
	struct server s, t;
	int status;

	server_start(&s, "[app]\napp = so:hello\n");
	server_init(&t);
	server_ini(&t, "[app]\napp = so:hello\n[server]\nbind = 127.0.0.1:%d\n",
		server_port(&s, 0));
	server_arg(&t, "-t");
	status = server_run(&t);
	MUST(status == 0, "exit status %d", status);
	server_done(&t);
	must_get(&s, "/", "Hello, World!");
	server_stop(&s);
}
END_TEST

static const struct {
	const char *ini;
	const char *says;
} faults[] = {
	{"[app]\napp = so:/no/such/file.so\n", "/no/such/file\\.so"},
	{"[app]\napp = " APP("openfails") "\n", "open"},
	{"[app]\napp = so:hello\nchdir = /no/such\n", "chdir: "},
	{"[app]\napp = so:hello\n[server]\nbind = no-such-host.invalid:80\n",
		"narwhal\\.ini:4: bind: "},
	{"[app]\napp = so:hello\n[server]\nworkers = 0\n",
		"narwhal\\.ini:4: workers: "},
};

START_TEST(check_finds_faults)
{
	struct server s;
	int status;

	status = run_args(&s, faults[_i].ini, "-t", NULL);
	MUST(status == 2, "exit status %d for %s", status, faults[_i].ini);
	if (server_count_log(&s, faults[_i].says) == 0) {
		char *out = read_file(s.out, NULL);

		MUST(count_matches(out, faults[_i].says) > 0, "not said: %s",
			faults[_i].says);
	}
	server_done(&s);
}
END_TEST

/* What -T prints is an INI file that comes to the same settings. */
START_TEST(print_is_a_configuration)
{
	struct server s;
	char *first, *second;

	MUST(run_args(&s,
		     "[app]\napp = so:hello\n[options]\na-b = c d\n"
		     "[server]\nworkers = 3 ; three\n"
		     "[buffers]\ninput-block-size = 8k\n",
		     "-T", "--keepalive=7s") == 0,
		"exit status");
	first = read_file(s.out, NULL);
	MUST(count_matches(first, "^workers = 3") == 1, "%s", first);
	MUST(count_matches(first, "^input-block-size = 8(k|192)") == 1, "%s",
		first);
	MUST(count_matches(first, "^keepalive = 7s?") == 1, "%s", first);
	MUST(count_matches(first, "^outgoing-flush-delay = 5ms") == 1, "%s",
		first);
	MUST(count_matches(first, "^a-b = c d") == 1, "%s", first);
	MUST(count_matches(first, "command line") > 0, "%s", first);
	MUST(count_matches(first, "narwhal\\.ini:6") > 0, "%s", first);
	write_file(s.ini, first, strlen(first));
	unlink(s.out);
	s.nargs = 1; /* -T only */
	MUST(server_run(&s) == 0, "-T does not take what -T prints");
	second = read_file(s.out, NULL);
	MUST(count_matches(second, "^workers = 3") == 1, "%s", second);
	MUST(count_matches(second, "^keepalive = 7s?") == 1, "%s", second);
	server_done(&s);
}
END_TEST

START_TEST(help_and_version)
{
	struct server s;
	char *out;

	MUST(run_args(&s, "", "-h", NULL) == 0, "exit status");
	out = read_file(s.out, NULL);
	MUST(count_matches(out, "outgoing-body-buffer-chunks") > 0, "%s", out);
	MUST(count_matches(out, "^usage: narwhal|^Usage: narwhal") == 1, "%s",
		out);
	server_done(&s);
	MUST(run_args(&s, "", "-V", NULL) == 0, "exit status");
	out = read_file(s.out, NULL);
	MUST(count_matches(out, "^narwhal [0-9]+\\.[0-9]+") == 1, "%s", out);
	server_done(&s);
}
END_TEST

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))

/* ---- what ps shows ---- */

static void
must_be_titled(pid_t pid, const char *want)
{
	char path[40], *title;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	title = read_file(path, NULL);
	MUST(strcmp(title, want) == 0, "'%s' instead of '%s'", title, want);
	free(title);
}

START_TEST(titles)
{
	struct server s;
	char want[200];
	pid_t first, pids[WORKERS_MAX];

	server_start(&s, "[app]\napp = so:hello\n");
	snprintf(want, sizeof(want), "narwhal: master [%s]", s.ini);
	must_be_titled(s.pid, want);
	first = server_worker(&s);
	must_be_titled(first, "narwhal: worker 0");
	server_signal(&s, SIGTTIN);
	server_wait_log(&s, "slot 1, .* is ready");
	MUST(server_workers(&s, pids) == 2, "workers");
	must_be_titled(pids[pids[0] == first], "narwhal: worker 1");
	server_stop(&s);
}
END_TEST

Suite *
start_suite(void)
{
	Suite *suite = suite_create("start");
	TCase *tc = harness_case(suite, "stop");

	tcase_add_loop_test(tc, ready_serves_and_stops, 0, 3);
	tcase_add_test(tc, quick_stop_during_graceful_one);
	tc = harness_case(suite, "status");
	tcase_add_test(tc, address_in_use);
	tcase_add_test(tc, unix_socket_in_use);
	tcase_add_loop_test(tc, bad_usage, 0, N(usage));
	tcase_add_test(tc, app_is_required);
	tcase_add_test(tc, named_file_must_be_there);
	tcase_add_loop_test(tc, app_cannot_be_loaded, 0, N(boots));
	tc = harness_case(suite, "settings");
	tcase_add_test(tc, default_file_is_in_the_current_folder);
	tcase_add_test(tc, all_from_the_command_line);
	tcase_add_loop_test(tc, listen_fds, 0, 2);
	tc = harness_case(suite, "print");
	tcase_add_test(tc, check_beside_a_running_server);
	tcase_add_loop_test(tc, check_finds_faults, 0, N(faults));
	tcase_add_test(tc, print_is_a_configuration);
	tcase_add_test(tc, help_and_version);
	tc = harness_case(suite, "titles");
	tcase_add_test(tc, titles);
	return suite;
}
