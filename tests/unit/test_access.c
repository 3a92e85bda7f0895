/*
 * test_access.c -- formats, and the lines they give.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "worker/access.h"

static int ends[2];
static struct access_log a;
static struct field fields[] = {
	{{"Referer", 7}, {"http://from/", 12}},
	{{"User-Agent", 10}, {"a\tb\xff\x80", 5}},
	{{"X-Real_Ip", 9}, {"6.6.6.6", 7}},
	{{"X-Real-Ip", 9}, {"10.0.0.1", 8}},
	{{"Empty", 5}, {"", 0}},
	{{"Content-Type", 12}, {"text/plain", 10}},
	{{"Authorization", 13}, {NULL, 0}},
};
#define AUTHORIZATION fields[6].value

static struct head head;
static struct access_entry entry;

static struct str
response_field(const void *arg, struct str name)
{
	ck_assert_ptr_eq(arg, &entry);
	return str_eq(name, STR("X-Out")) ? STR("o\"ut") : (struct str){0};
}

static void
set_up(void)
{
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	head = (struct head){
		.method = STR("PUT"),
		.target = STR("/p%20q?x=1"),
		.minor = 1,
		.fields = fields,
		.nfields = 7,
	};
	AUTHORIZATION = STR("Basic YWxpY2U6c2VjcmV0OnM=");
	entry = (struct access_entry){
		.peer = STR("192.0.2.7"),
		.line = STR("PUT /p%20q?x=1 HTTP/1.1"),
		.head = &head,
		.path = STR("/p q"),
		.query = STR("x=1"),
		.status = 201,
		.body_bytes = 1234,
		.micros = 2034567,
		.peak_chunks = 16,
		.blocked_out_us = 77,
		.blocked_in_us = 88,
		.response_field = response_field,
		.arg = &entry,
	};
}

static void
tear_down(void)
{
	access_done(&a);
	fd_close(&ends[0]);
	fd_close(&ends[1]);
}

static void
check_line(const char *format, const char *want)
{
	char line[4096];
	ssize_t n;

	access_done(&a);
	ck_assert_int_eq(access_init(&a, ends[1], format), 0);
	ck_assert_ptr_null(access_check(format));
	access_write(&a, &entry);
	n = read(ends[0], line, sizeof(line) - 1);
	ck_assert_int_gt(n, 0);
	ck_assert_int_eq(line[n - 1], '\n');
	line[n - 1] = '\0';
	ck_assert_str_eq(line, want);
}

static const struct {
	const char *format;
	const char *line;
} rows[] = {
	{"", ""},
	{"as it is", "as it is"},
	{"100%%|%%%(s)s%%", "100%|%201%"},
	{"%(h)s %(l)s %(u)s", "192.0.2.7 - alice"},
	{"%(r)s|%(m)s|%(U)s|%(q)s|%(H)s",
		"PUT /p%20q?x=1 HTTP/1.1|PUT|/p q|x=1|HTTP/1.1"},
	{"%(s)s %(B)s %(b)s", "201 1234 1234"},
	{"%(T)s %(M)s %(D)s %(L)s", "2 2034 2034567 2.034567"},
	{"%(Q)s %(W)s %(R)s", "16 77 88"},
	{"%(f)s|%(a)s", "http://from/|a\\x09b\\xFF\\x80"},
	{"%({x-real-ip}i)s|%({Empty}i)s|%({none}i)s", "10.0.0.1|-|-"},
	{"%({X-Out}o)s|%({none}o)s", "o\\x22ut|-"},
	{"%({remote_addr}e)s|%({REQUEST_METHOD}e)s|%({RAW_URI}e)s|"
	 "%({PATH_INFO}e)s|%({query_string}e)s|%({SERVER_PROTOCOL}e)s",
		"192.0.2.7|PUT|/p%20q?x=1|/p q|x=1|HTTP/1.1"},
	{"%({HTTP_X_REAL_IP}e)s|%({http_none}e)s|%({CONTENT_TYPE}e)s|"
	 "%({CONTENT_LENGTH}e)s|%({wsgi.errors}e)s|%({HTTP_}e)s",
		"10.0.0.1|-|text/plain|-|-|-"},
};

START_TEST(atoms_give_what_they_name)
{
	check_line(rows[_i].format, rows[_i].line);
}
END_TEST

START_TEST(the_process_is_named)
{
	char want[32];

	snprintf(want, sizeof(want), "<%ld>", (long)getpid());
	check_line("%(p)s", want);
}
END_TEST

START_TEST(the_time_is_the_wall_clock)
{
	char stamp[CLOCK_LOG_MAX], want[CLOCK_LOG_MAX + 2], line[100];
	bool same = false;

	ck_assert_int_eq(access_init(&a, ends[1], "%(t)s"), 0);
	for (int i = 0; i < 10 && !same; i++) { /* a second may end between */
		ssize_t n;

		stamp[clock_access_stamp(stamp)] = '\0';
		snprintf(want, sizeof(want), "[%s]", stamp);
		a.stamp_at--; /* one of another second is not used */
		memset(a.stamp, 'x', a.stamp_len);
		access_write(&a, &entry);
		n = read(ends[0], line, sizeof(line) - 1);
		ck_assert_int_gt(n, 0);
		line[n - 1] = '\0';
		same = strcmp(line, want) == 0;
	}
	ck_assert(same);
}
END_TEST

