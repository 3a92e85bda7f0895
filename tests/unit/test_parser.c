/*
 * test_parser.c -- a head taken apart with http-parser.
 *
 * Every input passes strict first, as in the server, and lies at the edge of
 * readable memory.  What came out is put back into one line of text, so that a
 * row says all of it.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "edge.h"
#include "http/parser.h"
#include "http/strict.h"

Suite *parser_suite(void);

#define FIELDS_MAX 100

static const struct strict_limits limits = {500000, 200000, 1000, 200000};

static struct field fields[FIELDS_MAX];

/* A name and its value, an empty one too, are views into the same line. */
static bool
is_a_line(const struct field *f, const char *p, size_t n)
{
	const char *end = f->value.p + f->value.len;

	return f->name.p >= p && f->value.p >= f->name.p + f->name.len &&
		end <= p + n &&
		!memchr(f->name.p, '\n', (size_t)(end - f->name.p));
}

static void
add_fields(struct buf *b, const struct head *h, const char *p, size_t n)
{
	const struct field *f;

	for (f = h->fields; f < h->fields + h->nfields; f++) {
		ck_assert(is_a_line(f, p, n));
		buf_addf(
			b, " %.*s=[%.*s]", STR_ARG(f->name), STR_ARG(f->value));
	}
}

/* "METHOD target minor name=[value] ...", or the status. */
static void
read_head(struct buf *b, struct head *h, struct str bytes)
{
	const char *p = edge_copy(bytes.p, bytes.len);
	struct strict s;
	size_t len;
	int status;

	strict_reset(&s);
	ck_assert_int_eq(strict_scan(&s, &limits, p, bytes.len, &len), 0);
	ck_assert_uint_eq(len, bytes.len);
	status = parser_read(h, p + s.start, len - s.start);
	if (status) {
		buf_addf(b, "%d", status);
		return;
	}
	ck_assert_uint_eq(h->nfields, s.nfields);
	buf_addf(b, "%.*s %.*s %d", STR_ARG(h->method), STR_ARG(h->target),
		h->minor);
	add_fields(b, h, p, len);
}

static void
expect_head(const char *what, struct str bytes, const char *want)
{
	struct buf b;
	struct head h;

	buf_init(&b);
	head_init(&h, fields, FIELDS_MAX);
	read_head(&b, &h, bytes);
	ck_assert_msg(!strcmp(buf_z(&b), want), "%s: %s", what, buf_z(&b));
	buf_done(&b);
}

struct row {
	const char *what;
	struct str bytes;
	const char *want;
};

#define ROW(what, bytes, want)                                                 \
	{                                                                      \
		what, STR(bytes), want                                         \
	}
#define GET "GET / HTTP/1.1\r\n"

