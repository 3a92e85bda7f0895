/*
 * test_framing.c -- where a request ends, from its fields.
 *
 * A row is the fields as they stand on the wire; strict and parser make a head
 * of them first, as in the server.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "edge.h"
#include "http/framing.h"
#include "http/parser.h"
#include "http/strict.h"

Suite *framing_suite(void);

struct row {
	const char *what;
	int minor;
	const char *fields;
	int status;
	const char *want; /* what flags are set, and the length */
};

/* C chunked, L has_length, K keep_alive, E expect, T te_trailers */
static void
print(char *z, size_t n, const struct framing *f)
{
	snprintf(z, n, "%s%s%s%s%s %llu", f->chunked ? "C" : "",
		f->has_length ? "L" : "", f->keep_alive ? "K" : "",
		f->expect ? "E" : "", f->te_trailers ? "T" : "",
		(unsigned long long)f->length);
}

#define GOOD(what, fields, want)                                               \
	{                                                                      \
		what, 1, "Host: t\r\n" fields, 0, want                         \
	}
#define BAD(what, fields, status)                                              \
	{                                                                      \
		what, 1, "Host: t\r\n" fields, status, " 0"                    \
	}
#define GOOD_1_0(what, fields, want)                                           \
	{                                                                      \
		what, 0, fields, 0, want                                       \
	}
#define BAD_1_0(what, fields, status)                                          \
	{                                                                      \
		what, 0, fields, status, " 0"                                  \
	}
#define CL "Content-Length: "
#define TE "Transfer-Encoding: "

