/*
 * test_chunk.c -- the chunked coding.
 *
 * Each row is read whole, a byte at a time, and cut in two at every offset;
 * every piece ends at the edge of readable memory.  Data is taken in pieces as
 * well, as a socket would give it.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "edge.h"
#include "http/chunk.h"

Suite *chunk_suite(void);

struct row {
	const char *what;
	struct str wire;
	int status;
	const char *body;
	const char *trailers;
	int rest; /* bytes behind the body; -1: the body is not complete */
};

/* What came out; the buffers are the caller's. */
struct outcome {
	int status;
	size_t used;
	bool done;
	struct buf body;
	struct buf trailers;
};

static const struct strict_limits limits = {200, 40, 3, 30};

#define GOOD(w, wire_, body_)                                                  \
	{                                                                      \
		.what = w, .wire = STR(wire_), .body = body_, .trailers = ""   \
	}
#define REST(w, wire_, body_, n)                                               \
	{                                                                      \
		.what = w, .wire = STR(wire_), .body = body_, .trailers = "",  \
		.rest = n                                                      \
	}
#define TRAILERS(w, wire_, t, n)                                               \
	{                                                                      \
		.what = w, .wire = STR("1\r\nx\r\n0\r\n" wire_), .body = "x",  \
		.trailers = t, .rest = n                                       \
	}
#define MORE(w, wire_, body_)                                                  \
	{                                                                      \
		.what = w, .wire = STR(wire_), .body = body_, .trailers = "",  \
		.rest = -1                                                     \
	}
#define BAD(w, wire_, s)                                                       \
	{                                                                      \
		.what = w, .wire = STR(wire_), .status = s                     \
	}
#define LAST "0\r\n\r\n"

