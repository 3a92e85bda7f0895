/*
 * test_apps.c -- the applications that come with narwhal, the one in its
 * manual, and applications that fork.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "process/harness.h"

Suite *apps_suite(void);

#define TRAILING                                                               \
	"Transfer-Encoding: chunked\r\nTE: trailers\r\nConnection: TE\r\n"     \
	"\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 5\r\nx-last: 1\r\n\r\n"

static void
exchange(struct client *c, const char *text, struct answer *a)
{
	client_puts(c, text);
	client_read(c, a);
}

static void
check_field(const struct answer *a, const char *name, const char *value)
{
	const char *found = answer_field(a, name);

	MUST(found && strcmp(found, value) == 0, "%s: %s instead of %s", name,
		found ? found : "(none)", value);
}

/* ---- hello ---- */

START_TEST(hello)
{
	struct server s;
	struct client c;
	struct answer a;

	server_start(&s, "[app]\napp = so:hello\n");
	must_get(&s, "/", "Hello, World!");
	must_get(&s, "/any/path?and=query", "Hello, World!");
	client_open(&c, &s);
	exchange(&c,
		"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nabc",
		&a);
	ck_assert_str_eq(a.body.p, "Hello, World!");
	check_field(&a, "Content-Length", "13");
	check_field(&a, "Content-Type", "text/plain");
	answer_done(&a);
	client_puts(&c, "HEAD / HTTP/1.1\r\nHost: t\r\n\r\n");
	client_read_head(&c, &a);
	check_field(&a, "Content-Length", "13");
	answer_done(&a);
	client_done(&c);
	server_stop(&s);
}
END_TEST

/* ---- echo ---- */

