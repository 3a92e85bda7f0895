/*
 * test_strict.c -- the raw pass over a head.
 *
 * Each row is scanned whole, a byte at a time, and cut in two at every offset,
 * and what came so far always ends at the edge of readable memory and moves
 * between two looks.  All have to tell the same.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "edge.h"
#include "http/strict.h"

Suite *strict_suite(void);

struct row {
	const char *what;
	struct str bytes;
	int status;
	int rest; /* bytes behind the head; -1: the head is not complete */
};

struct outcome {
	int status;
	size_t len;
	size_t start;
	size_t nfields;
	int minor;
};

static const struct strict_limits roomy = {65536, 8190, 100, 8190};

#define GOOD(what, bytes)                                                      \
	{                                                                      \
		what, STR(bytes), 0, 0                                         \
	}
#define GOOD_REST(what, bytes, rest)                                           \
	{                                                                      \
		what, STR(bytes), 0, rest                                      \
	}
#define MORE(what, bytes)                                                      \
	{                                                                      \
		what, STR(bytes), 0, -1                                        \
	}
#define BAD(what, bytes, status)                                               \
	{                                                                      \
		what, STR(bytes), status, 0                                    \
	}
#define GET "GET / HTTP/1.1\r\n"

static const struct row rows[] = {
	GOOD("no fields", GET "\r\n"),
	GOOD("a field", GET "Host: t\r\n\r\n"),
	GOOD("HTTP/1.0", "GET / HTTP/1.0\r\n\r\n"),
	GOOD("HTTP/1.9", "GET / HTTP/1.9\r\n\r\n"),
	GOOD("private method", "-b!a|h /foo HTTP/1.1\r\nHost: t\r\n\r\n"),
	GOOD("any target", "X \"<>\\^`{|}#\xff HTTP/1.1\r\n\r\n"),
	GOOD("empty line before", "\r\n" GET "\r\n"),
	GOOD("empty lines before", "\r\n\r\n\r\n" GET "A: b\r\n\r\n"),
	GOOD("empty value", GET "A:\r\nB: \r\nC:\t\r\n\r\n"),
	GOOD("no blank after the colon", GET "a:+++\r\n\r\n"),
	GOOD("tabs in a value", GET "A:\t\t a\tb \t c\t\t\r\n\r\n"),
	GOOD("8-bit value", GET "A: caf\xc3\xa9\x80\xff\r\n\r\n"),
	GOOD("a name of symbols", GET "X.Custom|Pipe~: ok\r\n\r\n"),
	GOOD("colons in a value", GET "A:::b:\r\n\r\n"),
	GOOD("long value",
		GET "A: 0123456789abcdef0123456789abcdef\t0123456789\r\n\r\n"),
	GOOD_REST("pipelined", GET "\r\n" GET "\r\n", 18),
	GOOD_REST("body", "PUT / HTTP/1.1\r\n\r\n\r\n", 2),
	GOOD_REST("junk behind the head", GET "A: b\r\n\r\n\r\0\n", 3),

	MORE("nothing", ""),
	MORE("an empty line", "\r\n"),
	MORE("part of the method", "GE"),
	MORE("no version yet", "GET / "),
	MORE("no CR yet", "GET / HTTP/1.1"),
	MORE("no LF yet", "GET / HTTP/1.1\r"),
	MORE("no field yet", GET),
	MORE("part of a name", GET "Ho"),
	MORE("part of a value", GET "Host: "),
	MORE("no empty line yet", GET "Host: t\r\n"),
	MORE("no last LF yet", GET "Host: t\r\n\r"),

	BAD("HTTP/0.9", "GET /\r\n", 400),
	BAD("no target", "GET HTTP/1.1\r\n\r\n", 400),
	BAD("empty target", "GET  HTTP/1.1\r\n\r\n", 400),
	BAD("two blanks behind the method", "GET  / HTTP/1.1\r\n\r\n", 400),
	BAD("two blanks behind the target", "GET /  HTTP/1.1\r\n\r\n", 400),
	BAD("tab behind the method", "GET\t/ HTTP/1.1\r\n\r\n", 400),
	BAD("tab behind the target", "GET /\tHTTP/1.1\r\n\r\n", 400),
	BAD("blank in the target", "GET /a b HTTP/1.1\r\n\r\n", 400),
	BAD("blank before the method", " GET / HTTP/1.1\r\n\r\n", 400),
	BAD("blank behind the version", "GET / HTTP/1.1 \r\n\r\n", 400),
	BAD("two versions", "GET / HTTP/1.1 HTTP/1.1\r\n\r\n", 400),
	BAD("colon in the method", "bla:rgh / HTTP/1.1\r\n\r\n", 400),
	BAD("NUL in the method", "GET\0 / HTTP/1.1\r\n\r\n", 400),
	BAD("8-bit method", "GET\xc3\x9f / HTTP/1.1\r\n\r\n", 400),
	BAD("NUL in the target", "GET /\0 HTTP/1.1\r\n\r\n", 400),
	BAD("DEL in the target", "GET /\x7f HTTP/1.1\r\n\r\n", 400),
	BAD("LF in the target", "GET /\n HTTP/1.1\r\n\r\n", 400),
	BAD("small http", "GET / http/1.1\r\n\r\n", 400),
	BAD("another protocol", "GET / FTP/1.1\r\n\r\n", 400),
	BAD("version of three digits", "GET / HTTP/111\r\n\r\n", 400),
	BAD("minor of two digits", "GET / HTTP/1.10\r\n\r\n", 400),
	BAD("major of two digits", "GET / HTTP/11.1\r\n\r\n", 400),
	BAD("no minor", "GET / HTTP/1.\r\n\r\n", 400),
	BAD("no digit", "GET / HTTP/1.x\r\n\r\n", 400),
	BAD("a long number", "GET / HTTP/11111111111111111111111111.1\r\n",
		400),
	BAD("HTTP/2.0", "GET / HTTP/2.0\r\n\r\n", 505),
	BAD("HTTP/0.9 by name", "GET / HTTP/0.9\r\n\r\n", 505),
	BAD("HTTP/0.99", "GET / HTTP/0.99\r\n\r\n", 400),
	BAD("HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
	BAD("TLS", "\x16\x03\x01\x02\x00\x01", 400),
	BAD("PROXY protocol", "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n" GET, 400),

	BAD("line ends in LF", "GET / HTTP/1.1\n\r\n", 400),
	BAD("line ends in CR", "GET / HTTP/1.1\r\r\n", 400),
	BAD("line ends in LF CR", "GET / HTTP/1.1\n\r", 400),
	BAD("LF before", "\n" GET "\r\n", 400),
	BAD("CR before", "\rGET / HTTP/1.1\r\n\r\n", 400),
	BAD("field ends in LF", GET "Host: t\n\r\n", 400),
	BAD("field ends in CR", GET "Host: t\rA: b\r\n\r\n", 400),
	BAD("head ends in LF", GET "Host: t\r\n\n", 400),
	BAD("head ends in CR X", GET "Host: t\r\n\rX", 400),
	BAD("folding", GET "A: one\r\n two\r\n\r\n", 400),
	BAD("folding with a tab", GET "A: one\r\n\ttwo\r\n\r\n", 400),
	BAD("blank before the first field", GET " Host: t\r\n\r\n", 400),
	BAD("line of blanks", GET " \r\n\r\n", 400),
	BAD("blank before the colon", GET "Host : t\r\n\r\n", 400),
	BAD("tab before the colon", GET "Host\t: t\r\n\r\n", 400),
	BAD("blank in a name", GET "Ho st: t\r\n\r\n", 400),
	BAD("no name", GET ": t\r\n\r\n", 400),
	BAD("no colon", GET "Host\r\n\r\n", 400),
	BAD("NUL in a name", GET "Ho\0st: t\r\n\r\n", 400),
	BAD("8-bit name", GET "A\xc3\x9f: t\r\n\r\n", 400),
	BAD("NUL in a value", GET "A: a\0b\r\n\r\n", 400),
	BAD("NUL first in a value", GET "A:\0b\r\n\r\n", 400),
	BAD("CR in a value", GET "A: a\rb\r\n\r\n", 400),
	BAD("BEL in a value", GET "A: a\ab\r\n\r\n", 400),
	BAD("VT in a value", GET "A: \vb\r\n\r\n", 400),
	BAD("DEL in a value", GET "A: a\x7f\r\n\r\n", 400),
	BAD("control byte behind a long run",
		GET "A: 0123456789abcdef0123456789abcdef\x1f\r\n\r\n", 400),
	BAD("control byte in a long run",
		GET "A: 012345678\x7f"
		    "abcdef0123456789abcdef\r\n\r\n",
		400),
};

static struct outcome
outcome_of(const struct strict *s, int status, size_t len)
{
	if (status)
		return (struct outcome){.status = status};
	return (struct outcome){0, len, s->start, s->nfields, s->minor};
}

static int
look(struct strict *s, const struct strict_limits *l, struct str bytes,
	size_t n, size_t *ret_len)
{
	return strict_scan(s, l, edge_copy(bytes.p, n), n, ret_len);
}

/* The head in pieces of n bytes, of which the first is n1 long. */
static struct outcome
scan(const struct strict_limits *l, struct str bytes, size_t n1, size_t n)
{
	struct strict s;
	size_t len = 0, seen;
	int status = 0;

	strict_reset(&s);
	for (seen = n1; !status && !len; seen += n) {
		if (seen > bytes.len)
			seen = bytes.len;
		status = look(&s, l, bytes, seen, &len);
		if (seen == bytes.len)
			break;
	}
	return outcome_of(&s, status, len);
}

static void
same(const char *what, size_t cut, struct outcome a, struct outcome b)
{
	bool equal = a.status == b.status && a.len == b.len &&
		a.start == b.start && a.nfields == b.nfields &&
		a.minor == b.minor;

	ck_assert_msg(equal, "%s: cut at %zu: %d %zu, but whole %d %zu", what,
		cut, a.status, a.len, b.status, b.len);
}

START_TEST(verdict)
{
	const struct row *r = &rows[_i];
	struct outcome o = scan(&roomy, r->bytes, r->bytes.len, 1);
	size_t len = r->status || r->rest < 0 ? 0 : r->bytes.len - r->rest;

	ck_assert_msg(o.status == r->status && o.len == len,
		"%s: status %d, length %zu", r->what, o.status, o.len);
}
END_TEST

START_TEST(verdict_however_cut)
{
	const struct row *r = &rows[_i];
	struct outcome whole = scan(&roomy, r->bytes, r->bytes.len, 1);
	size_t cut;

	same(r->what, 1, scan(&roomy, r->bytes, 1, 1), whole);
	same(r->what, 3, scan(&roomy, r->bytes, 3, 3), whole);
	for (cut = 0; cut < r->bytes.len; cut++)
		same(r->what, cut, scan(&roomy, r->bytes, cut, r->bytes.len),
			whole);
}
END_TEST

START_TEST(verdict_does_not_change_when_asked_again)
{
	struct str bytes = STR(GET "A: b\r\n\r\nrest");
	struct strict s;
	size_t len;

	strict_reset(&s);
	ck_assert_int_eq(look(&s, &roomy, bytes, 5, &len), 0);
	ck_assert_int_eq(look(&s, &roomy, bytes, 5, &len), 0);
	ck_assert_uint_eq(len, 0);
	ck_assert_int_eq(look(&s, &roomy, bytes, bytes.len, &len), 0);
	ck_assert_uint_eq(len, bytes.len - 4);
	ck_assert_int_eq(look(&s, &roomy, bytes, bytes.len, &len), 0);
	ck_assert_uint_eq(len, bytes.len - 4);
}
END_TEST

START_TEST(what_is_told_of_a_head)
{
	struct str bytes =
		STR("\r\n\r\nGET / HTTP/1.1\r\nA: b\r\nC: d\r\n\r\n");
	struct outcome o = scan(&roomy, bytes, bytes.len, 1);

	ck_assert_uint_eq(o.start, 4);
	ck_assert_uint_eq(o.nfields, 2);
	ck_assert_int_eq(o.minor, 1);
	o = scan(&roomy, STR("GET / HTTP/1.0\r\n\r\n"), 18, 1);
	ck_assert_uint_eq(o.start, 0);
	ck_assert_uint_eq(o.nfields, 0);
	ck_assert_int_eq(o.minor, 0);
}
END_TEST

/* ---- each byte in each place ---- */

static bool
is_token_byte(int c)
{
	return c &&
		strchr("!#$%&'*+-.^_`|~0123456789"
		       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		       "abcdefghijklmnopqrstuvwxyz",
			c);
}

static bool
is_value_byte(int c)
{
	return c == '\t' || (c >= ' ' && c != 0x7f);
}

static int
verdict_with(const char *before, int c, const char *after)
{
	char bytes[128];
	int n = snprintf(bytes, sizeof(bytes), "%s%c%s", before, c, after);
	struct outcome o = scan(&roomy, (struct str){bytes, n}, n, 1);

	return o.status ? o.status : o.len == (size_t)n ? 0 : -1;
}

static void
expect_byte(const char *before, int c, const char *after, bool good)
{
	int status = verdict_with(before, c, after);

	ck_assert_msg(status == (good ? 0 : 400), "%s[%02x]%s: %d", before, c,
		after, status);
}

START_TEST(bytes_of_a_token)
{
	int c;

	for (c = 0; c < 256; c++) {
		bool good = is_token_byte(c);

		expect_byte("G", c, "T / HTTP/1.1\r\n\r\n", good);
		/* A colon ends the name, and the rest is its value. */
		expect_byte(GET "N", c, "me: v\r\n\r\n", good || c == ':');
	}
}
END_TEST

START_TEST(bytes_of_a_target)
{
	int c;

	for (c = 0; c < 256; c++) {
		bool good = c > ' ' && c != 0x7f;

		expect_byte("GET /", c, "x HTTP/1.1\r\n\r\n", good);
		expect_byte("GET /0123456789abcdef", c,
			"0123456789abcdef0 HTTP/1.1\r\n\r\n", good);
	}
}
END_TEST

START_TEST(bytes_of_a_value)
{
	int c;

	for (c = 0; c < 256; c++) {
		bool good = is_value_byte(c);

		expect_byte(GET "N: ", c, "x\r\n\r\n", good);
		expect_byte(GET "N: x", c,
			"0123456789abcdef0123456789abcdef\r\n\r\n", good);
		expect_byte(GET "N: 0123456789abcdef\t", c, "\r\n\r\n", good);
	}
}
END_TEST

START_TEST(bytes_alone)
{
	int i;

	for (i = 0; i < 256; i++) {
		char c = (char)i;

		ck_assert(strict_is_token((struct str){&c, 1}) ==
			is_token_byte(i));
		ck_assert(strict_is_value((struct str){&c, 1}) ==
			is_value_byte(i));
	}
}
END_TEST

START_TEST(strings)
{
	ck_assert(!strict_is_token(STR("")));
	ck_assert(!strict_is_token((struct str){NULL, 0}));
	ck_assert(strict_is_token(STR("X-A")));
	ck_assert(!strict_is_token(STR("X A")));
	ck_assert(strict_is_value(STR("")));
	ck_assert(strict_is_value((struct str){NULL, 0}));
	ck_assert(strict_is_value(STR("a \t b, 0123456789abcdef\t")));
	ck_assert(!strict_is_value(STR("0123456789abcdef\n")));
}
END_TEST

/* ---- limits: exact, and judged with the first byte too many ---- */

static const struct strict_limits tight = {200, 40, 3, 30};

struct judged {
	int status;
	size_t at; /* bytes that had come by then */
};

/* Byte by byte, until there is a verdict of any kind. */
static struct judged
judged(const struct strict_limits *l, struct str bytes)
{
	struct strict s;
	size_t n, len = 0;
	int status = 0;

	strict_reset(&s);
	for (n = 1; n <= bytes.len; n++) {
		status = look(&s, l, bytes, n, &len);
		if (status || len)
			return (struct judged){status, n};
	}
	return (struct judged){-1, bytes.len};
}

static void
expect_judged(const char *text, int status, size_t at)
{
	struct judged j = judged(&tight, str_of(text));
	struct outcome o = scan(&tight, str_of(text), strlen(text), 1);

	ck_assert_msg(j.status == status && j.at == at,
		"%s: %d at %zu, not %d at %zu", text, j.status, j.at, status,
		at);
	ck_assert_msg(o.status == status, "%s: whole %d", text, o.status);
}

START_TEST(limit_of_the_request_line)
{
	expect_judged("GET /5678901234567890123456789 HTTP/1.1\r\n\r\n", 0, 43);
	expect_judged(
		"GET /56789012345678901234567890 HTTP/1.1\r\n\r\n", 0, 44);
	expect_judged(
		"GET /567890123456789012345678901 HTTP/1.1\r\n\r\n", 414, 41);
	expect_judged("GET /5678901234567890123456789012345678901234", 414, 41);
	/* Empty lines in front are not part of it. */
	expect_judged(
		"\r\n\r\nGET /56789012345678901234567890 HTTP/1.1\r\n\r\n", 0,
		48);
	expect_judged("\r\nGET /567890123456789012345678901 HTTP/1.1\r\n\r\n",
		414, 43);
	/* The limit comes first, whatever the byte is. */
	expect_judged("GET /5678901234567890123456789012345678\x01 ", 400, 40);
	expect_judged("GET /56789012345678901234567890123456789\x01 ", 414, 41);
}
END_TEST

START_TEST(method_beyond_the_request_line)
{
	expect_judged("GETGETGETGETGETGETGETGETGETGETGETGETGETGETGET", 414, 41);
	expect_judged("GETGETGETGETGETGETGETGETGETGETGETGETGETGETGET /"
		      " HTTP/1.1\r\n\r\n",
		414, 41);
}
END_TEST

START_TEST(limit_of_a_field)
{
	expect_judged(GET "A: 456789012345678901234567890\r\n\r\n", 0, 50);
	expect_judged(GET "A: 4567890123456789012345678901\r\n\r\n", 431, 47);
	expect_judged(GET "A2345678901234567890123456789:\r\n\r\n", 0, 50);
	expect_judged(GET "A23456789012345678901234567890:\r\n", 431, 47);
	expect_judged(GET "A:                            \r\n\r\n", 0, 50);
	expect_judged(GET "A:                             \r\n\r\n", 431, 47);
}
END_TEST

START_TEST(limit_of_the_number_of_fields)
{
	expect_judged(GET "A:\r\nB:\r\nC:\r\n\r\n", 0, 30);
	expect_judged(GET "A:\r\nB:\r\nC:\r\nD:\r\n\r\n", 431, 29);
}
END_TEST

/* GET, a field or two, and n bytes in all. */
static struct str
head_of(size_t n, char *p)
{
	int len = snprintf(p, 300, "GET / HTTP/1.1\r\n");

	memset(p + len, 'a', n - len);
	memcpy(p + len, "A:", 2);
	memcpy(p + n - 4, "\r\n\r\n", 4);
	return (struct str){p, n};
}

START_TEST(limit_of_the_head)
{
	const struct strict_limits l = {200, 200, 3, 200};
	char p[300];
	struct judged j;

	j = judged(&l, head_of(199, p));
	ck_assert_int_eq(j.status, 0);
	j = judged(&l, head_of(200, p));
	ck_assert_int_eq(j.status, 0);
	ck_assert_uint_eq(j.at, 200);
	j = judged(&l, head_of(201, p));
	ck_assert_int_eq(j.status, 431);
	ck_assert_uint_eq(j.at, 200); /* what is to come is too much already */
	ck_assert_int_eq(scan(&l, head_of(201, p), 201, 1).status, 431);
	ck_assert_int_eq(scan(&l, head_of(200, p), 200, 1).status, 0);
	ck_assert_int_eq(scan(&l, head_of(300, p), 300, 1).status, 431);
}
END_TEST

START_TEST(empty_lines_count_for_the_head)
{
	const struct strict_limits l = {30, 30, 3, 30};
	char p[64];
	size_t i;

	for (i = 0; i < sizeof(p); i++)
		p[i] = i % 2 ? '\n' : '\r';
	ck_assert_int_eq(judged(&l, (struct str){p, 64}).status, 431);
	ck_assert_uint_eq(judged(&l, (struct str){p, 64}).at, 30);
	memcpy(p + 12, "GET / HTTP/1.1\r\n\r\n", 18);
	ck_assert_int_eq(judged(&l, (struct str){p, 30}).status, 0);
	memmove(p + 14, p + 12, 18);
	memcpy(p + 12, "\r\n", 2);
	ck_assert_int_eq(judged(&l, (struct str){p, 32}).status, 431);
}
END_TEST

/* ---- trailers ---- */

static struct judged
judged_trailers(struct str bytes)
{
	struct strict s;
	size_t n, len = 0;
	int status = 0;

	strict_reset_trailers(&s);
	for (n = 1; n <= bytes.len; n++) {
		status = look(&s, &tight, bytes, n, &len);
		if (status || len)
			return (struct judged){status, n};
	}
	return (struct judged){-1, bytes.len};
}

START_TEST(trailers)
{
	static const struct {
		struct str bytes;
		int status;
		size_t at;
	} t[] = {
		{STR("\r\nrest"), 0, 2},
		{STR("A: b\r\n\r\nrest"), 0, 8},
		{STR("A: b\r\nC:\r\n\r\n"), 0, 12},
		{STR("A: b\r\n"), -1, 6},
		{STR("\n"), 400, 1},
		{STR("A: b\n"), 400, 5},
		{STR("A : b\r\n"), 400, 2},
		{STR("GET / HTTP/1.1\r\n"), 400, 4},
		{STR(" A: b\r\n"), 400, 1},
		{STR("A:\r\nB:\r\nC:\r\nD:"), 431, 13},
		{STR("A: 4567890123456789012345678901"), 431, 31},
	};
	struct judged j = judged_trailers(t[_i].bytes);

	ck_assert_msg(j.status == t[_i].status && j.at == t[_i].at,
		"%s: %d at %zu", t[_i].bytes.p, j.status, j.at);
}
END_TEST

static TCase *
limit_tests(void)
{
	TCase *t = tcase_create("limits");

	tcase_add_test(t, limit_of_the_request_line);
	tcase_add_test(t, method_beyond_the_request_line);
	tcase_add_test(t, limit_of_a_field);
	tcase_add_test(t, limit_of_the_number_of_fields);
	tcase_add_test(t, limit_of_the_head);
	tcase_add_test(t, empty_lines_count_for_the_head);
	return t;
}

static TCase *
byte_tests(void)
{
	TCase *t = tcase_create("bytes");

	tcase_add_test(t, bytes_of_a_token);
	tcase_add_test(t, bytes_of_a_target);
	tcase_add_test(t, bytes_of_a_value);
	tcase_add_test(t, bytes_alone);
	tcase_add_test(t, strings);
	return t;
}

Suite *
strict_suite(void)
{
	Suite *s = suite_create("strict");
	TCase *t = tcase_create("verdicts");
	int n = sizeof(rows) / sizeof(rows[0]);

	tcase_add_loop_test(t, verdict, 0, n);
	tcase_add_loop_test(t, verdict_however_cut, 0, n);
	tcase_add_test(t, verdict_does_not_change_when_asked_again);
	tcase_add_test(t, what_is_told_of_a_head);
	tcase_add_loop_test(t, trailers, 0, 11);
	suite_add_tcase(s, t);
	suite_add_tcase(s, byte_tests());
	suite_add_tcase(s, limit_tests());
	return s;
}