static const struct row rows[] = {
	GOOD("empty", LAST, ""),
	GOOD("one", "3\r\nabc\r\n" LAST, "abc"),
	GOOD("two", "5\r\nhello\r\n6\r\n world\r\n" LAST, "hello world"),
	GOOD("zeros at the end", "3\r\nabc\r\n000\r\n\r\n", "abc"),
	GOOD("zeros in front", "0003\r\nabc\r\n" LAST, "abc"),
	GOOD("more than sixteen digits", "00000000000000000003\r\nabc\r\n" LAST,
		"abc"),
	GOOD("large letter", "A\r\n0123456789\r\n" LAST, "0123456789"),
	GOOD("small letter", "a\r\n0123456789\r\n" LAST, "0123456789"),
	GOOD("data that looks like framing", "7\r\n\r\n0\r\n\r\n\r\n" LAST,
		"\r\n0\r\n\r\n"),
	REST("pipelined", "1\r\nx\r\n" LAST "GET / HTTP/1.1\r\n", "x", 16),
	REST("CRLF behind", LAST "\r\n", "", 2),

	GOOD("extension", "3;a\r\nabc\r\n" LAST, "abc"),
	GOOD("extension with a value", "3;a=b\r\nabc\r\n" LAST, "abc"),
	GOOD("quoted", "3;name=val;q=\"a;b\"\r\nabc\r\n000\r\n\r\n", "abc"),
	GOOD("quoted with all sorts",
		"3;a=\"\t \\\"\\\\\\;\xff,\"\r\nabc\r\n" LAST, "abc"),
	GOOD("empty quoted", "3;a=\"\"\r\nabc\r\n" LAST, "abc"),
	GOOD("blanks", "3 \t; a\t = \t\"b\" ;c = d\r\nabc\r\n" LAST, "abc"),
	GOOD("blanks behind ;", "5; some; parameters=stuff\r\nhello\r\n" LAST,
		"hello"),
	GOOD("at the last chunk", "0;a=b\r\n\r\n", ""),

	MORE("nothing", "", ""),
	MORE("half a size", "1", ""),
	MORE("no LF", "1\r", ""),
	MORE("half an extension", "1;a=\"b", ""),
	MORE("no data", "5\r\n", ""),
	MORE("half the data", "5\r\nhel", "hel"),
	MORE("data without CRLF", "5\r\nhello", "hello"),
	MORE("data without LF", "5\r\nhello\r", "hello"),
	MORE("no last chunk", "5\r\nhello\r\n", "hello"),
	MORE("half a last chunk", "5\r\nhello\r\n0\r", "hello"),
	MORE("no last CRLF", "3\r\nabc\r\n0\r\n", "abc"),
	MORE("no last LF", "3\r\nabc\r\n0\r\n\r", "abc"),
	MORE("the largest chunk", "7fffffffffffffff\r\nx", "x"),

	BAD("LF behind the size", "3\nabc\r\n" LAST, 400),
	BAD("LF in an extension", "3;a=\nb\r\nabc\r\n" LAST, 400),
	BAD("LF behind data", "3\r\nabc\n" LAST, 400),
	BAD("LF behind the last chunk", "3\r\nabc\r\n0\n\r\n", 400),
	BAD("LF at the end", "3\r\nabc\r\n0\r\n\n", 400),
	BAD("CR in a size", "3\r3\nabc\r\n" LAST, 400),
	BAD("CR in an extension", "5;ext=val\rue\r\nhello\r\n" LAST, 400),
	BAD("CR at the end", "0\r\n\rX", 400),
	BAD("data too long", "3\r\nabcd\r\n" LAST, 400),
	BAD("data too short", "3\r\nab\r\n" LAST, 400),
	BAD("CR X behind data", "3\r\nabc\rX" LAST, 400),
	BAD("no size", "\r\nhello\r\n" LAST, 400),
	BAD("no size is not zero", "\r\n\r\n", 400),
	BAD("no size is not zero, extension", ";a\r\n\r\n", 400),
	BAD("blank is not zero", " \r\n\r\n", 400),
	BAD("no size but an extension", ";foo=bar\r\nhello\r\n" LAST, 400),
	BAD("blank before", " 3\r\nabc\r\n" LAST, 400),
	BAD("blank behind", "3 \r\nabc\r\n" LAST, 400),
	BAD("blank behind the last", "0 \r\n\r\n", 400),
	BAD("tab behind", "3\t\r\nabc\r\n" LAST, 400),
	BAD("plus", "+3\r\nabc\r\n" LAST, 400),
	BAD("minus", "-3\r\nabc\r\n" LAST, 400),
	BAD("underscore", "1_0\r\n", 400),
	BAD("0x", "0x3\r\nabc\r\n" LAST, 400),
	BAD("no digit", "g\r\nabc\r\n" LAST, 400),
	BAD("NUL", "3\0\r\nabc\r\n" LAST, 400),
	BAD("junk behind", "3abc,\r\n", 400),
	BAD("too large", "8000000000000000\r\n", 400),
	BAD("64 bits", "ffffffffffffffff\r\n", 400),
	BAD("65 bits", "10000000000000003\r\nabc\r\n" LAST, 400),
	BAD("empty extension", "3;\r\nabc\r\n" LAST, 400),
	BAD("empty extension of blanks", "3; \r\nabc\r\n" LAST, 400),
	BAD("two semicolons", "3;;a\r\nabc\r\n" LAST, 400),
	BAD("no name", "3;=b\r\nabc\r\n" LAST, 400),
	BAD("no value", "3;a=\r\nabc\r\n" LAST, 400),
	BAD("no value but another", "3;a=;b\r\nabc\r\n" LAST, 400),
	BAD("blank behind a name", "3;a \r\nabc\r\n" LAST, 400),
	BAD("blank behind a value", "3;a=b \r\nabc\r\n" LAST, 400),
	BAD("blank behind a quote", "3;a=\"b\" \r\nabc\r\n" LAST, 400),
	BAD("two names", "3;a b\r\nabc\r\n" LAST, 400),
	BAD("two values", "3;a=b c\r\nabc\r\n" LAST, 400),
	BAD("junk behind a quote", "3;a=\"b\"c\r\nabc\r\n" LAST, 400),
	BAD("quote in a value", "3;a=b\"c\"\r\nabc\r\n" LAST, 400),
	BAD("open quote", "3;a=\"b\r\nabc\r\n" LAST, 400),
	BAD("LF in quotes", "3;a=\"b\nc\"\r\nabc\r\n" LAST, 400),
	BAD("escaped CR", "3;a=\"b\\\r\"\r\nabc\r\n" LAST, 400),
	BAD("escaped NUL", "3;a=\"b\\\0\"\r\nabc\r\n" LAST, 400),
	BAD("escaped control byte", "3;a=\"b\\\1\"\r\nabc\r\n" LAST, 400),
	BAD("NUL in quotes", "3;a=\"\0\"\r\nabc\r\n" LAST, 400),
	BAD("8-bit name", "3;\xe9\r\nabc\r\n" LAST, 400),

	TRAILERS("a trailer", "A: b\r\n\r\n", "A: b\r\n\r\n", 0),
	TRAILERS("and what follows", "A: b\r\n\r\nGET /", "A: b\r\n\r\n", 5),
	TRAILERS("three", "A: b\r\nC:\r\nD: e\r\n\r\n",
		"A: b\r\nC:\r\nD: e\r\n\r\n", 0),
	TRAILERS("framing's", "Content-Length: 9\r\n\r\n",
		"Content-Length: 9\r\n\r\n", 0),
	BAD("trailer without a colon", "0\r\nA\r\n\r\n", 400),
	BAD("trailer with LF", "0\r\nA: b\n\r\n", 400),
	BAD("folded trailer", "0\r\nA: b\r\n c\r\n\r\n", 400),
	BAD("blank before a trailer", "0\r\n A: b\r\n\r\n", 400),
	BAD("blank before the colon", "0\r\nA : b\r\n\r\n", 400),
	BAD("NUL in a trailer", "0\r\nA: \0\r\n\r\n", 400),
	BAD("a request line", "0\r\nGET / HTTP/1.1\r\n\r\n", 400),
	BAD("a chunk behind the last", "0\r\n3\r\nabc\r\n" LAST, 400),
	BAD("too many trailers", "0\r\nA:\r\nB:\r\nC:\r\nD:\r\n\r\n", 431),
	BAD("too long a trailer",
		"0\r\nA: 4567890123456789012345678901\r\n\r\n", 431),
};

