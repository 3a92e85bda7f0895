/*
 * test_proxy.c -- PROXY headers, right and wrong, cut anywhere.
 */
#include <arpa/inet.h>
#include <check.h>
#include <string.h>

#include "edge.h"
#include "http/proxy.h"

Suite *proxy_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))
#define SIG "\r\n\r\n\0\r\nQUIT\n"
#define V4_ADDR "\xc0\0\2\7\x0a\0\0\1\x1f\x90\0\x50"
#define V6_ADDR                                                                \
	"\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1"                               \
	"\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\2\x1f\x90\0\x50"
#define TEN "0123456789"

struct row {
	const char *p;
	size_t n;
	enum proxy_mode mode;
	const char *ip; /* "": the balancer's own; NULL: refused */
	int port;
};

#define ROW(text, mode, ip, port)                                              \
	{                                                                      \
		text, sizeof(text) - 1, mode, ip, port                         \
	}

static const struct row rows[] = {
	ROW("PROXY TCP4 192.0.2.7 10.0.0.1 8080 80\r\n", PROXY_V1, "192.0.2.7",
		8080),
	ROW("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n",
		PROXY_AUTO, "255.255.255.255", 65535),
	ROW("PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n", PROXY_V1, "0.0.0.0", 0),
	ROW("PROXY TCP6 2001:db8::1 ::1 8080 80\r\n", PROXY_V1, "2001:db8::1",
		8080),
	ROW("PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
	    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
		PROXY_V1, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 65535),
	ROW("PROXY UNKNOWN\r\n", PROXY_V1, "", 0),
	ROW("PROXY UNKNOWN ffff:f...f:ffff a b c d\r\n", PROXY_V1, "", 0),
	ROW("PROXY UNKNOWN " TEN TEN TEN TEN TEN TEN TEN TEN TEN "0\r\n",
		PROXY_V1, "", 0),
	ROW("PROXY UNKNOWN " TEN TEN TEN TEN TEN TEN TEN TEN TEN "01\r\n",
		PROXY_V1, NULL, 0), /* 108 bytes */
	ROW("PROXY UNKNOWNS\r\n", PROXY_V1, NULL, 0),
	ROW("PROXY \r\n", PROXY_V1, NULL, 0),
	ROW("PROXY TCP4\r\n", PROXY_V1, NULL, 0),
	ROW("PROXY TCP4 192.0.2.7 10.0.0.1 8080\r\n", PROXY_V1, NULL, 0),
	ROW("PROXY TCP4 192.0.2.7 10.0.0.1 8080 80 \r\n", PROXY_V1, NULL, 0),
	ROW("PROXY TCP4 192.0.2.7 10.0.0.1 8080 80 1\r\n", PROXY_V1, NULL, 0),
	ROW("PROXY  TCP4 192.0.2.7 10.0.0.1 8080 80\r\n", PROXY_V1, NULL, 0),
	ROW("PROXY TCP4  192.0.2.7 10.0.0.1 8080 80\r\n", PROXY_V1, NULL, 0),
	ROW("PROXY TCP4 192.0.2.7 10.0.0.1 08080 80\r\n", PROXY_V1, NULL, 0),
	ROW("PROXY TCP4 192.0.2.7 10.0.0.1 65536 80\r\n", PROXY_V1, NULL, 0),
	ROW("PROXY TCP4 192.0.2.7 10.0.0.1 80 65536\r\n", PROXY_V1, NULL, 0),
	ROW("PROXY TCP4 192.0.2.7 10.0.0.1 -1 80\r\n", PROXY_V1, NULL, 0),
	ROW("PROXY TCP4 192.0.2.7 10.0.0.1 8080 \r\n", PROXY_V1, NULL, 0),
	ROW("PROXY TCP4 192.0.2 10.0.0.1 8080 80\r\n", PROXY_V1, NULL, 0),
	ROW("PROXY TCP4 192.0.2.7\0 10.0.0.1 8080 80\r\n", PROXY_V1, NULL, 0),
	ROW("PROXY TCP4 ::1 ::1 8080 80\r\n", PROXY_V1, NULL, 0),
	ROW("PROXY TCP6 192.0.2.7 10.0.0.1 8080 80\r\n", PROXY_V1, NULL, 0),
	ROW("PROXY TCP6 fe80::1%lo ::1 8080 80\r\n", PROXY_V1, NULL, 0),
	ROW("PROXY TCP4 192.0.2.7 10.0.0.1 8080 80\n", PROXY_V1, NULL, 0),
	ROW("PROXY TCP4 192.0.2.7 10.0.0.1 8080 80\rX", PROXY_V1, NULL, 0),
	ROW("PROXY\tTCP4 192.0.2.7 10.0.0.1 8080 80\r\n", PROXY_V1, NULL, 0),
	ROW("proxy TCP4 192.0.2.7 10.0.0.1 8080 80\r\n", PROXY_V1, NULL, 0),
	ROW("GET / HTTP/1.1\r\n", PROXY_V1, NULL, 0),
	ROW("GET / HTTP/1.1\r\n", PROXY_AUTO, NULL, 0),
	ROW("POST / HTTP/1.1\r\n", PROXY_AUTO, NULL, 0),
	ROW("PROXY TCP4 192.0.2.7 10.0.0.1 8080 80\r\n", PROXY_V2, NULL, 0),

	ROW(SIG "\x21\x11\0\x0c" V4_ADDR, PROXY_V2, "192.0.2.7", 8080),
	ROW(SIG "\x21\x11\0\x0c" V4_ADDR, PROXY_AUTO, "192.0.2.7", 8080),
	ROW(SIG "\x21\x21\0\x24" V6_ADDR, PROXY_V2, "2001:db8::1", 8080),
	ROW(SIG "\x21\x11\0\x14" V4_ADDR "\4\0\5\0\0\0\0\0", PROXY_V2,
		"192.0.2.7", 8080),
	ROW(SIG "\x21\x11\0\x12" V4_ADDR "\4\0\0\5\0\0", PROXY_V2, "192.0.2.7",
		8080),
	ROW(SIG "\x20\0\0\0", PROXY_V2, "", 0),
	ROW(SIG "\x20\x11\0\x0c" V4_ADDR, PROXY_V2, "", 0),
	ROW(SIG "\x20\x99\0\3abc", PROXY_V2, "", 0),
	ROW(SIG "\x21\0\0\0", PROXY_V2, "", 0),
	ROW(SIG "\x21\0\0\3abc", PROXY_V2, "", 0),
	ROW(SIG "\x21\x11\0\x0b" V4_ADDR, PROXY_V2, NULL, 0),
	ROW(SIG "\x21\x21\0\x0c" V4_ADDR, PROXY_V2, NULL, 0),
	ROW(SIG "\x21\x11\0\x0d" V4_ADDR "\4", PROXY_V2, NULL, 0),
	ROW(SIG "\x21\x11\0\x10" V4_ADDR "\4\0\5\0", PROXY_V2, NULL, 0),
	ROW(SIG "\x21\x12\0\x0c" V4_ADDR, PROXY_V2, NULL, 0),
	ROW(SIG "\x21\x31\0\x0c" V4_ADDR, PROXY_V2, NULL, 0),
	ROW(SIG "\x21\x41\0\x0c" V4_ADDR, PROXY_V2, NULL, 0),
	ROW(SIG "\x22\x11\0\x0c" V4_ADDR, PROXY_V2, NULL, 0),
	ROW(SIG "\x11\x11\0\x0c" V4_ADDR, PROXY_V2, NULL, 0),
	ROW(SIG "\x20\0\2\x09", PROXY_V2, NULL, 0), /* 521 */
	ROW(SIG "\x21\x11\xff\xff" V4_ADDR, PROXY_V2, NULL, 0),
	ROW("\r\n\r\n\0\r\nQUIX\n\x21\x11\0\x0c" V4_ADDR, PROXY_V2, NULL, 0),
	ROW(SIG "\x21\x11\0\x0c" V4_ADDR, PROXY_V1, NULL, 0),
};