START_TEST(what_is_missing_is_a_dash)
{
	entry = (struct access_entry){.status = 400};
	check_line("%(h)s%(u)s%(r)s%(m)s%(U)s%(q)s%(H)s%(b)s%(f)s%(a)s",
		"----------");
	check_line("%({a}i)s%({a}o)s%({HTTP_A}e)s%({RAW_URI}e)s", "----");
	check_line("%(s)s %(B)s %(D)s %(L)s", "400 0 0 0.000000");
	head = (struct head){0};
	entry.head = &head;
	check_line("%(u)s%(m)s%(H)s%(f)s%({RAW_URI}e)s", "-----");
	head.method = STR("GET");
	check_line("%(H)s", "HTTP/1.0");
	entry.micros = -5;
	check_line("%(D)s", "0");
}
END_TEST

/* Every byte there is, in each value a client chooses. */
START_TEST(a_request_is_one_line)
{
	char all[256], want[2048], twice[4100];
	size_t n = 0;

	for (int c = 0; c < 256; c++)
		all[c] = (char)c;
	for (int c = 0; c < 256; c++)
		n += (size_t)snprintf(want + n, sizeof(want) - n,
			c < 0x20 || c >= 0x7f || c == '"' || c == '\\'
				? "\\x%02X"
				: "%c",
			(unsigned)c);
	entry.line = (struct str){all, sizeof(all)};
	entry.path = entry.query = head.method = entry.line;
	fields[1].value = entry.line;
	check_line("%(r)s", want);
	snprintf(twice, sizeof(twice), "\"%s\" \"%s\"", want, want);
	check_line("\"%(U)s\" \"%(q)s\"", twice);
	check_line("\"%(m)s\" \"%(a)s\"", twice);
	check_line("\"%({user-agent}i)s\" \"%({HTTP_USER_AGENT}e)s\"", twice);
	fields[1].value = STR("a\tb\xff\x80");
}
END_TEST

static const struct {
	const char *value;
	const char *user;
} users[] = {
	{"Basic YWxpY2U6c2VjcmV0OnM=", "alice"},
	{"bAsIc  YWxpY2U6c2VjcmV0OnM= ", "alice"},
	{"Basic YTo=", "a"},
	{"Basic YToi", "a"},
	{"Basic IgoKOg==", "\\x22\\x0A\\x0A"}, /* quote, two newlines */
	{"Basic OnNlY3JldA==", "-"}, /* no name */
	{"Basic YWxpY2U=", "-"}, /* no colon */
	{"Basic YWx!Y2U6", "-"},
	{"Basic ", "-"},
	{"Basic", "-"},
	{"BasicYWxpY2U6", "-"},
	{"Bearer YWxpY2U6c2VjcmV0OnM=", "-"},
	{"", "-"},
};