/* n more bytes have come; false when the body is over or broken. */
static bool
feed(struct chunk *c, struct outcome *o, const char *bytes, size_t n)
{
	const char *p = edge_copy(bytes, n);
	size_t i, used;

	for (i = 0; i < n && !o->status && !c->done; i += used) {
		if (c->left) {
			used = n - i < c->left ? n - i : c->left;
			buf_add(&o->body, p + i, used);
			chunk_took(c, used);
			continue;
		}
		o->status = chunk_parse(c, p + i, n - i, &used);
		ck_assert_uint_le(used, n - i);
		ck_assert(o->status || c->done || c->left || used == n - i);
		ck_assert(!o->status || !c->left);
	}
	o->used += i;
	return !o->status && !c->done;
}

/* The wire in pieces of n bytes, of which the first is n1 long. */
static void
read_wire(struct outcome *o, struct str wire, size_t n1, size_t n)
{
	struct chunk c;
	size_t i = 0, len = n1;

	memset(&c, 0xa5, sizeof(c));
	*o = (struct outcome){0};
	buf_add_str(&o->trailers, STR("of an earlier body"));
	chunk_reset(&c, &o->trailers, &limits);
	while (i < wire.len || len == 0) {
		len = wire.len - i < len ? wire.len - i : len;
		if (!feed(&c, o, wire.p + i, len))
			break;
		i += len;
		len = n;
	}
	o->done = c.done;
	if (c.done)
		ck_assert(str_eq(chunk_trailers(&c), buf_str(&o->trailers)));
}

