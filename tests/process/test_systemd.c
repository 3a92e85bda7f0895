/*
 * test_systemd.c -- what a supervisor hears, and what is installed for it.
 */
#include "process/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

Suite *systemd_suite(void);

#define HELLO "[app]\napp = so:hello\n"

/* The next message that has this line; none before it is READY=1. */
static const char *
must_hear(struct server *s, const char *pattern)
{
	int64_t until = now_ms() + PATIENCE_MS;
	static char text[1000];
	ssize_t n;

	for (;;) {
		MUST(now_ms() < until, "never heard: %s", pattern);
		n = recv(s->notify, text, sizeof(text) - 1, MSG_DONTWAIT);
		text[n > 0 ? n : 0] = '\0';
		if (count_matches(text, pattern) > 0)
			return text;
		MUST(count_matches(text, "^READY=1$") == 0, "READY=1 before %s",
			pattern);
		if (n == -1)
			nap();
	}
}

/* As sd_notify wants it: the moment on CLOCK_MONOTONIC, in us. */
static void
must_hear_moment(struct server *s, int64_t since)
{
	const char *text = must_hear(s, "^MONOTONIC_USEC=[0-9]+$");
	int64_t at = atoll(strchr(strstr(text, "MONOTONIC_USEC"), '=') + 1);

	MUST(since <= at && at <= now_us(), "%s not since %lld", text,
		(long long)since);
}

START_TEST(messages)
{
	struct server s;
	int64_t now;

	server_start(&s, HELLO);
	must_hear(&s, "^STATUS=generation 1, 1 of 1 workers serve$");
	server_reload(&s, HELLO "[limits]\nrequest-fields = 50\n");
	must_hear(&s, "^RELOADING=1$");
	must_hear(&s, "^READY=1$");
	server_ini(&s, "[server]\nbind = fd:3\n[app]\napp = %s\n",
		APP("openfails"));
	now = now_us();
	server_signal(&s, SIGHUP);
	must_hear_moment(&s, now);
	must_hear(&s, "^READY=1$");
	server_ini(&s, "wrong\n");
	server_signal(&s, SIGHUP);
	must_hear(&s, "^RELOADING=1$");
	must_hear(&s, "^READY=1$");
	server_signal(&s, SIGTERM);
	must_hear(&s, "^STOPPING=1$");
	MUST(server_wait_exit(&s) == 0, "exit status");
	server_done(&s);
}
END_TEST

START_TEST(not_ready_before_the_first_worker)
{
	struct server s;

	server_init(&s);
	server_listen(&s);
	write_file(server_path(&s, "hold"), "", 0);
	server_ini(&s,
		"[server]\nbind = fd:3\n[app]\napp = %s\n"
		"[options]\nwhile = %s\n",
		APP("slowopen"), server_path(&s, "hold"));
	server_spawn(&s);
	server_wait_log(&s, "slowopen: opening");
	must_hear(&s, "^STATUS=generation 1, 0 of 1 workers serve$");
	server_signal(&s, SIGTTIN); /* one more turn of the master's loop */
	must_hear(&s, "^STATUS=generation 1, 0 of 2 workers serve$");
	MUST(unlink(server_path(&s, "hold")) == 0, "unlink");
	server_wait_ready(&s);
	must_hear(&s, "^STATUS=generation 1, 1 of 2 workers serve$");
	server_stop(&s);
}
END_TEST

/*
 * Ready is who has no reload under way: neither an old worker that may still
 * accept nor a new one on trial.
 */