START_TEST(a_user_is_that_of_basic_authentication)
{
	AUTHORIZATION = str_of(users[_i].value);
	check_line("%(u)s", users[_i].user);
}
END_TEST

static const struct {
	const char *format;
	const char *why;
} refused[] = {
	{"%(h)s %(x)s", "unknown atom '%(x)s'"},
	{"%h", "unknown atom '%h'"},
	{"%h %(s)s", "unknown atom '%h'"},
	{"100%", "unknown atom '%'"},
	{"%(h", "unknown atom '%(h'"},
	{"%(h)d", "unknown atom '%(h)d'"},
	{"%(h)", "unknown atom '%(h)'"},
	{"%(hh)s", "unknown atom '%(hh)s'"},
	{"%()s", "unknown atom '%()s'"},
	{"%({a}x)s", "unknown atom '%({a}x)s'"},
	{"%({}i)s", "unknown atom '%({}i)s'"},
	{"%({a)s", "unknown atom '%({a)s'"},
	{"%(i)s", "unknown atom '%(i)s'"},
	{"%(%)s", "unknown atom '%(%)s'"},
};

START_TEST(unknown_atoms_are_named)
{
	ck_assert_str_eq(access_check(refused[_i].format), refused[_i].why);
	errno = 0;
	ck_assert_int_eq(access_init(&a, ends[1], refused[_i].format), -1);
	ck_assert_int_eq(errno, EINVAL);
}
END_TEST

START_TEST(long_lines_are_whole)
{
	static char target[8000];
	static char line[40000];
	ssize_t n;

	memset(target, '\x01', sizeof(target));
	entry.line = (struct str){target, sizeof(target)};
	ck_assert_int_eq(access_init(&a, ends[1], "%(r)s."), 0);
	access_write(&a, &entry);
	n = read(ends[0], line, sizeof(line));
	ck_assert_int_eq(n, 4 * 8000 + 2);
	ck_assert_int_eq(memcmp(line + n - 6, "\\x01.\n", 6), 0);
}
END_TEST

START_TEST(a_log_that_cannot_be_written_is_ignored)
{
	ck_assert_int_eq(access_init(&a, ends[0], "%(s)s"), 0);
	access_write(&a, &entry); /* the reading end: EBADF */
	a.fd = -1;
	access_write(&a, &entry);
	a.fd = ends[1];
	access_write(&a, &entry);
	ck_assert_int_eq(read(ends[0], (char[8]){0}, 8), 4);
}
END_TEST

START_TEST(done_accepts_the_empty)
{
	struct access_log empty = {.fd = -1};

	access_done(&empty);
	access_done(&empty);
	ck_assert_int_eq(empty.fd, -1);
}
END_TEST

#define N(x) ((int)(sizeof(x) / sizeof((x)[0])))

Suite *access_suite(void);

Suite *
access_suite(void)
{
	Suite *s = suite_create("access");
	TCase *t = tcase_create("access");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, atoms_give_what_they_name, 0, N(rows));
	tcase_add_test(t, the_process_is_named);
	tcase_add_test(t, the_time_is_the_wall_clock);
	tcase_add_test(t, what_is_missing_is_a_dash);
	tcase_add_test(t, a_request_is_one_line);
	tcase_add_loop_test(
		t, a_user_is_that_of_basic_authentication, 0, N(users));
	tcase_add_loop_test(t, unknown_atoms_are_named, 0, N(refused));
	tcase_add_test(t, long_lines_are_whole);
	tcase_add_test(t, a_log_that_cannot_be_written_is_ignored);
	tcase_add_test(t, done_accepts_the_empty);
	suite_add_tcase(s, t);
	return s;
}