static const struct row rows[] = {
	ROW("no fields", GET "\r\n", "GET / 1"),
	ROW("1.0", "GET / HTTP/1.0\r\n\r\n", "GET / 0"),
	ROW("1.9 counts as 1", "GET / HTTP/1.9\r\n\r\n", "GET / 1"),
	ROW("empty lines before", "\r\n\r\n" GET "A: b\r\n\r\n",
		"GET / 1 A=[b]"),
	ROW("order, case and repeats", GET "b: 1\r\nA: 2\r\nB: 3\r\n\r\n",
		"GET / 1 b=[1] A=[2] B=[3]"),
	ROW("blanks around", GET "A: \t b\tc \t\r\n\r\n", "GET / 1 A=[b\tc]"),
	ROW("no blanks", GET "A:b\r\n\r\n", "GET / 1 A=[b]"),
	ROW("colons", GET "A:::b:\r\n\r\n", "GET / 1 A=[::b:]"),
	ROW("8-bit value", GET "A: \xe9\xff\r\n\r\n", "GET / 1 A=[\xe9\xff]"),
	ROW("empty values", GET "A:\r\nB: \r\nC:\t \r\n\r\n",
		"GET / 1 A=[] B=[] C=[]"),
	ROW("empty value before an owned field",
		GET "A:\r\nContent-Length: 3\r\nB: c\r\n\r\n",
		"GET / 1 A=[] Content-Length=[3] B=[c]"),
	ROW("empty value before two owned fields, at the end",
		GET "A:\r\nTE:\r\nExpect:\r\n\r\n",
		"GET / 1 A=[] TE=[] Expect=[]"),
	ROW("owned field first", GET "Connection: close\r\nA: b\r\n\r\n",
		"GET / 1 Connection=[close] A=[b]"),
	ROW("owned field last", GET "A: b\r\nConnection: close\r\n\r\n",
		"GET / 1 A=[b] Connection=[close]"),
	ROW("owned field alone", GET "Content-Length: 5\r\n\r\n",
		"GET / 1 Content-Length=[5]"),
	ROW("nothing but owned fields",
		GET "Connection: a\r\nTE: b\r\nExpect: c\r\n\r\n",
		"GET / 1 Connection=[a] TE=[b] Expect=[c]"),
	ROW("owned and other fields in turn",
		GET "TE: 1\r\nA: 2\r\nUpgrade: 3\r\nB: 4\r\nExpect: 5\r\n\r\n",
		"GET / 1 TE=[1] A=[2] Upgrade=[3] B=[4] Expect=[5]"),

	/* What http-parser would misjudge or refuse. */
	ROW("tab behind a length", GET "Content-Length: 3\t\r\n\r\n",
		"GET / 1 Content-Length=[3]"),
	ROW("bad length", GET "Content-Length: x\r\n\r\n",
		"GET / 1 Content-Length=[x]"),
	ROW("two lengths", GET "Content-Length: 3\r\nContent-Length: 4\r\n\r\n",
		"GET / 1 Content-Length=[3] Content-Length=[4]"),
	ROW("both lengths",
		GET "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
		"GET / 1 Content-Length=[3] Transfer-Encoding=[chunked]"),
	ROW("a coding not chunked", GET "transfer-ENCODING: foo\r\n\r\n",
		"GET / 1 transfer-ENCODING=[foo]"),
	ROW("a name that begins so", GET "Transfer-Encoding-Foo: b\r\n\r\n",
		"GET / 1 Transfer-Encoding-Foo=[b]"),
	ROW("a name that nearly begins so", GET "Transfer-Encodin: b\r\n\r\n",
		"GET / 1 Transfer-Encodin=[b]"),
	ROW("upgrade",
		GET "Connection: upgrade\r\nUpgrade: h2c\r\nA: b\r\n\r\n",
		"GET / 1 Connection=[upgrade] Upgrade=[h2c] A=[b]"),
	ROW("two hosts", GET "Host: a\r\nHost: b\r\n\r\n",
		"GET / 1 Host=[a] Host=[b]"),

	/* Methods. */
	ROW("QUERY", "QUERY / HTTP/1.1\r\n\r\n", "QUERY / 1"),
	ROW("a private one", "-b!a|h /x HTTP/1.1\r\n\r\n", "-b!a|h /x 1"),
	ROW("small letters", "get / HTTP/1.1\r\n\r\n", "get / 1"),
	ROW("PRI", "PRI * HTTP/1.1\r\n\r\n", "PRI * 1"),
	ROW("SOURCE", "SOURCE / HTTP/1.1\r\n\r\n", "SOURCE / 1"),
	ROW("PUT with a body to come",
		"PUT / HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
		"PUT / 1 Content-Length=[9]"),

	/* Targets. */
	ROW("asterisk", "OPTIONS * HTTP/1.1\r\n\r\n", "OPTIONS * 1"),
	ROW("absolute", "GET http://[::1]:80/a?b HTTP/1.1\r\n\r\n",
		"GET http://[::1]:80/a?b 1"),
	ROW("host and query only", "GET http://a?b HTTP/1.1\r\n\r\n",
		"GET http://a?b 1"),
	ROW("all of a name", "GET http://a-._~!$&'()*+,;=%41/ HTTP/1.1\r\n\r\n",
		"GET http://a-._~!$&'()*+,;=%41/ 1"),
	ROW("bytes that browsers send",
		"GET /\"<>\\^`{|}?\"<>\\^`{|}?? HTTP/1.1\r\n\r\n",
		"GET /\"<>\\^`{|}?\"<>\\^`{|}?? 1"),
	ROW("8-bit target", "GET /\xc3\xa9\x80\xff HTTP/1.1\r\n\r\n",
		"GET /\xc3\xa9\x80\xff 1"),
	ROW("relative", "GET foo/bar HTTP/1.1\r\n\r\n", "400"),
	ROW("authority, not CONNECT", "GET a.test:443 HTTP/1.1\r\n\r\n", "400"),
	ROW("CONNECT", "CONNECT a.test:443 HTTP/1.1\r\nA: b\r\n\r\n",
		"CONNECT a.test:443 1 A=[b]"),
	ROW("CONNECT /", "CONNECT / HTTP/1.0\r\n\r\n", "CONNECT / 0"),
	ROW("CONNECT anything", "CONNECT ]:x HTTP/1.1\r\nTE: b\r\n\r\n",
		"CONNECT ]:x 1 TE=[b]"),
};

START_TEST(row)
{
	expect_head(rows[_i].what, rows[_i].bytes, rows[_i].want);
}
END_TEST

START_TEST(line_for_the_log)
{
	struct str bytes = STR("\r\nGET /a HTTP/1.1\r\nA: b\r\n\r\n");
	struct buf b;
	struct head h;

	buf_init(&b);
	head_init(&h, fields, FIELDS_MAX);
	read_head(&b, &h, bytes);
	ck_assert(str_eq(h.line, STR("GET /a HTTP/1.1")));
	buf_done(&b);
}
END_TEST

static void
expect_byte(int c)
{
	char bytes[64], want[64];
	struct strict s;
	size_t len;
	int n;

	n = snprintf(bytes, sizeof(bytes),
		"GET /%c HTTP/1.1\r\n%cn: v%cv\r\n\r\n", c, c, c);
	strict_reset(&s);
	if (strict_scan(&s, &limits, bytes, n, &len) || !len)
		return;
	snprintf(want, sizeof(want), "GET /%c 1 %cn=[v%cv]", c, c, c);
	expect_head("byte", (struct str){bytes, n}, want);
}

