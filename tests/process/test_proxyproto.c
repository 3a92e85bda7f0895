/*
 * test_proxyproto.c -- connections that begin with a PROXY header.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "process/proxy.h"

Suite *proxyproto_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))
#define GET "GET /client HTTP/1.1\r\nHost: t\r\n\r\n"
#define V1 "PROXY TCP4 192.0.2.7 10.0.0.1 8080 80\r\n"
#define V2                                                                     \
	"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\2\x07\x0a\0\0\1\x1f\x90\0"   \
	"\x50"
#define LOCAL "\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"
#define UNSPEC "\r\n\r\n\0\r\nQUIT\n\x21\0\0\0"

static void
start(struct server *s, const char *mode, const char *more)
{
	server_start(s,
		"[app]\napp = %s\n[proxy]\nproxy-protocol = %s\n"
		"%s",
		APP("probe"), mode, more);
}

static void
must_be(struct client *c, const char *want)
{
	struct answer a;

	client_read(c, &a);
	MUST(a.status == 200 && strcmp(a.body.p, want) == 0,
		"%d %s instead of %s", a.status, a.body.p, want);
	answer_done(&a);
}

/* Closed, in whatever way, without a byte. */
static void
must_be_closed(struct client *c)
{
	while (client_try_fill(c))
		;
	MUST(c->eof || c->reset, "%s", c->error);
	MUST(c->in.n == 0, "an answer: %s", c->in.p);
	client_done(c);
}

static const struct {
	const char *mode, *p;
	size_t n;
	const char *who;
} headers[] = {
	{"v1", V1 GET, sizeof(V1 GET) - 1, "http 192.0.2.7"},
	{"auto", V1 GET, sizeof(V1 GET) - 1, "http 192.0.2.7"},
	{"v2", V2 GET, sizeof(V2 GET) - 1, "http 192.0.2.7"},
	{"auto", V2 GET, sizeof(V2 GET) - 1, "http 192.0.2.7"},
	{"v2", LOCAL GET, sizeof(LOCAL GET) - 1, "http 127.0.0.1"},
	{"v1", "PROXY UNKNOWN\r\n" GET, sizeof("PROXY UNKNOWN\r\n" GET) - 1,
		"http 127.0.0.1"},
};

START_TEST(the_client_is_who_it_says)
{
	const char *p = headers[_i].p;
	size_t n = headers[_i].n, i;
	struct server s;
	struct client c, other;

	start(&s, headers[_i].mode, "");
	client_open(&c, &s);
	client_send(&c, p, n);
	must_be(&c, headers[_i].who);
	client_puts(&c, GET); /* it holds for the connection */
	must_be(&c, headers[_i].who);
	client_done(&c);

	/* In pieces; another one is served between them. */
	client_open(&c, &s);
	for (i = 0; i < n; i++) {
		client_send(&c, p + i, 1);
		if (i % 8)
			continue;
		client_open(&other, &s);
		client_send(&other, p, n);
		must_be(&other, headers[_i].who);
		client_done(&other);
	}
	must_be(&c, headers[_i].who);
	client_done(&c);
	MUST(server_count_log(&s, "refused") == 0, "one was refused");
	server_stop(&s);
}
END_TEST

static const struct {
	const char *mode, *p;
	size_t n;
} wrong[] = {
	{"v1", GET, sizeof(GET) - 1},
	{"auto", GET, sizeof(GET) - 1},
	{"auto", "POST / HTTP/1.1\r\n", 17},
	{"v1", V2 GET, sizeof(V2 GET) - 1},
	{"v2", V1 GET, sizeof(V1 GET) - 1},
	{"v1", "PROXY TCP4 1.2.3 1.2.3.4 5 6\r\n" GET, 60},
};

START_TEST(what_begins_otherwise_is_closed)
{
	struct server s;
	struct client c;

	start(&s, wrong[_i].mode, "");
	client_open(&c, &s);
	client_send(&c, wrong[_i].p, wrong[_i].n);
	must_be_closed(&c);
	server_wait_log(
		&s, "127.0.0.1 refused: it does not begin with a PROXY header");
	server_stop(&s);
}
END_TEST

START_TEST(a_stranger_is_refused)
{
	struct server s;
	struct client c;

	start(&s, "v1", "forwarded-allow-ips = 10.9.8.7, unix\n");
	client_open(&c, &s);
	client_puts(&c, V1 GET);
	must_be_closed(&c);
	server_wait_log(&s, "127.0.0.1 refused: no peer of forwarded-allow-ip");
	MUST(server_count_log(&s, "refused") == 1, "more than one line");
	server_stop(&s);
}
END_TEST

