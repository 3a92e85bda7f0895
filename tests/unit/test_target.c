/*
 * test_target.c -- request targets taken apart.
 */
#include <check.h>
#include <string.h>

#include "edge.h"
#include "http/target.h"

Suite *target_suite(void);

struct row {
	const char *what;
	const char *method;
	const char *target;
	int status;
	enum target_form form;
	struct str path; /* decoded */
	const char *raw_path;
	const char *query; /* NULL: no '?' was there */
	const char *authority;
	const char *scheme;
};

#define ORIGIN(w, t, p, raw, q)                                                \
	{                                                                      \
		.what = w, .method = "GET", .target = t,                       \
		.form = TARGET_ORIGIN, .path = STR(p), .raw_path = raw,        \
		.query = q                                                     \
	}
#define ABSOLUTE(w, t, p, q, a, s)                                             \
	{                                                                      \
		.what = w, .method = "GET", .target = t,                       \
		.form = TARGET_ABSOLUTE, .path = STR(p), .raw_path = p,        \
		.query = q, .authority = a, .scheme = s                        \
	}
#define OTHER(w, m, t, f)                                                      \
	{                                                                      \
		.what = w, .method = m, .target = t, .form = f,                \
		.path = STR(t), .raw_path = t                                  \
	}
#define BAD(w, t)                                                              \
	{                                                                      \
		.what = w, .method = "GET", .target = t, .status = 400         \
	}
#define BAD_WITH(w, m, t, s)                                                   \
	{                                                                      \
		.what = w, .method = m, .target = t, .status = s               \
	}

static const struct row rows[] = {
	ORIGIN("root", "/", "/", "/", NULL),
	ORIGIN("path", "/a/b.c", "/a/b.c", "/a/b.c", NULL),
	ORIGIN("query", "/a?b=c&d", "/a", "/a", "b=c&d"),
	ORIGIN("empty query", "/a?", "/a", "/a", ""),
	ORIGIN("query of its own kind", "/?/a?b", "/", "/", "/a?b"),
	ORIGIN("nothing is folded", "//a/./b/../c//", "//a/./b/../c//",
		"//a/./b/../c//", NULL),
	ORIGIN("decoded", "/caf%C3%A9/%d1%97?x=%C3%A9+1",
		"/caf\xc3\xa9/\xd1\x97", "/caf%C3%A9/%d1%97", "x=%C3%A9+1"),
	ORIGIN("no UTF-8", "/%ff%fe", "/\xff\xfe", "/%ff%fe", NULL),
	ORIGIN("decoded once", "/%2541%25", "/%41%", "/%2541%25", NULL),
	ORIGIN("slash and question mark", "/a%2Fb%3Fc", "/a/b?c", "/a%2Fb%3Fc",
		NULL),
	ORIGIN("dots", "/%2e%2e/a", "/../a", "/%2e%2e/a", NULL),
	ORIGIN("NUL", "/a%00b", "/a\0b", "/a%00b", NULL),
	ORIGIN("plus is plus", "/a+b", "/a+b", "/a+b", NULL),
	ORIGIN("8-bit", "/caf\xc3\xa9?\xff", "/caf\xc3\xa9", "/caf\xc3\xa9",
		"\xff"),
	ORIGIN("bytes that browsers send", "/\"<>\\^`{|}?\"<>\\^`{|}",
		"/\"<>\\^`{|}", "/\"<>\\^`{|}", "\"<>\\^`{|}"),
	ORIGIN("bad %XX in the query is the app's", "/?100%&a=%zz", "/", "/",
		"100%&a=%zz"),
	ORIGIN("a URL in the path", "/http://a/", "/http://a/", "/http://a/",
		NULL),
	ORIGIN("asterisk in the path", "/*", "/*", "/*", NULL),

	ABSOLUTE("absolute", "http://a.test/p?q=1", "/p", "q=1", "a.test",
		"http"),
	ABSOLUTE(
		"without a path", "http://a.test", "/", NULL, "a.test", "http"),
	ABSOLUTE("query only", "http://a.test?q", "/", "q", "a.test", "http"),
	ABSOLUTE("any case, a port", "HTTP://a.test:81/a/../b", "/a/../b", NULL,
		"a.test:81", "HTTP"),
	ABSOLUTE("https", "https://a.test/", "/", NULL, "a.test", "https"),
	ABSOLUTE("version 6", "http://[::1]:8080/f", "/f", NULL, "[::1]:8080",
		"http"),
	ABSOLUTE("no port behind the colon", "http://a:/", "/", NULL,
		"a:", "http"),
	ABSOLUTE("@ in the path", "http://a/b@c", "/b@c", NULL, "a", "http"),

	OTHER("asterisk", "OPTIONS", "*", TARGET_ASTERISK),
	OTHER("OPTIONS with a path", "OPTIONS", "/", TARGET_ORIGIN),
	BAD("asterisk with GET", "*"),
	BAD_WITH("asterisk with small options", "options", "*", 400),
	BAD_WITH("two asterisks", "OPTIONS", "**", 400),

	BAD_WITH("CONNECT", "CONNECT", "a.test:443", 501),
	BAD_WITH("CONNECT with a path", "CONNECT", "/", 501),
	BAD_WITH("CONNECT with anything", "CONNECT", "]%", 501),
	BAD_WITH("CONNECT with an empty port", "CONNECT", "a.test:", 501),
	BAD_WITH("CONNECT with no port there is", "CONNECT", "a.test:65536",
		501),
	OTHER("small connect is any method", "connect", "/", TARGET_ORIGIN),

	BAD("empty", ""),
	BAD("relative", "foo/bar"),
	BAD("relative with a colon", "foo:bar"),
	BAD("authority", "a.test:443"),
	BAD("other scheme", "ftp://a/"),
	BAD("no slashes", "http:a/"),
	BAD("one slash", "http:/a/"),
	BAD("no host", "http:///a"),
	BAD("no host at all", "http://"),
	BAD("port without host", "http://:80/"),
	BAD("bad host", "http://a^b/"),
	BAD("bad version 6", "http://[::g]/"),
	BAD("userinfo", "http://u:p@a.test/"),
	BAD("empty userinfo", "http://@a.test/"),
	BAD("fragment", "/a#b"),
	BAD("fragment behind a query", "/a?b#c"),
	BAD("empty fragment", "/#"),
	BAD("fragment behind a host", "http://a#b"),
	BAD("short %XX", "/a%"),
	BAD("shorter than it should be", "/a%4"),
	BAD("no hexadecimal", "/a%4g"),
	BAD("no hexadecimal first", "/a%g4"),
	BAD("sign in %XX", "/a%+4"),
	BAD("%XX cut by the query", "/a%4?1"),
	BAD("bad %XX, absolute", "http://a/%"),
	BAD("blank", "/a b"),
	BAD("tab", "/a\tb"),
	BAD("CR in the query", "/a?\rb"),
	BAD("DEL", "/a\x7f"),
	BAD("control byte, absolute", "http://a/\x01"),
};

