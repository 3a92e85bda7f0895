/*
 * rig.c -- a response between an application and a client, for tests.
 */
#include "rig.h"

#include <check.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

struct rig rig;
static struct board_slot board;
static int log_end; /* where log lines can be read */

void
rig_read(void)
{
	ssize_t n;

	do {
		ck_assert_int_eq(buf_reserve(&rig.got, 65536), 0);
		n = read(rig.client, rig.got.p + rig.got.len, 65536);
		if (n > 0)
			rig.got.len += (size_t)n;
	} while (n > 0);
}

static void
before_wait(void *arg)
{
	(void)arg;
	rig.waits++;
	rig_read();
}

static void
after_wait(void *arg)
{
	(void)arg;
}

static const struct conn_limits limits = {
	.body_timeout_us = 20000000, .send_timeout_us = 20000000};
static struct conn_hooks hooks = {before_wait, after_wait, NULL};

void
rig_begin(bool head_only, int minor, bool keep_alive, bool te_trailers)
{
	const struct response_facts facts = {
		head_only, minor, keep_alive, te_trailers};

	buf_reset(&rig.got);
	conn_reset(&rig.conn);
	response_begin(&rig.res, &facts);
}

static void
setup_with(int chunks_max, size_t chunk_size, int64_t delay_us)
{
	struct sockaddr_storage none = {.ss_family = AF_UNIX};
	int fds[2];

	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	rig.server = fds[0];
	rig.client = fds[1];
	ck_assert_int_eq(
		flusher_init(&rig.flusher, chunks_max, chunk_size, delay_us),
		0);
	rig.conn = (struct conn){.limits = &limits,
		.hooks = &hooks,
		.flusher = &rig.flusher,
		.board = &board};
	conn_take(&rig.conn, rig.server, &none, sizeof(none));
	ck_assert_int_eq(response_init(&rig.res, &rig.conn), 0);
	buf_init(&rig.got);
	rig.waits = 0;
	rig_begin(false, 1, true, false);
}

void
rig_setup(void)
{
	int fds[2];

	ck_assert_int_eq(pipe2(fds, O_NONBLOCK), 0);
	log_end = fds[0];
	log_set_fd(fds[1]);
	setup_with(8, 1024, RIG_FOREVER_US);
}

void
rig_teardown(void)
{
	flusher_close(&rig.flusher);
	flusher_done(&rig.flusher);
	response_done(&rig.res);
	buf_done(&rig.got);
	close(rig.server);
	close(rig.client);
}

void
rig_again_with(int chunks_max, size_t chunk_size, int64_t delay_us)
{
	rig_teardown();
	setup_with(chunks_max, chunk_size, delay_us);
}

/* How many lines went to the log, and is the text in one of them? */
int
rig_logged(const char *text)
{
	char p[8192];
	ssize_t n = read(log_end, p, sizeof(p) - 1);
	int lines = 0;

	p[n > 0 ? n : 0] = '\0';
	if (text)
		ck_assert_msg(strstr(p, text) != NULL, "%s", p);
	for (char *q = p; (q = strchr(q, '\n')); q++)
		lines++;
	return lines;
}

void
rig_field(const char *name, const char *value)
{
	ck_assert_int_eq(
		response_add_field(&rig.res, str_of(name), str_of(value)), 0);
}

int
rig_write_z(const char *z)
{
	return response_write(&rig.res, z, strlen(z), NULL, NULL);
}

void
rig_start(int status)
{
	ck_assert_int_eq(response_start(&rig.res, status, STR("")), 0);
}

/* The next message of what the client got. */
struct wire_message
rig_message(struct wire *w, bool no_body)
{
	struct wire_message m;

	ck_assert_msg(wire_read(w, no_body, &m), "%s", buf_z(&rig.got));
	return m;
}

/* End it; the one message that came.  Freed with the next one. */
struct wire_message *
rig_end(bool failed, bool want_keep, bool no_body)
{
	static struct wire_message m;
	struct wire w;

	ck_assert_int_eq(response_end(&rig.res, failed), want_keep);
	rig_read();
	w = (struct wire){rig.got.p, rig.got.len};
	wire_free(&m);
	m = rig_message(&w, no_body);
	ck_assert_uint_eq(w.n, 0);
	return &m;
}