START_TEST(reload_within_a_reload)
{
	struct server s;
	pid_t old;

	server_start(&s, HELLO);
	old = server_worker(&s);
	kill(old, SIGSTOP); /* it cannot hand over */
	UNTIL(proc_stopped(old));
	server_signal(&s, SIGHUP);
	server_wait_log(&s, "generation 2 takes over");
	server_ini(&s, "wrong\n");
	server_signal(&s, SIGHUP);
	server_wait_log(&s, REFUSED);
	write_file(server_path(&s, "hold"), "", 0);
	server_ini(&s,
		"[server]\nbind = fd:3\n[app]\napp = %s\n"
		"[options]\nwhile = %s\n",
		APP("slowopen"), server_path(&s, "hold"));
	server_signal(&s, SIGHUP);
	server_wait_log(&s, "slowopen: opening");
	kill(old, SIGCONT);
	server_wait_log(&s, "left after");
	server_signal(&s, SIGTTIN); /* one more turn of the master's loop */
	must_hear(&s, "^STATUS=reloading: generation 2, 1 of 2 workers serve$");
	MUST(unlink(server_path(&s, "hold")) == 0, "unlink");
	server_wait_log(&s, "generation 4 takes over");
	must_hear(&s, "^STATUS=generation 4, 1 of 2 workers serve$");
	must_hear(&s, "^READY=1$");
	server_wait_log(&s, RELOADED);
	MUST(server_count_log(&s, RELOADED) == 1, "done twice");
	server_stop(&s);
}
END_TEST

/* The supervisor has no time to read: no more goes into its queue. */
static void
fill_queue(const struct server *s)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	struct sockaddr_un un;
	socklen_t len = sizeof(un);

	MUST(getsockname(s->notify, (void *)&un, &len) == 0, "getsockname");
	while (sendto(fd, "x", 1, 0, (void *)&un, len) == 1)
		;
	close(fd);
}

/* What it missed it hears as soon as it reads again. */
START_TEST(full_queue)
{
	struct server s;

	server_init(&s);
	server_listen(&s);
	server_ini(&s, "[server]\nbind = fd:3\n" HELLO);
	fill_queue(&s);
	server_spawn(&s);
	server_wait_log(&s, "is ready after");
	must_get(&s, "/", "Hello, World!"); /* nothing has waited for it */
	must_hear(&s, "^READY=1$");
	must_hear(&s, "^STATUS=generation 1, 1 of 1 workers serve$");
	fill_queue(&s);
	server_signal(&s, SIGHUP);
	server_wait_log(&s, RELOADED);
	must_hear(&s, "^RELOADING=1$");
	must_hear(&s, "^READY=1$");
	fill_queue(&s);
	server_signal(&s, SIGTERM);
	MUST(server_wait_exit(&s) == 0, "exit status");
	server_done(&s);
}
END_TEST

START_TEST(watchdog)
{
	struct server s;

	setenv("WATCHDOG_USEC", "200000", 1);
	server_start(&s, HELLO);
	for (int i = 0; i < 3; i++)
		must_hear(&s, "^WATCHDOG=1$");
	server_stop(&s);
}
END_TEST

/* What systemd-analyze may make of the unit: ten times its exposure level. */
#define EXPOSURE "16"

START_TEST(units)
{
	struct server s;

	if (system("systemd-analyze --version >/dev/null 2>&1") != 0) {
		fprintf(stderr, "skipped: units (no systemd-analyze)\n");
		return;
	}
	server_init(&s);
	shell(&s,
		"sed 's|/usr/local/bin|" NW_BUILD "|' " NW_SOURCE
		"/conf/narwhal.service >narwhal.service && "
		"cp " NW_SOURCE "/conf/narwhal.socket . && "
		"systemd-analyze verify --man=no $PWD/narwhal.service "
		"$PWD/narwhal.socket && "
		"systemd-analyze security --offline=yes --no-pager "
		"--threshold=" EXPOSURE " $PWD/narwhal.service >exposure");
	server_done(&s);
}
END_TEST

/* What bash offers for this word, sorted. */
static void
must_complete(const struct server *s, const char *word, const char *want)
{
	shell(s,
		"PATH=" NW_BUILD ":$PATH bash -c 'source " NW_SOURCE
		"/conf/narwhal.bash; COMP_LINE=\"narwhal %s\"; "
		"COMP_POINT=${#COMP_LINE}; _narwhal narwhal; "
		"printf \"%%s\\n\" \"${COMPREPLY[@]}\" | LC_ALL=C sort | "
		"tr \"\\n\" \" \" | grep -qFx \"%s \"'",
		word, want);
}