START_TEST(half_a_header_has_its_time)
{
	struct server s;
	struct client c;

	start(&s, "v1", "[timeouts]\nheader-timeout = 500ms\n");
	client_open(&c, &s);
	client_puts(&c, "PROXY TCP4 192.0.2");
	must_be_closed(&c);
	client_open(&c, &s);
	client_puts(&c, "PROXY TCP4 192.0.2");
	client_shut(&c);
	must_be_closed(&c);
	client_open(&c, &s); /* nothing behind the header */
	client_puts(&c, V1);
	must_be_closed(&c);
	server_stop(&s);
}
END_TEST

START_TEST(off_is_off)
{
	struct server s;
	struct client c;
	struct answer a;

	start(&s, "off", "");
	client_open(&c, &s);
	client_puts(&c, V1 GET);
	client_read(&c, &a);
	MUST(a.status == 400 && a.close, "%s", a.head);
	answer_done(&a);
	client_wait_eof(&c);
	client_done(&c);
	server_stop(&s);
}
END_TEST

#define LIE                                                                    \
	"GET /client HTTP/1.1\r\nHost: t\r\nX-Forwarded-For: 6.6.6.6\r\n"      \
	"X-Forwarded-Proto: https\r\n\r\n"
#define UNKNOWN "PROXY UNKNOWN\r\n"
#define TRUSTED "PROXY TCP4 127.0.0.1 10.0.0.1 8080 80\r\n"

static const char of_unix[16 + 216] = "\r\n\r\n\0\r\nQUIT\n\x21\x31\0\xd8";

/* The fields are then what the client says, not the balancer. */
static const struct {
	const char *p;
	size_t n;
	const char *who;
} said[] = {
	{V1, sizeof(V1) - 1, "http 192.0.2.7"},
	{UNKNOWN, sizeof(UNKNOWN) - 1, "http 127.0.0.1"},
	{LOCAL, sizeof(LOCAL) - 1, "http 127.0.0.1"},
	{UNSPEC, sizeof(UNSPEC) - 1, "http 127.0.0.1"},
	{of_unix, sizeof(of_unix), "http 127.0.0.1"},
	{TRUSTED, sizeof(TRUSTED) - 1, "https 6.6.6.6"},
};

static void
ask_another(const struct server *s)
{
	struct client c;

	client_open(&c, s);
	client_puts(&c, V1 GET);
	must_be(&c, "http 192.0.2.7");
	client_done(&c);
}

/* At once, behind the header alone, in the middle; and once more on each. */
START_TEST(forwarded_fields_are_the_clients)
{
	struct server s;
	struct client c;
	size_t cuts[] = {0, 0, 9};

	start(&s, "auto", "");
	for (int cut = 0; cut < N(cuts); cut++) {
		client_open(&c, &s);
		client_send(&c, said[_i].p, said[_i].n);
		client_send(&c, LIE, cuts[cut]);
		if (cut > 0)
			ask_another(&s);
		client_puts(&c, &LIE[cuts[cut]]);
		must_be(&c, said[_i].who);
		client_puts(&c, LIE);
		must_be(&c, said[_i].who);
		client_done(&c);
	}
	server_stop(&s);
}
END_TEST

static const char *const options[] = {"send-proxy", "send-proxy-v2",
	"send-proxy-v2 proxy-v2-options crc32c,unique-id"};

START_TEST(haproxy_speaks_it)
{
	char upstream[200];
	const char *upstreams[] = {upstream};
	struct server s;
	struct client c;
	struct proxy p;

	start(&s, "auto", "");
	snprintf(upstream, sizeof(upstream), "127.0.0.1:%d %s",
		server_port(&s, 0), options[_i]);
	proxy_start(&p, PROXY_HAPROXY, &s, upstreams, 1);
	client_open_port(&c, p.port);
	client_puts(&c, GET);
	must_be(&c, "http 127.0.0.1");
	client_puts(&c, GET);
	must_be(&c, "http 127.0.0.1");
	client_done(&c);
	proxy_stop(&p);
	MUST(server_count_log(&s, "refused") == 0, "one was refused");
	server_stop(&s);
}
END_TEST

Suite *
proxyproto_suite(void)
{
	Suite *suite = suite_create("proxyproto");
	TCase *tc = harness_case(suite, "headers");

	tcase_add_loop_test(tc, the_client_is_who_it_says, 0, N(headers));
	tcase_add_loop_test(tc, what_begins_otherwise_is_closed, 0, N(wrong));
	tcase_add_test(tc, a_stranger_is_refused);
	tcase_add_test(tc, half_a_header_has_its_time);
	tcase_add_test(tc, off_is_off);
	tcase_add_loop_test(tc, forwarded_fields_are_the_clients, 0, N(said));
	tcase_add_loop_test(tc, haproxy_speaks_it, 0, N(options));
	return suite;
}
