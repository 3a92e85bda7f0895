/*
 * test_config.c -- the INI file is strict, and what it says is in force.
 */
#include "process/harness.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

Suite *config_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))

/* Run with -t or -T over this INI; the status, and all it said in *ret. */
static int
run(const char *option, const char *ini, char **ret)
{
	struct server s;
	struct bytes all = {0};
	char *text;
	int status;
	size_t n;

	server_init(&s);
	server_ini(&s, "%s", ini);
	server_arg(&s, option);
	status = server_run(&s);
	text = read_file(s.log, &n);
	bytes_add(&all, text, n);
	free(text);
	text = read_file(s.out, &n);
	bytes_add(&all, text, n);
	free(text);
	server_done(&s);
	*ret = all.p;
	return status;
}

static void
must_say(const char *text, const char *pattern)
{
	MUST(count_matches(text, pattern) > 0, "no line like %s in:\n%s",
		pattern, text);
}

/* ---- all faults, each with its line ---- */

START_TEST(every_fault_is_reported)
{
	char *text;
	int status = run("-t",
		"orphan = 1\n" /* 1: before any section */
		"[app]\n"
		"app = so:hello\n"
		"[server]\n"
		"wrokers = 4\n" /* 5 */
		"workers = two\n"
		"keepalive = 5 parsecs\n"
		"[buffer]\n" /* 8: unknown section */
		"input-block-size = 64k\n"
		"[limits]\n"
		"request-line = 1e3\n" /* 11 */
		"request-fields = -1\n"
		"request-fields = 50\n" /* 13: repeated */
		"no equals sign\n"
		"[server\n", /* 15 */
		&text);

	MUST(status == 2, "exit status %d", status);
	must_say(text, "narwhal\\.ini:1: ");
	must_say(text, "narwhal\\.ini:5: wrokers: .*did you mean 'workers'");
	must_say(text, "narwhal\\.ini:6: workers: ");
	must_say(text, "narwhal\\.ini:7: keepalive: ");
	must_say(text, "narwhal\\.ini:8: .*buffer");
	must_say(text, "narwhal\\.ini:11: request-line: ");
	must_say(text, "narwhal\\.ini:12: request-fields: ");
	must_say(text, "narwhal\\.ini:13: request-fields: ");
	must_say(text, "narwhal\\.ini:14: ");
	must_say(text, "narwhal\\.ini:15: ");
}
END_TEST

static const struct {
	const char *app, *bind, *line;
	const char *says;
} refused[] = {
	{"so:hello", "", "[server]\nwrokers = 4", "8: wrokers: unknown key"},
	{"so:hello", "", "[server]\nworkers = two",
		"8: workers: 'two' is not a number$"},
	{"so:hello", "", "[timeouts]\ntimeout = -5",
		"8: timeout: '-5' is not a time"},
	{"so:hello", ", 127.0.0.1:99999", "",
		"4: bind: '127\\.0\\.0\\.1:99999' has no port"},
	{"missing_colon", "", "", "2: app: 'missing_colon' is not MODULE:"},
};

/* A start says one line and leaves nothing, before it binds or forks. */
START_TEST(a_start_refuses_it)
{
	struct server s;
	char says[200];
	int status;

	server_init(&s);
	server_ini(&s,
		"[app]\napp = %s\n[server]\nbind = unix:%s%s\n"
		"[process]\npidfile = pid\n%s\n",
		refused[_i].app, server_path(&s, "socket"), refused[_i].bind,
		refused[_i].line);
	status = server_run(&s);
	MUST(status == 2, "exit status %d", status);
	snprintf(says, sizeof(says), "narwhal\\.ini:%s", refused[_i].says);
	MUST(server_count_log(&s, says) == 1, "not said: %s", says);
	MUST(server_count_log(&s, "^.") == 1, "more than one line");
	MUST(access(server_path(&s, "socket"), F_OK) == -1, "a socket is left");
	MUST(access(server_path(&s, "pid"), F_OK) == -1, "a pid file is left");
	server_done(&s);
}
END_TEST

/* ---- values ---- */

