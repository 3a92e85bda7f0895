/*
 * test_proxies.c -- behind nginx and HAProxy, with the examples of conf/.
 *
 * Each test runs four times: both proxies, by TCP and by a unix socket.
 */
#include "process/proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "process/load.h"

Suite *proxies_suite(void);

#define VARIANTS (2 * PROXY_KINDS)
#define TRIES 3

struct site {
	struct server s;
	struct proxy p;
	char upstream[200];
};

static void
start_server(struct site *t, const char *address, const char *more)
{
	server_init(&t->s);
	if (strcmp(address, "unix") == 0)
		snprintf(t->upstream, sizeof(t->upstream), "unix:%s/socket",
			t->s.dir);
	else
		snprintf(t->upstream, sizeof(t->upstream), "127.0.0.1:%d",
			free_port());
	server_ini(&t->s,
		"[app]\napp = %s\n[server]\nbind = %s\nkeepalive = 75s\n"
		"workers = 2\n%s",
		APP("probe"), t->upstream, more);
	server_spawn(&t->s);
	server_wait_ready(&t->s);
}

static void
start(struct site *t, int variant, const char *more)
{
	const char *upstreams[] = {t->upstream};

	start_server(t, variant / 2 ? "unix" : "tcp", more);
	proxy_start(&t->p, variant % 2, &t->s, upstreams, 1);
}

static void
stop(struct site *t)
{
	proxy_stop(&t->p);
	server_stop(&t->s);
}

/* From an address that is nobody's proxy. */
static void
open_from_afar(struct client *c, int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET};

	memset(c, 0, sizeof(*c));
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	inet_pton(AF_INET, "127.0.0.77", &a.sin_addr);
	MUST(bind(c->fd, (void *)&a, sizeof(a)) == 0, "bind");
	inet_pton(AF_INET, "127.0.0.1", &a.sin_addr);
	a.sin_port = htons((uint16_t)port);
	MUST(connect(c->fd, (void *)&a, sizeof(a)) == 0, "connect: %s",
		strerror(errno));
}

static void
must_be(const struct site *t, const char *claim, const char *want)
{
	struct client c;
	struct answer a;

	open_from_afar(&c, t->p.port);
	client_printf(&c, "GET /client HTTP/1.1\r\nHost: t\r\n%s\r\n", claim);
	client_read(&c, &a);
	MUST(a.status == 200 && strcmp(a.body.p, want) == 0,
		"%s: %d %s instead of %s", claim, a.status, a.body.p, want);
	answer_done(&a);
	client_done(&c);
}

/* ---- uploads ---- */

#define UPLOAD (24 * 1024 * 1024)

static void
upload(const struct site *t, const char *target, bool chunked)
{
	char *body = some_bytes(UPLOAD + 20), want[20];
	struct client c;
	struct answer a;

	client_open_port(&c, t->p.port);
	client_printf(&c, "POST %s HTTP/1.1\r\nHost: t\r\n", target);
	if (chunked)
		client_printf(
			&c, "Transfer-Encoding: chunked\r\n\r\n%x\r\n", UPLOAD);
	else
		client_printf(&c, "Content-Length: %d\r\n\r\n", UPLOAD);
	if (chunked)
		memcpy(body + UPLOAD, "\r\n0\r\n\r\n", 7);
	client_exchange(&c, body, UPLOAD + (chunked ? 7 : 0), &a);
	snprintf(want, sizeof(want), "%d", UPLOAD);
	MUST(a.status == 200 && strcmp(a.body.p, want) == 0, "%s: %d %s",
		target, a.status, a.body.p);
	answer_done(&a);
	client_done(&c);
	free(body);
}

START_TEST(large_uploads)
{
	struct site t;

	start(&t, _i, "");
	upload(&t, "/read", false);
	upload(&t, "/upload", false);
	upload(&t, "/read", true);
	upload(&t, "/upload", true);
	stop(&t);
}
END_TEST

/* Where the proxy holds bodies back, no worker waits for a slow client. */
START_TEST(who_waits_for_a_body)
{
	struct site t;
	struct client c;
	struct answer a;

	start(&t, _i, "");
	client_open_port(&c, t.p.port);
	client_puts(&c,
		"POST /read HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\n"
		"01234");
	must_be(&t, "", "http 127.0.0.77");
	MUST(server_count_log(&t.s, "probe: reading") == 0, "not held back");
	client_puts(&c, "56789");
	client_read(&c, &a);
	MUST(a.status == 200 && strcmp(a.body.p, "10") == 0, "%s", a.body.p);
	answer_done(&a);
	server_wait_log(&t.s, "probe: reading");

	client_puts(&c,
		"POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\n"
		"01234");
	server_wait_log(&t.s, "probe: reading");
	client_puts(&c, "56789");
	client_read(&c, &a);
	MUST(a.status == 200 && strcmp(a.body.p, "10") == 0, "%s", a.body.p);
	answer_done(&a);
	client_done(&c);
	stop(&t);
}
END_TEST

/* ---- responses ---- */