static void
outcome_done(struct outcome *o)
{
	buf_done(&o->body);
	buf_done(&o->trailers);
}

static void
expect(const struct row *r, const char *how, size_t n1, size_t n)
{
	struct outcome o;

	read_wire(&o, r->wire, n1, n);
	ck_assert_msg(o.status == r->status, "%s, %s %zu: status %d", r->what,
		how, n1, o.status);
	if (o.status)
		goto out;
	ck_assert_msg(o.done == (r->rest >= 0), "%s, %s %zu", r->what, how, n1);
	ck_assert_msg(str_eq(buf_str(&o.body), str_of(r->body)),
		"%s, %s %zu: body '%s'", r->what, how, n1, buf_z(&o.body));
	if (!o.done)
		goto out;
	ck_assert_msg(o.used == r->wire.len - r->rest, "%s, %s %zu: used %zu",
		r->what, how, n1, o.used);
	ck_assert_msg(str_eq(buf_str(&o.trailers), str_of(r->trailers)),
		"%s, %s %zu: trailers '%s'", r->what, how, n1,
		buf_z(&o.trailers));
out:
	outcome_done(&o);
}

START_TEST(whole)
{
	expect(&rows[_i], "whole", rows[_i].wire.len, 1);
}
END_TEST

START_TEST(however_cut)
{
	const struct row *r = &rows[_i];
	size_t cut;

	expect(r, "bytes", 1, 1);
	expect(r, "pieces", 3, 3);
	for (cut = 0; cut < r->wire.len; cut++)
		expect(r, "cut at", cut, r->wire.len);
}
END_TEST

START_TEST(many_chunks_in_pieces_of_any_size)
{
	static const size_t sizes[] = {
		1, 2, 3, 7, 1027, 4093, 4096, 4097, 8191};
	struct outcome o;
	struct buf wire;
	size_t i;

	buf_init(&wire);
	for (i = 0; i < 64; i++)
		buf_addf(&wire, "400\r\n%01024d\r\n", 0);
	buf_add_str(&wire, STR(LAST));
	read_wire(&o, buf_str(&wire), sizes[_i], sizes[_i]);
	ck_assert_int_eq(o.status, 0);
	ck_assert(o.done);
	ck_assert_uint_eq(o.body.len, 65536);
	for (i = 0; i < o.body.len; i++)
		ck_assert_int_eq(o.body.p[i], '0');
	outcome_done(&o);
	buf_done(&wire);
}
END_TEST

/* ---- limits ---- */

static void
expect_status(struct buf *wire, int status)
{
	struct outcome o;

	read_wire(&o, buf_str(wire), wire->len, 1);
	ck_assert_int_eq(o.status, status);
	ck_assert(o.done == !status);
	outcome_done(&o);
	read_wire(&o, buf_str(wire), 7, 7);
	ck_assert_int_eq(o.status, status);
	outcome_done(&o);
	buf_done(wire);
}

static void
expect_line(size_t n, int status)
{
	struct buf wire = {0};

	buf_addf(&wire, "1;%0*d\r\nx\r\n" LAST, (int)n - 2, 0);
	expect_status(&wire, status);
}

START_TEST(limit_of_a_line)
{
	expect_line(CHUNK_LINE_MAX - 1, 0);
	expect_line(CHUNK_LINE_MAX, 0);
	expect_line(CHUNK_LINE_MAX + 1, 400);
}
END_TEST

START_TEST(limit_of_the_zeros)
{
	struct buf wire = {0};

	buf_addf(&wire, "%0*d\r\nx\r\n" LAST, CHUNK_LINE_MAX, 1);
	expect_status(&wire, 0);
	buf_addf(&wire, "%0*d\r\nx\r\n" LAST, CHUNK_LINE_MAX + 1, 1);
	expect_status(&wire, 400);
}
END_TEST