static int
read_target(struct target *t, const struct row *r, struct arena *a)
{
	struct head h = {.method = str_of(r->method)};

	h.target = str_of(r->target);
	h.target.p = edge_copy(h.target.p, h.target.len);
	return target_read(t, &h, a);
}

static void
expect_str(const char *what, const char *part, struct str got, struct str want)
{
	ck_assert_msg(
		str_eq(got, want), "%s: %s '%.*s'", what, part, STR_ARG(got));
}

static void
expect_parts(const struct row *r, const struct target *t)
{
	ck_assert_msg(t->form == r->form, "%s: form", r->what);
	ck_assert_msg(t->has_query == (r->query != NULL), "%s: ?", r->what);
	expect_str(r->what, "path", t->path, r->path);
	expect_str(r->what, "raw path", t->raw_path, str_of(r->raw_path));
	expect_str(r->what, "query", t->query, str_of(r->query));
	expect_str(r->what, "authority", t->authority, str_of(r->authority));
	expect_str(r->what, "scheme", t->scheme, str_of(r->scheme));
}

START_TEST(row)
{
	const struct row *r = &rows[_i];
	struct target t;
	struct arena a;
	int status;

	ck_assert_int_eq(arena_init(&a, 256), 0);
	status = read_target(&t, r, &a);
	ck_assert_msg(status == r->status, "%s: %d", r->what, status);
	if (!status)
		expect_parts(r, &t);
	arena_done(&a);
}
END_TEST

START_TEST(what_needs_no_decoding_is_a_view)
{
	struct head h = {.method = STR("GET"), .target = STR("/a/b?%41")};
	struct target t;
	struct arena a;

	ck_assert_int_eq(arena_init(&a, 256), 0);
	ck_assert_int_eq(target_read(&t, &h, &a), 0);
	ck_assert_ptr_eq(t.path.p, h.target.p);
	ck_assert_ptr_eq(t.query.p, h.target.p + 5);
	h.target = STR("/%41/b");
	ck_assert_int_eq(target_read(&t, &h, &a), 0);
	ck_assert_ptr_ne(t.path.p, h.target.p);
	ck_assert_ptr_eq(t.raw_path.p, h.target.p);
	arena_done(&a);
}
END_TEST

static int
hex_value(int c)
{
	const char *digits = "0123456789abcdef0123456789ABCDEF", *p;

	p = c ? strchr(digits, c) : NULL;
	return p ? (int)(p - digits) % 16 : -1;
}

static void
expect_pair(int high, int low, struct arena *a)
{
	char z[] = {'/', '%', (char)high, (char)low};
	struct head h = {.method = STR("GET"), .target = {z, 4}};
	struct target t;
	int status = target_read(&t, &h, a);

	if (hex_value(high) < 0 || hex_value(low) < 0) {
		ck_assert_int_eq(status, 400);
		return;
	}
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(t.path.len, 2);
	ck_assert_int_eq((unsigned char)t.path.p[1],
		hex_value(high) * 16 + hex_value(low));
}

START_TEST(every_pair_behind_a_percent)
{
	struct arena a;
	int i;

	ck_assert_int_eq(arena_init(&a, 256), 0);
	for (i = 0; i < 65536; i++) {
		arena_reset(&a);
		expect_pair(i >> 8, i & 255, &a);
	}
	arena_done(&a);
}
END_TEST

Suite *
target_suite(void)
{
	Suite *s = suite_create("target");
	TCase *t = tcase_create("target");

	tcase_add_loop_test(t, row, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(t, what_needs_no_decoding_is_a_view);
	tcase_add_test(t, every_pair_behind_a_percent);
	suite_add_tcase(s, t);
	return s;
}