static const struct row rows[] = {
	GOOD("nothing", "", "K 0"),
	GOOD("other fields",
		"A: b\r\nCookie: c\r\nAccept: d\r\nContent-Type: e\r\n", "K 0"),

	GOOD("a length", CL "3\r\n", "LK 3"),
	GOOD("no length", CL "0\r\n", "LK 0"),
	GOOD("any case", "cOnTeNt-LENGTH: 5\r\n", "LK 5"),
	GOOD("zeros and blanks", CL "\t003 \r\n", "LK 3"),
	GOOD("the largest", CL "9223372036854775807\r\n",
		"LK 9223372036854775807"),
	GOOD("many zeros", CL "00000000000000000000000000000007\r\n", "LK 7"),
	BAD("too large", CL "9223372036854775808\r\n", 400),
	BAD("64 bits", CL "18446744073709551615\r\n", 400),
	BAD("more than 64 bits", CL "18446744073709551616\r\n", 400),
	BAD("far more", CL "99999999999999999999999999999999\r\n", 400),
	BAD("plus", CL "+3\r\n", 400),
	BAD("minus", CL "-0\r\n", 400),
	BAD("underscore", CL "0_3\r\n", 400),
	BAD("hexadecimal", CL "0x3\r\n", 400),
	BAD("blank inside", CL "3 3\r\n", 400),
	BAD("tab inside", CL "0\t1\r\n", 400),
	BAD("empty", CL "\r\n", 400),
	BAD("words", CL "bla-bla\r\n", 400),
	BAD("a fraction", CL "3.0\r\n", 400),
	BAD("8-bit blank",
		CL "\xa0"
		   "3\r\n",
		400),
	BAD("a list", CL "5, 5\r\n", 400),
	BAD("the same twice", CL "5\r\n" CL "5\r\n", 400),
	BAD("two different", CL "3\r\n" CL "2\r\n", 400),
	GOOD("a name with an underscore", "Content_Length: x\r\n", "K 0"),

	GOOD("chunked", TE "chunked\r\n", "CK 0"),
	GOOD("any case, blanks", "transfer-encoding:\t ChUnKeD \t\r\n", "CK 0"),
	BAD("both lengths", CL "5\r\n" TE "chunked\r\n", 400),
	BAD("both, the other way", TE "chunked\r\n" CL "5\r\n", 400),
	BAD("unknown coding and a length", TE "gzip\r\n" CL "5\r\n", 400),
	BAD("chunked twice", TE "chunked, chunked\r\n", 400),
	BAD("chunked on two lines", TE "chunked\r\n" TE "chunked\r\n", 400),
	BAD("chunked not last", TE "chunked, gzip\r\n", 400),
	BAD("chunked not last, lines", TE "chunked\r\n" TE "identity\r\n", 400),
	BAD("chunked and nothing", TE "chunked,\r\n", 400),
	BAD("nothing and chunked", TE ",chunked\r\n", 400),
	BAD("no coding", TE "\r\n", 400),
	BAD("no coding on one line", TE "chunked\r\n" TE "\r\n", 400),
	BAD("chunked with a parameter", TE "chunked;q=1\r\n", 400),
	BAD("chunked with a blank", TE "chunked foo\r\n", 400),
	BAD("8-bit before",
		TE "\xa0"
		   "chunked\r\n",
		400),
	BAD("8-bit behind", TE "chunked\x85\r\n", 400),
	BAD("quoted", TE "\"chunked\"\r\n", 400),
	BAD("gzip", TE "gzip\r\n", 501),
	BAD("gzip, chunked", TE "gzip, chunked\r\n", 501),
	BAD("gzip, chunked, lines", TE "gzip\r\n" TE "chunked\r\n", 501),
	BAD("identity", TE "identity\r\n", 501),
	BAD("identity, chunked", TE "identity, chunked\r\n", 501),
	BAD("all mixed", TE "identity, chunked, identity, chunked\r\n", 400),
	BAD("xchunked", TE "xchunked\r\n", 501),
	BAD("a coding with parameters", TE "foo;a=b , chunked\r\n", 501),
	GOOD("another name", "Transfer-Encoding-Foo: gzip\r\n", "K 0"),
	GOOD("underscore", "Transfer_Encoding: gzip\r\n", "K 0"),
	BAD_1_0("chunked in 1.0", TE "chunked\r\n", 400),
	BAD_1_0("gzip in 1.0", TE "gzip\r\n", 400),
	GOOD_1_0("length in 1.0", CL "5\r\n", "L 5"),

	GOOD("close", "Connection: close\r\n", " 0"),
	GOOD("Close", "Connection: Close\r\n", " 0"),
	GOOD("in a list", "Connection: keep-alive, CLOSE\r\n", " 0"),
	GOOD("on a later line", "Connection: x-foo\r\nconnection: close\r\n",
		" 0"),
	GOOD("before others", "Connection: close ,x\r\n", " 0"),
	GOOD("empty elements", "Connection: , ,\t,close\r\n", " 0"),
	GOOD("closed", "Connection: closed\r\n", "K 0"),
	GOOD("xclose", "Connection: xclose, clos, clo se\r\n", "K 0"),
	GOOD("quoted close", "Connection: \"close\"\r\n", "K 0"),
	GOOD("upgrade", "Connection: upgrade\r\nUpgrade: h2c\r\n", "K 0"),
	GOOD("empty", "Connection:\r\n", "K 0"),
	GOOD("Proxy-Connection", "Proxy-Connection: close\r\n", "K 0"),
	GOOD_1_0("1.0 closes", "", " 0"),
	GOOD_1_0("1.0 with another option", "Connection: x\r\n", " 0"),
	GOOD_1_0("1.0 goes on", "Connection: x-foo, Keep-Alive\r\n", "K 0"),
	GOOD_1_0("1.0 with both", "Connection: keep-alive, close\r\n", " 0"),

	GOOD("expect", CL "3\r\nExpect: 100-continue\r\n", "LKE 3"),
	GOOD("expect in any case", CL "3\r\nexpect: 100-Continue\r\n", "LKE 3"),
	GOOD("chunked", TE "chunked\r\nExpect: 100-continue\r\n", "CKE 0"),
	GOOD("no body, nothing to wait for", "Expect: 100-continue\r\n", "K 0"),
	GOOD("empty body", CL "0\r\nExpect: 100-continue\r\n", "LK 0"),
	GOOD("no expectation", CL "3\r\nExpect:\r\n", "LK 3"),
	BAD("unknown", "Expect: 200-ok\r\n", 417),
	BAD("known and unknown", "Expect: 100-continue, foo\r\n", 417),
	BAD("nearly", "Expect: 100-continue;a=b\r\n", 417),
	BAD("framing comes first", "Expect: foo\r\n" CL "x\r\n", 400),
	GOOD_1_0("ignored", CL "3\r\nExpect: 100-continue\r\n", "L 3"),
	GOOD_1_0("ignored too", CL "3\r\nExpect: foo\r\n", "L 3"),

	GOOD("trailers", "TE: trailers\r\n", "KT 0"),
	GOOD("trailers in a list", "te: gzip;q=0.5, Trailers\r\n", "KT 0"),
	GOOD("with Connection", "TE: trailers\r\nConnection: te\r\n", "KT 0"),
	GOOD("no trailers", "TE: gzip, xtrailers\r\n", "K 0"),
	GOOD_1_0("not in 1.0", "TE: trailers\r\n", " 0"),

	GOOD_1_0("1.0 without Host", "", " 0"),
	GOOD_1_0("1.0 with Host", "Host: t\r\n", " 0"),
	BAD_1_0("1.0 with two", "Host: t\r\nHost: t\r\n", 400),
	BAD_1_0("1.0 with a bad one", "Host: a b\r\n", 400),
	{"no Host", 1, "", 400, " 0"},
	{"Host in another name", 1, "Hose: t\r\nXost: t\r\n", 400, " 0"},
	{"empty Host", 1, "Host:\r\n", 0, "K 0"},
	{"bad Host", 1, "Host: a/b\r\n", 400, " 0"},
	BAD("two Hosts", "Host: b\r\n", 400),
	BAD("the same Host twice", "host: t\r\n", 400),
	BAD("an empty second", "HOST:\r\n", 400),
};

