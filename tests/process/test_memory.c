/*
 * test_memory.c -- what a worker takes is what README.md works out from the
 * settings, and no more.
 *
 * Each of its parts is made large by a setting and then filled by clients.
 */
#include "process/client.h"
#include "process/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *memory_suite(void);

#define KIB 1024
#define HEADS 100
#define HEAD_KB 64
#define CHUNKS 64
#define CHUNK_KB 64
#define BLOCK_KB 2048
#define SLACK_KB 1024 /* what malloc and the kernel round up to */

static long
rss(pid_t worker)
{
	return proc_status(worker, "RssAnon");
}

/* Most of the largest head that is allowed, and no end of it. */
static void
send_unfinished_head(struct client *c)
{
	char line[8 * KIB] = "X: ";
	int i;

	memset(line + 3, 'x', sizeof(line) - 3);
	memcpy(line + sizeof(line) - 2, "\r\n", 2);
	client_puts(c, "GET / HTTP/1.1\r\nHost: t\r\n");
	for (i = 0; i < HEAD_KB / 8 - 1; i++)
		client_send(c, line, sizeof(line));
}

/* It has come to be about as much as all of them may take, and not more. */
static void
must_grow(pid_t worker, long from, long kb)
{
	UNTIL(rss(worker) - from >= kb * 3 / 4);
	MUST(rss(worker) - from < kb + SLACK_KB, "%ld kB", rss(worker) - from);
}

START_TEST(parts_by_their_settings)
{
	struct client heads[HEADS], slow, reader;
	struct server s;
	struct answer a;
	pid_t worker;
	long at, top;
	char *body;
	int i;

	if (sanitized())
		return;
	server_start(&s,
		"[limits]\nrequest-head = %dk\n[buffers]\n"
		"input-block-size = %dk\n"
		"outgoing-body-buffer-chunks = %d\n"
		"outgoing-body-chunk-size = %dk\n[timeouts]\n"
		"header-timeout = 1m\nsend-timeout = 1m\n[app]\napp = %s\n",
		HEAD_KB, BLOCK_KB, CHUNKS, CHUNK_KB, APP("probe"));
	worker = server_worker(&s);
	must_get(&s, "/", "probe");
	top = proc_status(worker, "VmHWM");
	MUST(rss(worker) < 4 * KIB, "%ld kB with nothing to do", rss(worker));

	at = rss(worker);
	for (i = 0; i < HEADS; i++) {
		client_open(&heads[i], &s);
		send_unfinished_head(&heads[i]);
	}
	must_grow(worker, at, HEADS * HEAD_KB);

	/* The block: an application that reads little at a time. */
	at = rss(worker);
	client_open(&reader, &s);
	client_printf(&reader,
		"POST /read?size=10 HTTP/1.1\r\nHost: t\r\n"
		"Content-Length: %d\r\n\r\n",
		3 * BLOCK_KB * KIB);
	body = some_bytes(3 * BLOCK_KB * KIB);
	client_send(&reader, body, 3 * BLOCK_KB * KIB);
	free(body);
	client_read(&reader, &a);
	MUST(a.status == 200, "%s", a.head);
	answer_done(&a);
	client_done(&reader);
	must_grow(worker, at, BLOCK_KB);

	/* The chunks: a client that does not read. */
	at = rss(worker);
	client_open(&slow, &s);
	client_printf(&slow,
		"GET /big?n=40000000&size=%d HTTP/1.1\r\nHost: t\r\n\r\n",
		CHUNK_KB * KIB);
	must_grow(worker, at, CHUNKS * CHUNK_KB);
	client_read(&slow, &a);
	MUST(a.body.n == 40000000, "%zu", a.body.n);
	answer_done(&a);
	client_done(&slow);

	for (i = 0; i < HEADS; i++)
		client_done(&heads[i]);
	top = proc_status(worker, "VmHWM") - top;
	MUST(top < HEADS * HEAD_KB + BLOCK_KB + CHUNKS * CHUNK_KB + SLACK_KB,
		"%ld kB in all", top);
	server_stop(&s);
}
END_TEST

#define AHEAD 200

/* A body that does not fit in one read of a head, and what is sent behind it. */
static void
send_ahead(struct client *c)
{
	struct bytes b = {0};
	char text[10000], *body = some_bytes(10000);
	int i, n;

	n = snprintf(text, sizeof(text),
		"POST /read HTTP/1.1\r\nHost: t\r\n"
		"Transfer-Encoding: chunked\r\n\r\n%x\r\n",
		10000);
	bytes_add(&b, text, (size_t)n);
	bytes_add(&b, body, 10000);
	bytes_add(&b, "\r\n0\r\n\r\n", 7);
	for (i = 0; i < AHEAD; i++) {
		n = snprintf(text, sizeof(text),
			"GET /%0500d HTTP/1.1\r\nHost: t\r\n\r\n", i);
		bytes_add(&b, text, (size_t)n);
	}
	client_send(c, b.p, b.n);
	bytes_done(&b);
	free(body);
}

/*
 * Requests behind a chunked body come with its block, where they wait for the
 * next turn: no more of them than of a head.
 */
START_TEST(requests_sent_ahead)
{
	struct server s;
	struct client busy, c;
	struct answer a;
	const char *path;
	int i;

	server_init(&s);
	path = server_path(&s, "socket");
	server_ini(&s,
		"[server]\nbind = unix:%s\n[limits]\nrequest-head = 1k\n"
		"[buffers]\ninput-block-size = 2m\n[app]\napp = %s\n",
		path, APP("probe"));
	server_spawn(&s);
	server_wait_ready(&s);
	client_open_unix(&busy, path);
	client_puts(&busy,
		"POST /read HTTP/1.1\r\nHost: t\r\n"
		"Content-Length: 1\r\n\r\n");
	server_wait_log(&s, "probe: reading");
	client_open_unix(&c, path);
	send_ahead(&c);
	client_puts(&busy, "1");
	for (i = 1; client_read(&c, &a), !a.close; i++) {
		MUST(a.status == 200, "%s", a.head);
		answer_done(&a);
	}
	MUST(a.status == 200 && i == 16, "the %dth: %s", i, a.head);
	answer_done(&a);
	client_wait_eof(&c);
	client_done(&c);
	client_done(&busy);
	server_stop(&s);
}
END_TEST

Suite *
memory_suite(void)
{
	Suite *suite = suite_create("memory");
	TCase *tc = harness_case(suite, "memory");

	tcase_add_test(tc, parts_by_their_settings);
	tcase_add_test(tc, requests_sent_ahead);
	return suite;
}