/* Fields come back, but for those of one connection or one message. */
static void
check_echoed_fields(const struct answer *a)
{
	static const char *const gone[] = {
		"Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Upgrade"};
	size_t i;

	ck_assert_int_eq(a->status, 200);
	check_field(a, "Host", "t");
	check_field(a, "X-One", "1");
	check_field(a, "Content-Type", "a/b; c=\"d\"");
	check_field(a, "Date", "yesterday");
	check_field(a, "Server", "me");
	ck_assert_int_eq(answer_fields(a, "Date"), 1);
	ck_assert_int_eq(answer_fields(a, "Server"), 1);
	ck_assert_int_eq(answer_fields(a, "X-Twice"), 2);
	for (i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
		MUST(answer_fields(a, gone[i]) == 0, "%s in %s", gone[i],
			a->head);
}

static const char *const ways_of_echo[] = {"", "X-Host-To-Host: true\r\n"};

START_TEST(echo)
{
	struct server s;
	struct client c;
	struct answer a;

	server_start(&s, "[app]\napp = so:echo\n");
	client_open(&c, &s);
	client_printf(&c,
		"PUT /x HTTP/1.1\r\nHost: t\r\nX-One: 1\r\nX-Twice: a\r\n"
		"Content-Type: a/b; c=\"d\"\r\nx-twice: b\r\n"
		"Date: yesterday\r\nServer: me\r\nKeep-Alive: 5\r\n"
		"Proxy-Connection: x\r\nTrailer: x-last\r\nUpgrade: x\r\n"
		"%s" TRAILING,
		ways_of_echo[_i]);
	client_read(&c, &a);
	check_echoed_fields(&a);
	ck_assert_int_eq(answer_fields(&a, "Content-Length"), 0);
	ck_assert_str_eq(a.body.p, "abcde");
	ck_assert_ptr_nonnull(a.trailers);
	ck_assert_ptr_nonnull(strstr(a.trailers, "X-Sum: 5\r\n"));
	ck_assert_ptr_nonnull(strstr(a.trailers, "x-last: 1\r\n"));
	answer_done(&a);
	/* and the connection goes on */
	client_printf(&c,
		"PUT /x HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n"
		"%s\r\nwxyz",
		ways_of_echo[_i]);
	client_read(&c, &a);
	ck_assert_str_eq(a.body.p, "wxyz");
	answer_done(&a);
	client_done(&c);
	ck_assert_int_eq(server_count_log(&s, "refused|wrongly"), 0);
	server_stop(&s);
}
END_TEST

/* No trailers for a client that did not ask for them. */
START_TEST(echo_without_te)
{
	struct server s;
	struct client c;
	struct answer a;

	server_start(&s, "[app]\napp = so:echo\n");
	client_open(&c, &s);
	exchange(&c,
		"POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n"
		"\r\n1\r\nx\r\n0\r\nX-Sum: 1\r\n\r\n",
		&a);
	ck_assert_str_eq(a.body.p, "x");
	ck_assert_ptr_null(strstr(a.head, "X-Sum"));
	ck_assert(!a.trailers || *a.trailers == '\0');
	answer_done(&a);
	client_done(&c);
	server_stop(&s);
}
END_TEST

/* ---- upload ---- */

static const struct {
	const char *request;
	const char *count;
} uploads[] = {
	{"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nhello", "5"},
	{"POST / HTTP/1.1\r\nHost: t\r\n" TRAILING, "5"},
	{"POST / HTTP/1.1\r\nHost: t\r\n\r\n", "0"},
	{"GET / HTTP/1.1\r\nHost: t\r\n\r\n", "0"},
};

START_TEST(upload)
{
	struct server s;
	struct client c;
	struct answer a;
	char json[100];
	double seconds = -1;

	server_start(&s, "[app]\napp = so:upload\n");
	client_open(&c, &s);
	exchange(&c, uploads[_i].request, &a);
	ck_assert_int_eq(a.status, 200);
	check_field(&a, "Content-Type", "application/json");
	check_field(&a, "X-Received-Length", uploads[_i].count);
	snprintf(json, sizeof(json),
		"{\"received_bytes\": %s, \"process_seconds\": ",
		uploads[_i].count);
	MUST(strncmp(a.body.p, json, strlen(json)) == 0, "%s", a.body.p);
	ck_assert_int_eq(sscanf(a.body.p + strlen(json), "%lf}", &seconds), 1);
	ck_assert(seconds >= 0 && seconds < 60);
	answer_done(&a);
	client_done(&c);
	server_stop(&s);
}
END_TEST

/* ---- the manual's ---- */

START_TEST(example_of_the_manual)
{
	struct server s;
	struct client c;
	struct answer a;

	server_start(&s,
		"[app]\napp = " APP(
			"man-example") "\n"
				       "[options]\ngreeting = Hello\n");
	must_get(&s, "/?world", "Hello, world!\n");
	must_get(&s, "/", "Hello, !\n");
	client_open(&c, &s);
	exchange(&c,
		"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 6\r\n\r\n"
		"a\nb\nc\n",
		&a);
	ck_assert_str_eq(a.body.p, "3 lines\n");
	answer_done(&a);
	exchange(&c, "DELETE / HTTP/1.1\r\nHost: t\r\n\r\n", &a);
	ck_assert_int_eq(a.status, 405);
	answer_done(&a);
	client_done(&c);
	server_stop(&s);

	server_init(&s);
	server_listen(&s);
	server_ini(&s,
		"[server]\nbind = fd:3\n"
		"[app]\napp = " APP("man-example") "\n");
	ck_assert_int_eq(server_run(&s), 4);
	ck_assert_int_eq(server_count_log(&s, "has no 'greeting'"), 1);
	server_done(&s);
}
END_TEST

/* ---- memory ---- */

static void
say_hello(const struct server *s, int n, bool keep_alive)
{
	struct client c;
	struct answer a;
	int i;

	client_open(&c, s);
	for (i = 0; i < n; i++) {
		if (!keep_alive && i > 0) {
			client_done(&c);
			client_open(&c, s);
		}
		exchange(
			&c, "GET /a?b HTTP/1.1\r\nHost: t\r\nX: y\r\n\r\n", &a);
		ck_assert_str_eq(a.body.p, "Hello, World!");
		answer_done(&a);
	}
	client_done(&c);
}

static uint64_t
mallocs(const struct server *s)
{
	char *p = read_file(server_path(s, "mallocs"), NULL);
	uint64_t n;

	memcpy(&n, p, sizeof(n));
	free(p);
	return n;
}

START_TEST(warm_worker_allocates_nothing)
{
	static char counter[300];
	const char *prefix[] = {
		"env", "LD_PRELOAD=" NW_BUILD "/tests/mallocs.so", counter};
	const uint64_t zero = 0;
	struct server s;
	uint64_t before;

	if (sanitized()) /* a sanitizer has a malloc of its own */
		return;
	server_init(&s);
	server_listen(&s);
	server_ini(&s, "[server]\nbind = fd:3\n[app]\napp = so:hello\n");
	write_file(server_path(&s, "mallocs"), &zero, sizeof(zero));
	snprintf(counter, sizeof(counter), "MALLOCS_FILE=%s",
		server_path(&s, "mallocs"));
	memcpy(s.prefix, prefix, sizeof(prefix));
	s.nprefix = 3;
	server_spawn(&s);
	server_wait_ready(&s);
	say_hello(&s, 50, _i);
	before = mallocs(&s);
	ck_assert_uint_gt(before, 0); /* it does count */
	say_hello(&s, 500, _i);
	ck_assert_uint_eq(mallocs(&s), before);
	server_stop(&s);
}
END_TEST

/* ---- chance ---- */

/* Ask until so many workers have told a number that no other one told. */
static void
collect(const struct server *s, int (*seen)[2], int n, int enough)
{
	int pid, number, i;
	struct answer a;

	while (n < enough) {
		get(s, "/rand", &a);
		MUST(sscanf(a.body.p, "%d %d", &pid, &number) == 2, "%s",
			a.body.p);
		answer_done(&a);
		for (i = 0; i < n && seen[i][0] != pid; i++)
			ck_assert_int_ne(seen[i][1], number);
		if (i < n)
			continue;
		seen[n][0] = pid;
		seen[n++][1] = number;
	}
}

/*
 * The first number of rand() in four workers, in the four after a reload, and
 * in one that comes in place of a dead one.
 */
START_TEST(workers_have_chances_of_their_own)
{
	const char *text = "workers = 4\n[app]\napp = " APP("probe") "\n";
	struct server s;
	int seen[9][2];

	server_start(&s, "%s", text);
	collect(&s, seen, 0, 4);
	server_reload(&s, "%s", text);
	collect(&s, seen, 4, 8);
	kill(seen[7][0], SIGKILL);
	collect(&s, seen, 8, 9);
	server_stop(&s);
}
END_TEST

/* ---- forks ---- */

/* handle returns in a fork: that process ends, and nothing is sent twice. */
START_TEST(fork_that_returns)
{
	struct server s;
	struct client c;
	struct answer a;
	int i;

	server_start(&s, "[app]\napp = " APP("forks") "\n");
	client_open(&c, &s);
	for (i = 0; i < 3; i++) {
		exchange(&c, "GET /return HTTP/1.1\r\nHost: t\r\n\r\n", &a);
		ck_assert_str_eq(a.body.p, "child exit 0\n");
		answer_done(&a);
	}
	client_shut(&c);
	client_wait_eof(&c);
	client_done(&c);
	server_stop(&s);
}
END_TEST

static bool
has_line(const struct answer *a, const char *pattern)
{
	return count_matches(a->body.p, pattern) > 0;
}

/* Nothing of the worker's is open in it, and signals are as for anybody. */
START_TEST(fork_has_nothing_of_the_worker)
{
	struct server s;
	struct answer a;

	server_start(&s,
		"[app]\napp = " APP("forks") "\n[log]\naccess-log = access\n");
	get(&s, "/look", &a);
	MUST(has_line(&a, " 2 -> "), "%s", a.body.p);
	MUST(!has_line(&a, " ([3-9]|[0-9]{2,}) -> "), "%s", a.body.p);
	MUST(has_line(&a, "^SigBlk:.0+$"), "%s", a.body.p);
	/* The C library keeps 32 and 33 to itself; they stay as inherited. */
	MUST(has_line(&a, "^SigIgn:.0000000[01][08]0000000$"), "%s", a.body.p);
	MUST(sanitized() || has_line(&a, "^SigCgt:.0+$"), "%s", a.body.p);
	answer_done(&a);
	server_stop(&s);
}
END_TEST

/* A child that stays keeps neither its client waiting nor the server up. */
START_TEST(fork_that_stays)
{
	struct server s;
	struct client c;
	struct answer a;

	server_init(&s);
	server_listen(&s);
	server_ini(&s,
		"[server]\nbind = fd:3\n[app]\napp = " APP(
			"forks") "\n"
				 "[options]\nwhile = %s\n",
		server_path(&s, "file"));
	write_file(server_path(&s, "file"), "", 0);
	server_spawn(&s);
	server_wait_ready(&s);
	client_open(&c, &s);
	exchange(&c,
		"GET /stay HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n",
		&a);
	ck_assert_str_eq(a.body.p, "answered\n");
	answer_done(&a);
	client_wait_eof(&c);
	client_done(&c);
	server_signal(&s, SIGTERM);
	ck_assert_int_eq(server_wait_exit(&s), 0);
	shell(&s, "rm file");
	server_done(&s);
}
END_TEST

Suite *
apps_suite(void)
{
	Suite *s = suite_create("apps");
	TCase *t = harness_case(s, "shipped");

	tcase_add_test(t, hello);
	tcase_add_loop_test(t, echo, 0, 2);
	tcase_add_test(t, echo_without_te);
	tcase_add_loop_test(t, upload, 0, 4);
	tcase_add_test(t, example_of_the_manual);

	t = harness_case(s, "memory");
	tcase_add_loop_test(t, warm_worker_allocates_nothing, 0, 2);

	t = harness_case(s, "forks");
	tcase_add_test(t, workers_have_chances_of_their_own);
	tcase_add_test(t, fork_that_returns);
	tcase_add_test(t, fork_has_nothing_of_the_worker);
	tcase_add_test(t, fork_that_stays);
	return s;
}