/* Being on time is the feature; the best of three tries counts. */
START_TEST(streams_are_on_time)
{
	int64_t best = INT64_MAX, worst;
	struct site t;
	struct client c;
	int i;

	start(&t, _i, "");
	for (i = 0; i < TRIES && best > 50000; i++) {
		client_open_port(&c, t.p.port);
		client_puts(&c,
			"GET /stream?n=5&ms=100 HTTP/1.1\r\nHost: t\r\n\r\n");
		worst = client_time_events(&c, 5);
		best = worst < best ? worst : best;
		client_done(&c);
	}
	MUST(best <= 50000, "an event came after %lld us", (long long)best);
	stop(&t);
}
END_TEST

/* ---- who the client is ---- */

START_TEST(the_proxy_tells_who_it_is)
{
	struct site t;

	start(&t, _i, "");
	must_be(&t, "", "http 127.0.0.77");
	must_be(&t, "X-Forwarded-For: 6.6.6.6\r\n", "http 127.0.0.77");
	must_be(&t, "X-Forwarded-Proto: https\r\n", "http 127.0.0.77");
	must_be(&t,
		"X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 7.7.7.7\r\n"
		"X-Forwarded-Proto: https\r\nX-Forwarded-Proto: http\r\n",
		"http 127.0.0.77");
	stop(&t);
}
END_TEST

/* Proxies speak HTTP/1.1 to the server, where Host is a must. */
START_TEST(http_1_0_without_host)
{
	struct site t;
	struct client c;
	struct answer a;

	start(&t, _i, "");
	client_open_port(&c, t.p.port);
	client_printf(&c, "GET /ok HTTP/1.0\r\n\r\n");
	client_read(&c, &a);
	MUST(a.status == 200, "%d %s", a.status, a.body.p);
	answer_done(&a);
	client_done(&c);
	stop(&t);
}
END_TEST

/* A proxy nobody named is just a client. */
START_TEST(a_stranger_is_not_believed)
{
	struct site t;

	start(&t, _i, "[proxy]\nforwarded-allow-ips = 10.9.8.7\n");
	must_be(&t, "", _i / 2 ? "http " : "http 127.0.0.1");
	stop(&t);
}
END_TEST

/* ---- no request is lost ---- */

#define RELOADS 10

static void
reload(struct site *t)
{
	server_signal(&t->s, SIGHUP);
	server_wait_log(&t->s, RELOADED);
}

/* With SOAK=1 in 20,000 requests, else in the tenth that there is time for. */
START_TEST(no_502_while_reloading)
{
	long want = soak() ? 20000 : 2000;
	struct load *gets, *posts;
	struct site t;
	int i;

	start(&t, _i, "");
	gets = load_start(t.p.port, 6, "/lazy");
	posts = load_start_posting(t.p.port, 2, "/read");
	for (i = 1; i <= RELOADS; i++) {
		UNTIL(load_count(gets) + load_count(posts) >=
			i * want / (RELOADS + 1));
		reload(&t);
	}
	UNTIL(load_count(gets) + load_count(posts) >= want);
	load_stop(gets);
	load_stop(posts);
	stop(&t);
}
END_TEST

/* One of two instances is stopped and started again under load. */
START_TEST(instances_come_and_go)
{
	struct site t, other;
	const char *upstreams[] = {t.upstream, other.upstream};
	struct load *l;
	long n;
	int status;

	start_server(&t, _i / 2 ? "unix" : "tcp", "");
	start_server(&other, _i / 2 ? "unix" : "tcp", "");
	proxy_start(&t.p, _i % 2, &t.s, upstreams, 2);
	l = load_start(t.p.port, 6, "/lazy");
	UNTIL(load_count(l) >= 200);
	server_signal(&other.s, SIGTERM);
	status = server_wait_exit(&other.s);
	MUST(status == 0, "exit status %d", status);
	n = load_count(l);
	UNTIL(load_count(l) >= n + 200);
	server_spawn(&other.s);
	server_wait_ready(&other.s);
	UNTIL(load_count(l) >= n + 400);
	load_stop(l);
	stop(&t);
	server_stop(&other.s);
}
END_TEST

Suite *
proxies_suite(void)
{
	Suite *suite = suite_create("proxies");
	TCase *tc = harness_case(suite, "bodies");

	tcase_add_loop_test(tc, large_uploads, 0, VARIANTS);
	tcase_add_loop_test(tc, who_waits_for_a_body, 0, VARIANTS);
	tcase_add_loop_test(tc, streams_are_on_time, 0, VARIANTS);
	tc = harness_case(suite, "clients");
	tcase_add_loop_test(tc, the_proxy_tells_who_it_is, 0, VARIANTS);
	tcase_add_loop_test(tc, http_1_0_without_host, 0, VARIANTS);
	tcase_add_loop_test(tc, a_stranger_is_not_believed, 0, VARIANTS);
	tc = harness_case(suite, "reload");
	tcase_add_loop_test(tc, no_502_while_reloading, 0, VARIANTS);
	tcase_add_loop_test(tc, instances_come_and_go, 0, VARIANTS);
	return suite;
}