/* n bytes of extensions, 1024 a chunk. */
static void
expect_extensions(size_t n, int status)
{
	struct buf wire = {0};

	for (; n > 1024; n -= 1024)
		buf_addf(&wire, "1;%01023d\r\nx\r\n", 0);
	buf_addf(&wire, "0;%0*d\r\n\r\n", (int)n - 1, 0);
	expect_status(&wire, status);
}

START_TEST(limit_of_all_extensions)
{
	expect_extensions(CHUNK_EXT_MAX, 0);
	expect_extensions(CHUNK_EXT_MAX + 1, 400);
	expect_extensions(CHUNK_EXT_MAX + 1000, 400);
}
END_TEST

/* Trailers and their empty line, n bytes in all; limits say 200. */
static void
expect_trailers(size_t n, int status)
{
	static const struct strict_limits l = {200, 40, 3, 200};
	struct buf trailers = {0}, wire = {0};
	struct chunk c;
	size_t used;

	buf_addf(&wire, "0\r\nA:%0*d\r\n\r\nmore, of another request",
		(int)n - 6, 0);
	chunk_reset(&c, &trailers, &l);
	ck_assert_int_eq(chunk_parse(&c, wire.p, wire.len, &used), status);
	ck_assert(c.done == !status);
	ck_assert_uint_le(trailers.len, 200);
	if (!status)
		ck_assert_uint_eq(used, n + 3);
	buf_done(&wire);
	buf_done(&trailers);
}

START_TEST(limit_of_the_trailers)
{
	expect_trailers(199, 0);
	expect_trailers(200, 0);
	expect_trailers(201, 431);
	expect_trailers(1000, 431);
}
END_TEST

/* ---- the line we write ---- */

START_TEST(head)
{
	static const struct {
		uint64_t n;
		const char *line;
	} t[] = {
		{1, "1\r\n"},
		{9, "9\r\n"},
		{10, "a\r\n"},
		{15, "f\r\n"},
		{16, "10\r\n"},
		{255, "ff\r\n"},
		{256, "100\r\n"},
		{65535, "ffff\r\n"},
		{65536, "10000\r\n"},
		{0x123456789abcdef0, "123456789abcdef0\r\n"},
		{UINT64_MAX, "ffffffffffffffff\r\n"},
	};
	char p[CHUNK_HEAD_MAX + 1];
	size_t n;

	memset(p, 0, sizeof(p));
	n = chunk_head(p, t[_i].n);
	ck_assert_str_eq(p, t[_i].line);
	ck_assert_uint_eq(n, strlen(t[_i].line));
}
END_TEST

START_TEST(head_reads_back)
{
	struct buf trailers = {0};
	char p[CHUNK_HEAD_MAX];
	struct chunk c;
	size_t len, used;
	uint64_t n;

	for (n = 1; n < INT64_MAX / 3; n = n * 3 + 1) {
		len = chunk_head(p, n);
		chunk_reset(&c, &trailers, &limits);
		ck_assert_int_eq(chunk_parse(&c, p, len, &used), 0);
		ck_assert_uint_eq(used, len);
		ck_assert_uint_eq(c.left, n);
	}
}
END_TEST

Suite *
chunk_suite(void)
{
	Suite *s = suite_create("chunk");
	TCase *t = tcase_create("chunk");
	int n = sizeof(rows) / sizeof(rows[0]);

	tcase_add_loop_test(t, whole, 0, n);
	tcase_add_loop_test(t, however_cut, 0, n);
	tcase_add_loop_test(t, many_chunks_in_pieces_of_any_size, 0, 9);
	tcase_add_test(t, limit_of_a_line);
	tcase_add_test(t, limit_of_the_zeros);
	tcase_add_test(t, limit_of_all_extensions);
	tcase_add_test(t, limit_of_the_trailers);
	tcase_add_loop_test(t, head, 0, 11);
	tcase_add_test(t, head_reads_back);
	suite_add_tcase(s, t);
	return s;
}