static void
read_head(struct head *h, int minor, const char *text)
{
	static const struct strict_limits l = {65536, 8190, 100, 8190};
	char bytes[1024];
	struct strict s;
	const char *p;
	size_t len;
	int n;

	n = snprintf(bytes, sizeof(bytes), "POST / HTTP/1.%d\r\n%s\r\n", minor,
		text);
	p = edge_copy(bytes, n);
	strict_reset(&s);
	ck_assert_int_eq(strict_scan(&s, &l, p, n, &len), 0);
	ck_assert_uint_eq(len, n);
	ck_assert_int_eq(parser_read(h, p, n), 0);
}

START_TEST(row)
{
	const struct row *r = &rows[_i];
	struct field fields[100];
	struct framing f;
	struct head h;
	char got[64];
	int status;

	head_init(&h, fields, 100);
	read_head(&h, r->minor, r->fields);
	status = framing_read(&f, &h);
	print(got, sizeof(got), &f);
	ck_assert_msg(status == r->status && !strcmp(got, r->want),
		"%s: %d '%s'", r->what, status, got);
}
END_TEST

/* Wherever its pointer points, an empty list is no coding. */
START_TEST(no_coding_at_all)
{
	struct field fields[] = {
		{STR("Host"), STR("t")},
		{STR("Transfer-Encoding"), {NULL, 0}},
	};
	struct head h = {.minor = 1, .fields = fields, .nfields = 2};
	struct framing f;

	ck_assert_int_eq(framing_read(&f, &h), 400);
}
END_TEST

static const struct {
	const char *value;
	bool good;
} hosts[] = {
	{"", true},
	{"a", true},
	{"a.test", true},
	{"a.test:80", true},
	{"a.test:", true},
	{"a.test:65535", true},
	{"127.0.0.1:8000", true},
	{"0.0.0.0=5000", true},
	{"x_y~z!$&'()*+,;=", true},
	{"%41%zz", false},
	{"%41%fF", true},
	{"a%4", false},
	{"a%", false},
	{"[::1]", true},
	{"[::1]:8080", true},
	{"[::1]:", true},
	{"[2001:db8::192.0.2.1]", true},
	{"[v1.a:b]", true},
	{"[vF.x]:1", true},
	{"[v.x]", false},
	{"[v1.]", false},
	{"[v1]", false},
	{"[x1.a]", false},
	{"[v1.a/b]", false},
	{"[]", false},
	{"[::1", false},
	{"::1]", false},
	{"[::1]x", false},
	{"[::1]80", false},
	{"[::1]:x", false},
	{"[127.0.0.1]", false},
	{"[fe80::1%25eth0]", false},
	{"[1:2:3:4:5:6:7:8:9]", false},
	{"[1111:2222:3333:4444:5555:6666:111.222.111.2222222222222]", false},
	{"::1", false},
	{":80", false},
	{":", false},
	{"a:65536", false},
	{"a:-1", false},
	{"a:80:80", false},
	{"a:8o", false},
	{"a:18446744073709551617", false},
	{"a b", false},
	{"a/x", false},
	{"a?x", false},
	{"a#x", false},
	{"a@b", false},
	{"a,b", true},
	{"a\tb", false},
	{"\"a\"", false},
	{"caf\xc3\xa9", false},
};

START_TEST(host)
{
	struct str v = str_of(hosts[_i].value);

	v.p = edge_copy(v.p, v.len);
	ck_assert_msg(
		framing_is_host(v) == hosts[_i].good, "'%s'", hosts[_i].value);
}
END_TEST

START_TEST(host_with_a_nul)
{
	ck_assert(!framing_is_host(STR("a\0b")));
	ck_assert(!framing_is_host(STR("[::1\0]")));
	ck_assert(!framing_is_host(STR("a:8\0")));
}
END_TEST

START_TEST(names)
{
	static const struct {
		const char *name;
		bool hop_by_hop;
		bool owned;
	} t[] = {
		{"connection", true, true},
		{"Connection", true, true},
		{"KEEP-ALIVE", true, false},
		{"Proxy-Connection", true, true},
		{"te", true, true},
		{"Transfer-Encoding", true, true},
		{"Transfer-Encoding-Foo", false, true},
		{"Upgrade", true, true},
		{"Content-Length", false, true},
		{"Expect", false, true},
		{"Trailer", true, false},
		{"Proxy-Authenticate", true, false},
		{"Host", false, false},
		{"Content-Type", false, false},
		{"Transfer-Encodin", false, false},
		{"T", false, false},
		{"", false, false},
	};
	struct str name = str_of(t[_i].name);

	ck_assert_msg(framing_is_hop_by_hop(name) == t[_i].hop_by_hop, "%s",
		t[_i].name);
	ck_assert_msg(framing_owns(name) == t[_i].owned, "%s", t[_i].name);
}
END_TEST

Suite *
framing_suite(void)
{
	Suite *s = suite_create("framing");
	TCase *t = tcase_create("framing");

	tcase_add_loop_test(t, row, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(t, no_coding_at_all);
	tcase_add_loop_test(t, host, 0, sizeof(hosts) / sizeof(hosts[0]));
	tcase_add_test(t, host_with_a_nul);
	tcase_add_loop_test(t, names, 0, 17);
	suite_add_tcase(s, t);
	return s;
}