static const struct {
	const char *line; /* in [limits] or wherever its section is */
	const char *says; /* -T, or NULL: refused */
} values[] = {
	{"[limits]\nrequest-fields =  7 ", "^request-fields = 7( |$)"},
	{"[limits]\nrequest-line = 8k", "^request-line = 8(k|192)( |$)"},
	{"[limits]\nrequest-line = 1e3", NULL},
	{"[limits]\nrequest-line = -1", NULL},
	{"[limits]\nrequest-line = 99999999999", NULL},
	{"[limits]\nrequest-line = 0", NULL},
	{"[limits]\nrequest-field-size = 0", NULL},
	{"[limits]\nrequest-field-size = 99999999999", NULL},
	{"[limits]\nrequest-line = 8 k b", NULL},
	{"[limits]\nrequest-body = 0", "^request-body = 0( |$)"},
	{"[limits]\nrequest-body = 99999999999999999999999", NULL},
	{"[server]\nworkers = 0", NULL},
	{"[server]\nworkers = 512", "^workers = 512( |$)"},
	{"[server]\nworkers = 513", NULL},
	{"[server]\nworkers = 2   ; two of them", "^workers = 2( |$)"},
	{"[server]\nkeepalive = 5 # seconds", "^keepalive = 5s?( |$)"},
	{"[server]\n   keepalive = 1500ms", "^keepalive = 1500ms( |$)"},
	{"[server]\nbacklog = -1", NULL},
	{"[server]\nbind = 127.0.0.1:99999", NULL},
	{"[server]\nbind = nonsense:", NULL},
	{"[server]\nunix-socket-mode = 9", NULL},
	{"[buffers]\ninput-block-size = 511", NULL},
	{"[buffers]\ninput-block-size = 512", "^input-block-size = 512( |$)"},
	{"[buffers]\ninput-block-size = 16m",
		"^input-block-size = 16(m|777216)"},
	{"[buffers]\ninput-block-size = 17m", NULL},
	{"[buffers]\noutgoing-body-buffer-chunks = 1025", NULL},
	{"[buffers]\noutgoing-body-buffer-chunks = 0",
		"^outgoing-body-buffer-chunks = 0( |$)"},
	/* 1024 x 1m is more than 256m */
	{"[buffers]\noutgoing-body-buffer-chunks = 1024\n"
	 "outgoing-body-chunk-size = 1m",
		NULL},
	{"[timeouts]\ntimeout = -5", NULL},
	{"[timeouts]\ntimeout = 0", "^timeout = 0"},
	{"[timeouts]\ntimeout = 2h", "^timeout = (2h|120m|7200s?)( |$)"},
	{"[log]\nerror-log = /tmp/a#b.log", "^error-log = /tmp/a#b\\.log( |$)"},
	{"[log]\nerror-log = \"/tmp/a ;b.log\"",
		"^error-log = .*/tmp/a ;b\\.log"},
	{"[log]\nlog-level = loud", NULL},
	{"[log]\naccess-log-format = %(h)s %(nonsense", NULL},
};

START_TEST(one_value)
{
	char ini[400], *text;
	int status;

	snprintf(ini, sizeof(ini), "[app]\napp = so:hello\n%s\n",
		values[_i].line);
	status = run("-T", ini, &text);
	if (values[_i].says) {
		MUST(status == 0, "%s: status %d\n%s", values[_i].line, status,
			text);
		must_say(text, values[_i].says);
	} else {
		MUST(status == 2, "%s: status %d\n%s", values[_i].line, status,
			text);
		must_say(text, "narwhal\\.ini:[0-9]+: [a-z-]+: ");
	}
}
END_TEST

/* inih cuts lines at 199 bytes; ours do not. */
START_TEST(lines_of_4000_bytes)
{
	char ini[5000], value[3981], *text;

	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	snprintf(ini, sizeof(ini),
		"[app]\napp = so:hello\n[options]\nlong = %s\n", value);
	MUST(run("-T", ini, &text) == 0, "%s", text);
	must_say(text, value);
}
END_TEST

/* Defaults, then the environment, the file, the command line. */
START_TEST(order_of_sources)
{
	struct server s;
	char *text;

	setenv("WEB_CONCURRENCY", "7", 1);
	MUST(run("-T", "[app]\napp = so:hello\n", &text) == 0, "%s", text);
	must_say(text, "^workers = 1( |$)"); /* the harness takes it away */
	server_init(&s);
	server_ini(&s, "[app]\napp = so:hello\n");
	server_arg(&s, "-T");
	s.keep_environment = true;
	setenv("PORT", "8123", 1);
	MUST(server_run(&s) == 0, "status");
	text = read_file(s.out, NULL);
	must_say(text, "^workers = 7( |$)");
	must_say(text, "^bind = 0\\.0\\.0\\.0:8123( |$)");
	server_ini(&s, "[app]\napp = so:hello\n[server]\nworkers = 8\n");
	unlink(s.out);
	MUST(server_run(&s) == 0, "status");
	text = read_file(s.out, NULL);
	must_say(text, "^workers = 8( |$)");
	server_arg(&s, "--workers=9");
	unlink(s.out);
	MUST(server_run(&s) == 0, "status");
	text = read_file(s.out, NULL);
	must_say(text, "^workers = 9( |$)");
	server_done(&s);
}
END_TEST

