/*
 * test_fairness.c -- a client that pipelines takes turns with the others.
 */
#include "process/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *fairness_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))

/* Fits in one read of the head, or of a body's block. */
#define FLOOD 150
#define SLOW "GET /sleep?ms=10 HTTP/1.1\r\nHost: t\r\n\r\n"

static const char *const before[] = {"",
	"POST /read HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
	"5\r\nhello\r\n0\r\n\r\n"};

static void
flood(struct client *c, const char *first, const char *request, int n)
{
	struct bytes b = {0};
	int i;

	bytes_add(&b, first, strlen(first));
	for (i = 0; i < n; i++)
		bytes_add(&b, request, strlen(request));
	client_send(c, b.p, b.n);
	bytes_done(&b);
}

static void
must_read(struct client *c, int n, const char *body)
{
	struct answer a;

	while (n-- > 0) {
		client_read(c, &a);
		MUST(a.status == 200 && strcmp(a.body.p, body) == 0,
			"%d more: %s", n, a.head);
		answer_done(&a);
	}
}

START_TEST(others_get_their_turn)
{
	struct server s;
	struct client c, healthy;
	struct answer a;
	int served;

	server_start(&s, "[app]\napp = %s\n", APP("probe"));
	client_open(&healthy, &s);
	client_puts(&healthy, "GET / HTTP/1.1\r\nHost: t\r\n\r\n");
	must_read(&healthy, 1, "probe");
	client_open(&c, &s);
	flood(&c, before[_i], SLOW, FLOOD);
	server_wait_log(&s, "probe: sleeping");
	client_puts(&healthy, "GET / HTTP/1.1\r\nHost: t\r\n\r\n");
	must_read(&healthy, 1, "probe");
	served = server_count_log(&s, "probe: sleeping");
	MUST(served < FLOOD / 2, "%d requests came before", served);
	must_get(&s, "/", "probe"); /* a new connection */
	served = server_count_log(&s, "probe: sleeping");
	MUST(served < FLOOD, "all requests came before");
	if (before[_i][0]) {
		client_read(&c, &a);
		MUST(a.status == 200 && strcmp(a.body.p, "5") == 0, "%s",
			a.head);
		answer_done(&a);
	}
	must_read(&c, FLOOD, "slept");
	client_done(&c);
	client_done(&healthy);
	server_stop(&s);
}
END_TEST

/* Each of several: all that was sent is answered, and in order. */
START_TEST(floods_are_served_whole)
{
	struct client c[4];
	struct server s;
	int i;

	server_start(&s, "[app]\napp = %s\n", APP("probe"));
	for (i = 0; i < N(c); i++) {
		client_open(&c[i], &s);
		flood(&c[i], "", "GET / HTTP/1.1\r\nHost: t\r\n\r\n", 1000);
	}
	for (i = 0; i < N(c); i++) {
		must_read(&c[i], 1000, "probe");
		client_done(&c[i]);
	}
	server_stop(&s);
}
END_TEST

/* A worker that retires tells one who waits for his turn as well. */
START_TEST(retiring_amid_a_flood)
{
	struct server s;
	struct client c;
	struct answer a;
	bool last;
	int n = 0;

	server_start(&s, "[app]\napp = %s\n", APP("probe"));
	client_open(&c, &s);
	flood(&c, "", SLOW, FLOOD);
	server_wait_log(&s, "probe: sleeping");
	server_signal(&s, SIGTERM);
	do {
		client_read(&c, &a);
		MUST(a.status == 200, "%s", a.head);
		n++;
		last = a.close;
		answer_done(&a);
	} while (!last);
	MUST(n < FLOOD, "it served all of it");
	client_wait_eof(&c);
	client_done(&c);
	MUST(server_wait_exit(&s) == 0, "exit status");
	server_done(&s);
}
END_TEST

Suite *
fairness_suite(void)
{
	Suite *suite = suite_create("fairness");
	TCase *tc = harness_case(suite, "pipelines");

	tcase_add_loop_test(tc, others_get_their_turn, 0, N(before));
	tcase_add_test(tc, floods_are_served_whole);
	tcase_add_test(tc, retiring_amid_a_flood);
	return suite;
}
