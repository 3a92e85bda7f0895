/*
 * test_logs.c -- one line for each thing worth saying, and for each request,
 * whatever bytes the client sent; in new files after USR1.
 */
#include "process/harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *logs_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))
#define PROBE_APP "[app]\napp = " APP("probe") "\n"
#define B(text) text, sizeof(text) - 1

/* All lines of a file in the server's folder. */
static int
lines(const struct server *s, const char *name)
{
	char *text;
	int n;

	if (access(server_path(s, name), F_OK) == -1)
		return 0;
	text = read_file(server_path(s, name), NULL);
	n = count_matches(text, "^.");
	free(text);
	return n;
}

static int
matches(const struct server *s, const char *name, const char *pattern)
{
	char *text = read_file(server_path(s, name), NULL);
	int n = count_matches(text, pattern);

	free(text);
	return n;
}

static void
start_logging(struct server *s, const char *more)
{
	server_init(s);
	server_listen(s);
	server_ini(s,
		"[server]\nbind = fd:3\n" PROBE_APP
		"[log]\nerror-log = %s\naccess-log = %s\n%s",
		server_path(s, "error"), server_path(s, "access"), more);
	server_spawn(s);
	server_wait_ready(s);
}

/* ---- the error log ---- */

/* What is closed at the start must not become a client's connection. */
START_TEST(standard_descriptors_are_closed)
{
	struct server s;
	struct answer a;
	int i;

	server_init(&s);
	server_listen(&s);
	server_ini(&s,
		"[server]\nbind = fd:3\n" PROBE_APP "[log]\naccess-log = -\n");
	s.prefix[s.nprefix++] = "sh";
	s.prefix[s.nprefix++] = "-c";
	s.prefix[s.nprefix++] = "exec \"$0\" \"$@\" <&- >&- 2>&-";
	server_spawn(&s);
	server_wait_ready(&s);
	for (i = 0; i < 3; i++)
		shell(&s, "test \"$(readlink /proc/%d/fd/%d)\" = /dev/null",
			(int)server_worker(&s), i);
	get(&s, "/sleep?ms=1", &a); /* it logs a line */
	MUST(a.status == 200, "%s", a.head);
	answer_done(&a);
	server_signal(&s, SIGTERM);
	MUST(server_wait_exit(&s) == 0, "exit status");
	server_done(&s);
}
END_TEST

START_TEST(form_of_the_error_log)
{
	struct server s;

	server_start(&s, PROBE_APP);
	get(&s, "/inject?value=0", &(struct answer){0});
	server_wait_log(&s, "refused");
	MUST(server_count_log(&s,
		     "^\\[[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8} [+-][0-9]{4}\\] "
		     "\\[[0-9]+\\] \\[(error|warning|info|debug)\\] ") ==
			server_count_log(&s, "^."),
		"a line has another form");
	server_stop(&s);
}
END_TEST

START_TEST(level_of_the_error_log)
{
	struct server s;

	server_start(&s, PROBE_APP "[log]\nlog-level = error\n");
	must_get(&s, "/ok", "probe");
	server_stop(&s);
	server_init(&s);
	server_listen(&s);
	server_ini(&s,
		"[server]\nbind = fd:3\n" PROBE_APP
		"[log]\nlog-level = error\n");
	server_spawn(&s);
	server_wait_ready(&s);
	get(&s, "/inject?value=0", &(struct answer){0});
	server_wait_log(&s, "\\[error\\]");
	MUST(server_count_log(&s, "\\[(info|warning)\\]") == 0, "talkative");
	server_stop(&s);
}
END_TEST

/* ---- the access log ---- */

START_TEST(combined_format)
{
	struct server s;
	struct client c;
	struct answer a;

	start_logging(&s, "");
	client_open(&c, &s);
	client_puts(&c,
		"GET /ok?a=b HTTP/1.1\r\nHost: t\r\nReferer: /from\r\n"
		"User-Agent: tester/1.0\r\n\r\n");
	client_read(&c, &a);
	client_done(&c);
	UNTIL(lines(&s, "access") == 1);
	MUST(matches(&s, "access",
		     "^127\\.0\\.0\\.1 - - "
		     "\\[[0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9:]{8} "
		     "[+-][0-9]{4}\\] "
		     "\"GET /ok\\?a=b HTTP/1\\.1\" 200 5 \"/from\" "
		     "\"tester/1\\.0\" [0-9]+$") == 1,
		"not the combined format and %%(D)s");
	server_stop(&s);
}
END_TEST