START_TEST(completion_of_values)
{
	struct server s;

	server_init(&s);
	shell(&s, "touch a.ini a.log");
	must_complete(&s, "--log-level=", "debug error info warning");
	must_complete(&s, "--proxy-protocol=v", "v1 v2");
	must_complete(&s, "-t --daemon=", "no yes");
	must_complete(&s, "--error-log=a", "a.ini a.log");
	must_complete(&s, "--keepalive=", "");
	must_complete(&s, "--no-such-key=", "");
	server_done(&s);
}
END_TEST

/* Each key of --help, and nothing else, is completed. */
START_TEST(completion)
{
	struct server s;

	server_init(&s);
	shell(&s,
		"PATH=" NW_BUILD ":$PATH bash -c 'source " NW_SOURCE
		"/conf/narwhal.bash; COMP_LINE=\"narwhal --\"; COMP_POINT=10; "
		"_narwhal narwhal; printf \"%%s\\n\" \"${COMPREPLY[@]}\" | "
		"grep =$ | sort >got; narwhal --help | "
		"grep -o \"^  --[a-z-]*=\" | grep -v KEY | tr -d \" \" | "
		"sort >want; test -s want && cmp got want'");
	server_done(&s);
}
END_TEST

/* An application is built out of the tree with what is installed. */
START_TEST(installed)
{
	struct server s;

	server_init(&s);
	shell(&s,
		"env -u MAKEFLAGS -u MAKELEVEL make -s -C " NW_SOURCE
		" install DESTDIR=\"$PWD/dest\" PREFIX=/usr/local "
		"LIBDIR=/usr/local/lib >/dev/null && "
		"export PKG_CONFIG_PATH=\"$PWD/dest/usr/local/lib/pkgconfig\" "
		"PKG_CONFIG_SYSROOT_DIR=\"$PWD/dest\" && "
		"cp " NW_SOURCE "/src/apps/hello.c app.c && "
		"cc -shared -fPIC $(pkg-config --cflags narwhal) -o app.so "
		"app.c && "
		"dest/usr/local/bin/narwhal -t so:./app.so 2>check && "
		"! find dest -name '*.new' | grep .");
	server_done(&s);
}
END_TEST

/* As PID 1 of a container: TERM works, though nothing protects us from it. */
START_TEST(process_1)
{
	static const char *const argv[] = {
		"unshare", "-pf", "--mount-proc", "--kill-child"};
	struct server s;
	pid_t pids[WORKERS_MAX];

	if (system("unshare -pf --mount-proc true 2>/dev/null") != 0) {
		fprintf(stderr, "skipped: process_1 (no namespaces)\n");
		return;
	}
	server_init(&s);
	server_listen(&s);
	server_ini(
		&s, "[server]\nbind = fd:3\n[app]\napp = %s\n", APP("probe"));
	memcpy(s.prefix, argv, sizeof(argv));
	s.nprefix = 4;
	server_spawn(&s);
	server_wait_ready(&s);
	for (int i = 0; i < 3; i++)
		must_get(&s, "/orphan", "orphaned");
	must_get(&s, "/ok", "probe");
	MUST(server_count_log(&s, "\\] \\[1\\] \\[info\\]") > 0, "not PID 1");
	MUST(server_workers(&s, pids) == 1, "unshare has one child");
	UNTIL(server_workers(&(struct server){.pid = pids[0]}, pids + 1) == 1);
	MUST(kill(pids[0], SIGTERM) == 0, "kill");
	MUST(server_wait_exit(&s) == 0, "exit status");
	server_done(&s);
}
END_TEST

Suite *
systemd_suite(void)
{
	Suite *suite = suite_create("systemd");
	TCase *tc = harness_case(suite, "all");

	tcase_add_test(tc, messages);
	tcase_add_test(tc, not_ready_before_the_first_worker);
	tcase_add_test(tc, reload_within_a_reload);
	tcase_add_test(tc, full_queue);
	tcase_add_test(tc, watchdog);
	tcase_add_test(tc, units);
	tcase_add_test(tc, completion);
	tcase_add_test(tc, completion_of_values);
	tcase_add_test(tc, installed);
	tcase_add_test(tc, process_1);
	return suite;
}