static void
check_source(const struct row *r, const struct proxy_source *s)
{
	char ip[INET6_ADDRSTRLEN] = "";

	if (s->version)
		inet_ntop(s->version == 4 ? AF_INET : AF_INET6, s->ip, ip,
			sizeof(ip));
	ck_assert_str_eq(ip, r->ip);
	ck_assert_int_eq(s->port, r->port);
}

/* Whole and cut short everywhere, before a page that cannot be read. */
START_TEST(each_header_wherever_it_is_cut)
{
	const struct row *r = &rows[_i];
	struct proxy_source s;
	size_t cut;
	int got = 0;

	for (cut = 0; cut <= r->n && got == 0; cut++) {
		got = proxy_read(r->mode, edge_copy(r->p, cut), cut, &s);
		ck_assert_msg(got <= 0 || cut == r->n, "done at %zu", cut);
	}
	if (r->ip) {
		ck_assert_int_eq(got, (int)r->n);
		check_source(r, &s);
	} else {
		ck_assert_int_eq(got, -1);
	}
	/* The same at once. */
	ck_assert_int_eq(proxy_read(r->mode, edge_copy(r->p, r->n), r->n, &s),
		r->ip ? (int)r->n : -1);
}
END_TEST

START_TEST(what_follows_is_left)
{
	const struct row *r = &rows[_i];
	struct proxy_source s;
	char p[1000];

	if (!r->ip)
		return;
	memcpy(p, r->p, r->n);
	memcpy(p + r->n, "GET / HTTP/1.1\r\n", 16);
	ck_assert_int_eq(
		proxy_read(r->mode, edge_copy(p, r->n + 16), r->n + 16, &s),
		(int)r->n);
	check_source(r, &s);
}
END_TEST

/* The longest there may be, all of it filled with one value. */
START_TEST(the_longest_of_version_2)
{
	char p[PROXY_V2_MAX] = SIG "\x21\x11\x02\x08" V4_ADDR "\4\1\xf9";
	struct proxy_source s;

	ck_assert_int_eq(proxy_read(PROXY_V2, edge_copy(p, sizeof(p) - 1),
				 sizeof(p) - 1, &s),
		0);
	ck_assert_int_eq(
		proxy_read(PROXY_V2, edge_copy(p, sizeof(p)), sizeof(p), &s),
		PROXY_V2_MAX);
	ck_assert_int_eq(s.port, 8080);
}
END_TEST

Suite *
proxy_suite(void)
{
	Suite *s = suite_create("proxy");
	TCase *t = tcase_create("headers");

	tcase_add_loop_test(t, each_header_wherever_it_is_cut, 0, N(rows));
	tcase_add_loop_test(t, what_follows_is_left, 0, N(rows));
	tcase_add_test(t, the_longest_of_version_2);
	suite_add_tcase(s, t);
	return s;
}
