/*
 * test_buffers.c -- the queue of chunks: how far an application runs ahead,
 * how few writes that takes, and that no setting changes a byte.
 *
 * A flush delay of 10 s keeps time out of the counts.
 */
#include "process/trace.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

Suite *buffers_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))
#define MIB 1048576

static void
echo_once(const struct server *s, const char *body, size_t n, bool chunked)
{
	struct bytes all = {0};
	struct client c;
	struct answer a;
	char head[200];

	if (chunked)
		snprintf(head, sizeof(head),
			"POST / HTTP/1.1\r\nHost: t\r\n"
			"Transfer-Encoding: chunked\r\n\r\n%zx\r\n",
			n);
	else
		snprintf(head, sizeof(head),
			"POST / HTTP/1.1\r\nHost: t\r\n"
			"Content-Length: %zu\r\n\r\n",
			n);
	bytes_add(&all, head, strlen(head));
	bytes_add(&all, body, n);
	if (chunked)
		bytes_add(&all, "\r\n0\r\n\r\n", 7);
	client_open(&c, s);
	client_exchange(&c, all.p, all.n, &a);
	MUST(a.status == 200 && a.body.n == n && memcmp(a.body.p, body, n) == 0,
		"the echo differs (%d, %zu bytes)", a.status, a.body.n);
	client_done(&c);
	answer_done(&a);
	bytes_done(&all);
}

/* ---- fewer writes ---- */

static int
count_writes(int chunks)
{
	char *body = some_bytes(MIB);
	struct server s;
	struct trace t;

	server_init(&s);
	server_listen(&s);
	server_ini(&s,
		"[server]\nbind = fd:3\n[app]\napp = so:echo\n[buffers]\n"
		"outgoing-body-buffer-chunks = %d\n"
		"outgoing-flush-delay = 10s\n",
		chunks);
	server_trace(&s, TRACE_CALLS);
	server_spawn(&s);
	server_wait_ready(&s);
	echo_once(&s, body, MIB, false);
	server_signal(&s, SIGTERM);
	MUST(server_wait_exit(&s) == 0, "exit status");
	trace_read(&s, &t);
	server_done(&s);
	free(body);
	return t.writes;
}

/* so:echo writes 1024 bytes at a time: 1024 writes in lock-step. */
START_TEST(eight_chunks_are_a_ninth_of_the_writes)
{
	int none = count_writes(0), eight = count_writes(8);

	MUST(none >= 1024, "%d writes in lock-step", none);
	MUST(eight <= none / 9 + 10, "%d writes, %d in lock-step", eight, none);
}
END_TEST

/* ---- the same bytes ---- */

static const struct {
	int chunks;
	const char *size, *delay;
} settings[] = {
	{0, "512", "5ms"},
	{0, "64k", "0"},
	{1, "512", "10s"},
	{1, "1k", "5ms"},
	{8, "1000", "10s"},
	{8, "64k", "0"},
	{64, "4k", "1ms"},
	{1024, "512", "10s"},
	{1024, "64k", "10s"},
};

START_TEST(no_setting_changes_a_byte)
{
	char *body = some_bytes(300001);
	struct server s;
	struct answer a;

	server_start(&s,
		"[app]\napp = so:echo\n[buffers]\n"
		"outgoing-body-buffer-chunks = %d\n"
		"outgoing-body-chunk-size = %s\n"
		"outgoing-flush-delay = %s\n",
		settings[_i].chunks, settings[_i].size, settings[_i].delay);
	echo_once(&s, body, 300001, false);
	echo_once(&s, body, 300001, true);
	echo_once(&s, body, 1, false);
	echo_once(&s, body, 0, true);
	server_stop(&s);
	server_start(&s,
		"[app]\napp = %s\n[buffers]\n"
		"outgoing-body-buffer-chunks = %d\n"
		"outgoing-body-chunk-size = %s\n"
		"outgoing-flush-delay = %s\n",
		APP("probe"), settings[_i].chunks, settings[_i].size,
		settings[_i].delay);
	get(&s, "/big?n=300001&size=70001", &a);
	MUST(a.body.n == 300001 && strspn(a.body.p, "x") == 300001, "%zu bytes",
		a.body.n);
	answer_done(&a);
	get(&s, "/release", &a); /* 100 x 1000 bytes, then their number */
	MUST(a.body.n == 100003 && strspn(a.body.p, "r") == 100000 &&
			strcmp(a.body.p + 100000, "100") == 0,
		"%zu bytes, ending %s", a.body.n, a.body.p + 99990);
	server_stop(&s);
	free(body);
}
END_TEST