static const struct {
	const char *format, *pattern;
} atoms[] = {
	{"%(h)s %(m)s %(U)s %(q)s %(H)s %(s)s %(B)s %(b)s",
		"^127\\.0\\.0\\.1 GET /ok a=b HTTP/1\\.1 200 5 5$"},
	{"%(r)s|%({x-test}i)s|%({content-type}o)s|%({X-None}i)s",
		"^GET /ok\\?a=b HTTP/1\\.1\\|yes\\|text/plain\\|-$"},
	{"%(D)s %(L)s %(M)s %(T)s", "^[0-9]+ [0-9]+\\.[0-9]+ [0-9]+ [0-9]+$"},
	{"<%(p)s>", "^<[0-9]+>$|^<<[0-9]+>>$"},
	{"Q=%(Q)s W=%(W)s R=%(R)s", "^Q=[0-9]+ W=[0-9]+ R=[0-9]+$"},
};

START_TEST(atoms_of_the_format)
{
	char more[200];
	struct server s;
	struct client c;
	struct answer a;

	snprintf(more, sizeof(more), "access-log-format = \"%s\"\n",
		atoms[_i].format);
	start_logging(&s, more);
	client_open(&c, &s);
	client_puts(&c,
		"GET /ok?a=b HTTP/1.1\r\nHost: t\r\nX-Test: yes\r\n"
		"\r\n");
	client_read(&c, &a);
	client_done(&c);
	UNTIL(lines(&s, "access") == 1);
	MUST(matches(&s, "access", atoms[_i].pattern) == 1, "%s",
		atoms[_i].format);
	server_stop(&s);
}
END_TEST

/* What a client must not be able to do: more than one line, or raw bytes. */
static const struct {
	const char *p;
	size_t n;
} forged[] = {
	{B("GET /%0d%0a10.0.0.9%20-%20-%20%22GET%20/forged%22%20200 HTTP/1.1"
	   "\r\nHost: t\r\n\r\n")},
	{B("GET /?\x1b[2J\x7f HTTP/1.1\r\nHost: t\r\n\r\n")},
	{B("GET / HTTP/1.1\r\nHost: t\r\nUser-Agent: a\tb\xff\x80\"\\\r\n\r\n")},
	{B("GET / HTTP/1.1\r\nHost: t\r\nReferer: \"x\" \xe2\x80\xa8\r\n\r\n")},
	{B("nonsense\r\n\r\n")}, /* refused, and logged all the same */
	{B("GET / HTTP/1.1\r\n\r\n")},
	{B("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: x\r\n\r\n")},
	{B("GET / HTTP/2.0\r\nHost: t\r\n\r\n")},
	{B("GET \"quoted\" HTTP/1.1\r\nHost: t\r\n\r\n")},
};

START_TEST(one_request_one_line)
{
	struct server s;
	struct answer a;
	char *text;
	size_t n, i;
	int k;

	start_logging(&s, "");
	for (k = 0; k < N(forged); k++) {
		ask(&s, forged[k].p, forged[k].n, &a);
		answer_done(&a);
		UNTIL(lines(&s, "access") >= k + 1);
		MUST(lines(&s, "access") == k + 1, "%d lines after %d requests",
			lines(&s, "access"), k + 1);
	}
	text = read_file(server_path(&s, "access"), &n);
	for (i = 0; i < n; i++)
		MUST((text[i] >= 0x20 && text[i] < 0x7f) || text[i] == '\n',
			"byte %#x in the log", (unsigned char)text[i]);
	MUST(count_matches(text, "\" 400 ") >= 4, "%s", text);
	MUST(count_matches(text, "^10\\.") == 0, "%s", text);
	server_stop(&s);
}
END_TEST

/* Slow ones are logged with their 408; silence is no request. */
START_TEST(refusals_and_silence)
{
	struct client slow, silent;
	struct server s;

	start_logging(&s, "[timeouts]\nheader-timeout = 300ms\n");
	client_open(&silent, &s);
	client_open(&slow, &s);
	client_puts(&slow, "GET /slow HT");
	client_slurp(&slow);
	client_slurp(&silent);
	UNTIL(lines(&s, "access") >= 1);
	MUST(matches(&s, "access", " 408 ") >= 1, "no 408");
	server_stop(&s);
}
END_TEST

START_TEST(access_log_to_stdout)
{
	struct server s;

	server_start(&s, PROBE_APP "[log]\naccess-log = -\n");
	must_get(&s, "/ok", "probe");
	UNTIL(lines(&s, "out") == 1);
	server_stop(&s);
	server_start(&s, PROBE_APP); /* and off by default */
	must_get(&s, "/ok", "probe");
	MUST(lines(&s, "out") == 0, "it is on");
	server_stop(&s);
}
END_TEST

