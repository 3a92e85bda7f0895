/*
 * test_hostile.c -- clients that mean harm, beside others that must not notice.
 */
#include "process/harness.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "process/load.h"

Suite *hostile_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))

#define SHORT_TIMEOUTS                                                         \
	"[timeouts]\nheader-timeout = 1s\nbody-timeout = 1s\n"                 \
	"send-timeout = 1s\n"

/* ---- one byte at a time ---- */

static bool
has_answer(const struct client *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};

	return poll(&p, 1, 20) == 1;
}

static const struct {
	const char *head, *drop;
} bodies[] = {
	{"Content-Length: 100000", "x"},
	{"Transfer-Encoding: chunked", "1\r\nx\r\n"},
	{"Expect: 100-continue\r\nContent-Length: 100000", "x"},
};

START_TEST(a_body_byte_by_byte)
{
	struct server s;
	struct client c;
	struct answer a;
	struct load *l;
	int n = 0;

	server_start(&s, "workers = 2\n[app]\napp = %s\n" SHORT_TIMEOUTS,
		APP("probe"));
	l = load_start(server_port(&s, 0), 4, "/");
	client_open(&c, &s);
	client_printf(&c, "POST /read HTTP/1.1\r\nHost: t\r\n%s\r\n\r\n",
		bodies[_i].head);
	if (strstr(bodies[_i].head, "100-continue"))
		client_wait_bytes(&c, 25);
	while (!has_answer(&c)) {
		client_puts(&c, bodies[_i].drop);
		MUST(++n < 1000, "it may drip for ever");
	}
	client_read(&c, &a);
	MUST(a.status == 408 && a.close, "%s", a.head);
	answer_done(&a);
	client_done(&c);
	load_stop(l);
	server_stop(&s);
}
END_TEST

/* Told to send it, the client does not. */
START_TEST(a_body_that_never_comes)
{
	struct server s;
	struct client c;
	struct answer a;
	struct load *l;

	server_start(&s, "workers = 2\n[app]\napp = %s\n" SHORT_TIMEOUTS,
		APP("probe"));
	l = load_start(server_port(&s, 0), 4, "/");
	client_open(&c, &s);
	client_puts(&c,
		"POST /read HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n"
		"Expect: 100-continue\r\n\r\n");
	client_read(&c, &a);
	MUST(a.interim == 1 && a.status == 408 && a.close, "%s", a.head);
	answer_done(&a);
	client_wait_eof(&c);
	client_done(&c);
	load_stop(l);
	server_stop(&s);
}
END_TEST

START_TEST(a_reader_byte_by_byte)
{
	struct server s;
	struct client c;
	struct load *l;
	char one, *out = NULL;

	server_start(&s,
		"workers = 2\n[app]\napp = %s\n" SHORT_TIMEOUTS
		"[log]\naccess-log = -\naccess-log-format = %%(U)s\n",
		APP("probe"));
	l = load_start(server_port(&s, 0), 4, "/");
	MUST(client_try_port(&c, server_port(&s, 0), 4096), "connect");
	client_puts(&c, "GET /big?n=100000000 HTTP/1.1\r\nHost: t\r\n\r\n");
	do {
		MUST(recv(c.fd, &one, 1, 0) == 1, "no byte");
		poll(NULL, 0, 20);
		free(out);
		out = read_file(s.out, NULL);
	} while (!strstr(out, "/big"));
	free(out);
	while (client_try_fill(&c))
		;
	MUST(c.in.n < 100000000, "it came whole");
	client_done(&c);
	load_stop(l);
	server_stop(&s);
}
END_TEST

Suite *
hostile_suite(void)
{
	Suite *suite = suite_create("hostile");
	TCase *tc = harness_case(suite, "slow");

	tcase_add_loop_test(tc, a_body_byte_by_byte, 0, N(bodies));
	tcase_add_test(tc, a_body_that_never_comes);
	tcase_add_test(tc, a_reader_byte_by_byte);
	return suite;
}