/* Those that strict lets through in a name, a value and a target. */
START_TEST(every_byte)
{
	int c;

	for (c = 0; c < 256; c++)
		expect_byte(c);
}
END_TEST

START_TEST(head_is_used_again)
{
	struct str first = STR(GET "A: b\r\nC: d\r\n\r\n");
	struct str second = STR("PUT /x HTTP/1.0\r\nE: f\r\n\r\n");
	struct buf b;
	struct head h;

	buf_init(&b);
	head_init(&h, fields, FIELDS_MAX);
	read_head(&b, &h, first);
	buf_reset(&b);
	read_head(&b, &h, second);
	ck_assert_str_eq(buf_z(&b), "PUT /x 0 E=[f]");
	buf_done(&b);
}
END_TEST

static int
read_many(size_t n, const char *line)
{
	struct strict s;
	struct head h;
	struct buf b;
	size_t len;
	int status;

	buf_init(&b);
	buf_add_str(&b, STR(GET));
	while (n-- > 0)
		buf_add_str(&b, str_of(line));
	buf_add_str(&b, STR("\r\n"));
	strict_reset(&s);
	ck_assert_int_eq(strict_scan(&s, &limits, b.p, b.len, &len), 0);
	head_init(&h, fields, FIELDS_MAX);
	status = parser_read(&h, b.p, b.len);
	buf_done(&b);
	return status;
}

START_TEST(as_many_fields_as_there_is_room_for)
{
	ck_assert_int_eq(read_many(FIELDS_MAX, "A: b\r\n"), 0);
	ck_assert_int_eq(read_many(FIELDS_MAX + 1, "A: b\r\n"), 431);
	ck_assert_int_eq(read_many(FIELDS_MAX, "TE: b\r\n"), 0);
	ck_assert_int_eq(read_many(FIELDS_MAX + 1, "TE: b\r\n"), 431);
	ck_assert_int_eq(read_many(FIELDS_MAX * 3, "A:\r\nTE: b\r\n"), 431);
}
END_TEST

/* http-parser alone would stop at 80 KiB. */
START_TEST(big_heads)
{
	static const size_t sizes[] = {8190, 65536, 100000, 190000};
	struct buf b, want;
	size_t n = sizes[_i];

	buf_init(&b);
	buf_init(&want);
	buf_addf(&b, "GET /%0*d HTTP/1.1\r\nA: %0*d\r\n\r\n", (int)n, 0, (int)n,
		0);
	buf_addf(&want, "GET /%0*d 1 A=[%0*d]", (int)n, 0, (int)n, 0);
	expect_head("big", buf_str(&b), buf_z(&want));
	buf_done(&b);
	buf_done(&want);
}
END_TEST

/* ---- trailers ---- */

static const struct row trailer_rows[] = {
	ROW("none", "\r\n", ""),
	ROW("one", "A: b\r\n\r\n", " A=[b]"),
	ROW("two", "A: b \r\nC:\r\n\r\n", " A=[b] C=[]"),
	ROW("framing's",
		"Content-Length: 9\r\nTransfer-Encoding: x\r\nHost: t\r\n\r\n",
		" Content-Length=[9] Transfer-Encoding=[x] Host=[t]"),
};

START_TEST(trailers)
{
	const struct row *r = &trailer_rows[_i];
	const char *p = edge_copy(r->bytes.p, r->bytes.len);
	struct buf b;
	struct head h;

	buf_init(&b);
	head_init(&h, fields, FIELDS_MAX);
	ck_assert_int_eq(parser_read_trailers(&h, p, r->bytes.len), 0);
	add_fields(&b, &h, p, r->bytes.len);
	ck_assert_msg(
		!strcmp(buf_z(&b), r->want), "%s: %s", r->what, buf_z(&b));
	buf_done(&b);
}
END_TEST

START_TEST(trailers_without_room)
{
	struct str bytes = STR("A: b\r\nC: d\r\n\r\n");
	struct head h;

	head_init(&h, fields, 1);
	ck_assert_int_eq(parser_read_trailers(&h, bytes.p, bytes.len), 431);
}
END_TEST

Suite *
parser_suite(void)
{
	Suite *s = suite_create("parser");
	TCase *t = tcase_create("parser");

	tcase_add_loop_test(t, row, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(t, line_for_the_log);
	tcase_add_test(t, every_byte);
	tcase_add_test(t, head_is_used_again);
	tcase_add_test(t, as_many_fields_as_there_is_room_for);
	tcase_add_loop_test(t, big_heads, 0, 4);
	tcase_add_loop_test(
		t, trailers, 0, sizeof(trailer_rows) / sizeof(trailer_rows[0]));
	tcase_add_test(t, trailers_without_room);
	suite_add_tcase(s, t);
	return s;
}