/* ---- [env], [options], chdir: what the application finds ---- */

START_TEST(what_the_application_finds)
{
	struct server s;

	server_start(&s,
		"[app]\napp = %s\nchdir = /usr\n"
		"[options]\ncolour = blue ; not red\nquoted = \"a ; b\"\n"
		"[env]\nNARWHAL_TEST = in the env\n"
		"[buffers]\ninput-block-size = 8k\n",
		APP("probe"));
	must_get(&s, "/cwd", "/usr");
	must_get(&s, "/option?colour", "blue");
	must_get(&s, "/option?quoted", "a ; b");
	must_get(&s, "/option?missing", "(none)");
	must_get(&s, "/env?NARWHAL_TEST", "in the env");
	must_get(&s, "/env?NOTIFY_SOCKET", "(none)");
	must_get(&s, "/setting?input-block-size", "8192");
	must_get(&s, "/setting?no-such-key", "(none)");
	server_stop(&s);
}
END_TEST

/* ---- addresses ---- */

static int
connect_to(int family, int port)
{
	struct sockaddr_in a4 = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6,
		.sin6_port = htons((uint16_t)port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = family == AF_INET ? connect(fd, (void *)&a4, sizeof(a4))
				  : connect(fd, (void *)&a6, sizeof(a6));

	close(fd);
	return r;
}

static bool
has_ipv6(void)
{
	struct sockaddr_in6 a = {
		.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool can = fd != -1 && bind(fd, (void *)&a, sizeof(a)) == 0;

	close(fd);
	return can;
}

/* [::] is for version 6 only, so it gets along with 0.0.0.0. */
START_TEST(both_families_on_one_port)
{
	struct server s;
	int port = free_port();
	char v4[40];

	if (!has_ipv6()) {
		fprintf(stderr,
			"skipped: both_families_on_one_port "
			"(no IPv6)\n");
		return;
	}
	server_init(&s);
	snprintf(v4, sizeof(v4), "0.0.0.0:%d, ", port);
	server_ini(&s, "[app]\napp = so:hello\n[server]\nbind = %s[::]:%d\n",
		_i ? "" : v4, port);
	server_spawn(&s);
	server_wait_ready(&s);
	MUST(connect_to(AF_INET6, port) == 0, "version 6");
	MUST(connect_to(AF_INET, port) == (_i ? -1 : 0), "version 4");
	server_stop(&s);
}
END_TEST

START_TEST(several_addresses)
{
	struct server s;
	struct client c;
	struct answer a;
	int i;

	server_init(&s);
	for (i = 0; i < 3; i++)
		server_listen(&s);
	server_ini(&s,
		"[app]\napp = so:hello\n[server]\n"
		"bind = fd:3 fd:4, fd:5 unix:%s\n",
		server_path(&s, "socket"));
	server_spawn(&s);
	server_wait_ready(&s);
	for (i = 0; i < 4; i++) {
		if (i < 3)
			client_open_nth(&c, &s, i);
		else
			client_open_unix(&c, server_path(&s, "socket"));
		client_puts(&c, "GET / HTTP/1.0\r\n\r\n");
		client_read(&c, &a);
		MUST(a.status == 200, "%s", a.head);
		client_done(&c);
	}
	server_stop(&s);
}
END_TEST

Suite *
config_suite(void)
{
	Suite *suite = suite_create("config");
	TCase *tc = harness_case(suite, "faults");

	tcase_add_test(tc, every_fault_is_reported);
	tcase_add_loop_test(tc, a_start_refuses_it, 0, N(refused));
	tc = harness_case(suite, "values");
	tcase_add_loop_test(tc, one_value, 0, N(values));
	tcase_add_test(tc, lines_of_4000_bytes);
	tcase_add_test(tc, order_of_sources);
	tcase_add_test(tc, what_the_application_finds);
	tc = harness_case(suite, "addresses");
	tcase_add_loop_test(tc, both_families_on_one_port, 0, 2);
	tcase_add_test(tc, several_addresses);
	return suite;
}