/* ---- a reader that stops ---- */

static const struct {
	const char *pipe, *ini;
} stops[] = {
	{"pipe", "access-log = %s"},
	{"out", "access-log = -"},
	{"pipe", "error-log = %s"},
};

/* A request that leaves a line no pipe promises to take in one piece. */
static void
request_long_line(const struct server *s)
{
	char line[7001] = "", request[16000];
	struct answer a;

	memset(line, 'x', sizeof(line) - 1);
	snprintf(request, sizeof(request),
		"GET /log?n=14000 HTTP/1.1\r\nHost: t\r\nReferer: %s\r\n"
		"User-Agent: %s\r\nConnection: close\r\n\r\n",
		line, line);
	ask(s, request, strlen(request), &a);
	MUST(a.status == 200, "%s", a.head);
	answer_done(&a);
}

/* Clients choose how long their lines are: none may hold the worker. */
START_TEST(nobody_reads_the_log)
{
	char some[65536], log[200];
	struct server s;
	ssize_t n;
	int fd, i;

	server_init(&s);
	server_listen(&s);
	shell(&s, "mkfifo %s", stops[_i].pipe);
	fd = open(server_path(&s, stops[_i].pipe), O_RDWR | O_NONBLOCK);
	snprintf(log, sizeof(log), stops[_i].ini,
		server_path(&s, stops[_i].pipe));
	server_ini(&s, "[server]\nbind = fd:3\n" PROBE_APP "[log]\n%s\n", log);
	server_spawn(&s);
	server_wait_ready(&s);
	for (i = 0; i < 12; i++)
		request_long_line(&s);
	/* an application's own writes to stderr are made to wait as ever */
	shell(&s, "grep -q 'flags:.*[0-3][0-7][0-7][0-7]$' /proc/%d/fdinfo/2",
		(int)server_worker(&s));
	while (read(fd, some, sizeof(some)) > 0)
		;
	must_get(&s, "/log?n=1", "logged");
	UNTIL((n = read(fd, some, sizeof(some) - 1)) > 0);
	some[n] = '\0';
	MUST(count_matches(some, "\\] x$|GET /log.n=1 ") == 1, "%s", some);
	server_stop(&s);
	close(fd);
}
END_TEST

/* ---- USR1 ---- */

START_TEST(reopened_after_usr1)
{
	struct server s;
	pid_t pid;
	int i;

	start_logging(&s, "");
	pid = server_worker(&s);
	must_get(&s, "/first", "probe");
	UNTIL(lines(&s, "access") == 1);
	for (i = 0; i < 3; i++) {
		shell(&s, "mv access access.old && mv error error.old");
		server_signal(&s, SIGUSR1);
		UNTIL(lines(&s, "error") > 0); /* the master has its new one */
		/* a worker takes its new one before the next request */
		must_get(&s, "/second", "probe");
		UNTIL(lines(&s, "access") + lines(&s, "access.old") >= 2);
		must_get(&s, "/sleep?ms=0", "slept");
		UNTIL(lines(&s, "access") > 0);
		MUST(matches(&s, "error", "reopened|probe") > 0, "error log");
	}
	MUST(server_worker(&s) == pid, "the worker was replaced");
	server_stop(&s);
}
END_TEST

/* A file that cannot be opened again leaves the old one in use. */
START_TEST(log_that_cannot_be_reopened)
{
	struct server s;

	start_logging(&s, "");
	shell(&s, "mv access access.old && mkdir access");
	server_signal(&s, SIGUSR1);
	UNTIL(matches(&s, "error", "cannot reopen '.*access'") == 1);
	must_get(&s, "/ok", "probe");
	UNTIL(lines(&s, "access.old") == 1);
	server_stop(&s);
}
END_TEST

Suite *
logs_suite(void)
{
	Suite *suite = suite_create("logs");
	TCase *tc = harness_case(suite, "error");

	tcase_add_test(tc, standard_descriptors_are_closed);
	tcase_add_test(tc, form_of_the_error_log);
	tcase_add_test(tc, level_of_the_error_log);
	tc = harness_case(suite, "access");
	tcase_add_test(tc, combined_format);
	tcase_add_loop_test(tc, atoms_of_the_format, 0, N(atoms));
	tcase_add_test(tc, one_request_one_line);
	tcase_add_test(tc, refusals_and_silence);
	tcase_add_test(tc, access_log_to_stdout);
	tcase_add_loop_test(tc, nobody_reads_the_log, 0, N(stops));
	tc = harness_case(suite, "reopen");
	tcase_add_test(tc, reopened_after_usr1);
	tcase_add_test(tc, log_that_cannot_be_reopened);
	return suite;
}