/* ---- the bound ---- */

/* What the kernel holds for this connection on the server's side. */
static long
send_queue(int server_port, int client_port)
{
	char line[300];
	unsigned local, remote, queue;
	FILE *f = fopen("/proc/net/tcp", "re");
	long found = -1;

	MUST(f, "/proc/net/tcp");
	while (found == -1 && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %*8x:%4x %*8x:%4x %*x %8x:", &local,
			    &remote, &queue) == 3 &&
			local == (unsigned)server_port &&
			remote == (unsigned)client_port)
			found = queue;
	fclose(f);
	MUST(found != -1, "the connection is not in /proc/net/tcp");
	return found;
}

static int
local_port(const struct client *c)
{
	struct sockaddr_in a;
	socklen_t n = sizeof(a);

	MUST(getsockname(c->fd, (void *)&a, &n) == 0, "getsockname");
	return ntohs(a.sin_port);
}

/* Wait until the count has stood still for a third of a second. */
static int64_t
settled(const volatile int64_t *count)
{
	int64_t last = -1, since = now_ms();

	while (last <= 0 || now_ms() - since < 333) {
		if (*count != last) {
			last = *count;
			since = now_ms();
		}
		MUST(now_ms() - since < PATIENCE_MS, "nothing was written");
		nap();
	}
	return last;
}

/*
 * N = 4, S = 1k: with a client that does not read, what was written is what
 * the kernel took and four chunks.
 */
START_TEST(application_stops_and_resumes)
{
	const int64_t zero = 0;
	const size_t n = 16 * MIB;
	volatile int64_t *count;
	int64_t written;
	struct server s;
	struct client c;
	struct answer a;
	int fd, kernel;
	long queued;

	server_init(&s);
	server_listen(&s);
	write_file(server_path(&s, "progress"), &zero, sizeof(zero));
	fd = open(server_path(&s, "progress"), O_RDWR | O_CLOEXEC);
	count = mmap(NULL, 8, PROT_READ, MAP_SHARED, fd, 0);
	server_ini(&s,
		"[server]\nbind = fd:3\n[app]\napp = %s\n"
		"[options]\nprogress = %s\n[buffers]\n"
		"outgoing-body-buffer-chunks = 4\n"
		"outgoing-body-chunk-size = 1k\n"
		"outgoing-flush-delay = 10s\n",
		APP("probe"), server_path(&s, "progress"));
	server_spawn(&s);
	server_wait_ready(&s);
	MUST(client_try_port(&c, server_port(&s, 0), 16384), "connect");
	client_printf(&c,
		"GET /big?n=%zu&size=1024&length=1 HTTP/1.1\r\n"
		"Host: t\r\nConnection: close\r\n\r\n",
		n);
	written = settled(count) * 1024;
	MUST(ioctl(c.fd, FIONREAD, &kernel) == 0, "FIONREAD");
	queued = send_queue(server_port(&s, 0), local_port(&c));
	MUST(written <= kernel + queued + 4 * 1024,
		"%lld bytes written, %d + %ld in the kernel",
		(long long)written, kernel, queued);
	MUST(written < (int64_t)n, "the client read, it seems");
	client_read(&c, &a); /* and it goes on */
	MUST(a.body.n == n, "%zu bytes", a.body.n);
	MUST(*count == (int64_t)n / 1024, "%lld writes", (long long)*count);
	client_done(&c);
	server_stop(&s);
}
END_TEST

/* The worker gives up on a client that takes nothing, and is free again. */
START_TEST(client_that_never_reads)
{
	struct server s;
	struct client c;

	server_start(&s, "[app]\napp = %s\n[timeouts]\nsend-timeout = 300ms\n",
		APP("probe"));
	MUST(client_try_port(&c, server_port(&s, 0), 4096), "connect");
	client_puts(&c, "GET /big?n=100000000 HTTP/1.1\r\nHost: t\r\n\r\n");
	must_get(&s, "/ok", NULL);
	client_done(&c);
	server_stop(&s);
}
END_TEST

Suite *
buffers_suite(void)
{
	Suite *suite = suite_create("buffers");
	TCase *tc = harness_case(suite, "writes");

	tcase_add_test(tc, eight_chunks_are_a_ninth_of_the_writes);
	tc = harness_case(suite, "bytes");
	tcase_add_loop_test(tc, no_setting_changes_a_byte, 0, N(settings));
	tc = harness_case(suite, "bound");
	tcase_add_test(tc, application_stops_and_resumes);
	tcase_add_test(tc, client_that_never_reads);
	return suite;
}
