/*
 * tank.c -- a whole worker in this process, fed from memory.
 *
 * The client's half closes when all is sent, so each connection ends by
 * itself: answered, refused, or given up.
 */
#include "rfc/tank.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define FOREVER_US (INT64_MAX / 4)

extern const nw_app witness_app; /* narwhal_app of tests/apps/witness.c */

const struct serve_settings tank_small = {
	.request = {{2048, 512, 20, 256}, 1000, 512},
	.conn = {FOREVER_US, FOREVER_US, 0, 0, 0, 0},
	.chunks_max = 4,
	.chunk_size = 512,
	.flush_delay_us = FOREVER_US,
	.keepalive_us = FOREVER_US,
};

const struct serve_settings tank_default = {
	.request = {{65536, 8190, 100, 8190}, 0, 65536},
	.conn = {FOREVER_US, FOREVER_US, 0, 0, 0, 0},
	.chunks_max = 16,
	.chunk_size = 65536,
	.flush_delay_us = FOREVER_US,
	.keepalive_us = FOREVER_US,
};

struct tank {
	struct serve serve;
	struct park park;
	struct board_slot board;
	int log, error_log;
	char read_size[24]; /* the option */

	struct tank_stream left; /* of the connection in hand */
	int client;
	struct buf got;
};

static struct tank tank;

static const char *
find_setting(void *arg, const char *key)
{
	(void)arg;
	(void)key;
	return NULL;
}

static const char *
find_option(void *arg, const char *name)
{
	const struct tank *t = arg;

	return strcmp(name, "read-size") == 0 ? t->read_size : NULL;
}

static int
option_at(void *arg, size_t i, const char **ret_name, const char **ret_value)
{
	(void)arg;
	(void)i;
	(void)ret_name;
	(void)ret_value;
	return -1;
}

/* ---- the client ---- */

static void
read_some(struct tank *t)
{
	ssize_t n;

	do {
		buf_reserve(&t->got, 65536);
		n = read(t->client, t->got.p + t->got.len, 65536);
		t->got.len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
}

/* One piece more, or the end; a full socket takes it next time. */
static void
write_some(struct tank *t)
{
	struct tank_stream *s = &t->left;
	size_t piece = s->first ? s->first : s->step;
	ssize_t n;

	if (piece == 0 || piece > s->n)
		piece = s->n;
	s->first = 0;
	if (piece == 0) {
		shutdown(t->client, SHUT_WR);
		return;
	}
	n = send(t->client, s->p, piece, MSG_NOSIGNAL);
	if (n == -1)
		return; /* full, or the server has closed */
	s->p += n;
	s->n -= (size_t)n;
}

/* The worker would wait: for what is not sent yet, or for room. */
static void
move(void *arg)
{
	read_some(arg);
	write_some(arg);
}

static void
go_on(void *arg)
{
	(void)arg;
}

/* ---- the worker ---- */

void
tank_open(const struct serve_settings *settings)
{
	static const struct conn_peer bound;
	static const struct api_settings lookups = {
		find_setting, find_option, option_at, &tank};
	struct tank *t = &tank;

	t->error_log = log_fd();
	log_set_fd(-1);
	t->log = open("/dev/null", O_WRONLY | O_CLOEXEC);
	assert(!park_init(&t->park, 1, FOREVER_US, FOREVER_US));
	assert(!serve_init(&t->serve, settings, &lookups, &t->park, &t->board,
		t->log, "%(h)s %(r)s %(s)s %(b)s %({host}i)s %(Q)s"));
	t->serve.bound = &bound;
	t->serve.hooks = (struct conn_hooks){move, go_on, t};
	t->serve.app.def = &witness_app;
	tank_read_size(4096);
}

void
tank_close(void)
{
	flusher_close(&tank.serve.flusher);
	serve_done(&tank.serve);
	park_done(&tank.park);
	buf_done(&tank.got);
	close(tank.log);
	log_set_fd(tank.error_log);
}

void
tank_read_size(size_t n)
{
	if (n == TANK_PASS)
		strcpy(tank.read_size, "pass");
	else
		snprintf(tank.read_size, sizeof(tank.read_size), "%zu", n);
}

/* Nothing of the last connection is left. */
static void
check_empty(const struct tank *t, int server)
{
	assert(park_count(&t->park) == 0 && !t->park.slots[0].head);
	assert(t->park.slots[0].fd == -1 && t->serve.conn.fd == -1);
	assert(fcntl(server, F_GETFD) == -1);
	assert(queue_is_empty(&t->serve.flusher.queue));
	assert(atomic_load(&t->board.run_out_at) == 0);
	assert(atomic_load(&t->board.request_at) == 0);
}

static void
serve_until_closed(struct tank *t)
{
	while (park_count(&t->park) > 0) {
		move(t);
		serve_ready(&t->serve, 0, false);
		serve_turns(&t->serve);
	}
}

struct str
tank_run(const struct tank_stream *s)
{
	struct sockaddr_storage peer = {.ss_family = AF_UNIX};
	struct tank *t = &tank;
	int fds[2];

	assert(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds));
	t->client = fds[1];
	t->left = *s;
	buf_reset(&t->got);
	write_some(t);
	serve_new(&t->serve, 0, fds[0], &peer, sizeof(peer.ss_family));
	serve_until_closed(t);
	read_some(t);
	close(t->client);
	check_empty(t, fds[0]);
	return buf_str(&t->got);
}
