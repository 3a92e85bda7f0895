/*
 * scripted.c -- a client that follows a script, and a request in hand.
 *
 * It sends its next piece when the server would have to wait (the hook of
 * conn.h says so), so every cut is seen exactly as written and nothing depends
 * on time.
 */
#include "unit/scripted.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

struct client client;

struct conn_limits conn_limits;
struct conn_hooks hooks;
struct flusher flusher;
struct board_slot board;
struct conn conn;
struct request_limits limits;
struct request request;
#define r (&request)
int continues;
char wire[WIRE_MAX], body[WIRE_MAX], got_body[WIRE_MAX];

bool
client_sends(void)
{
	size_t n = client.len - client.at, step = client.step;

	if (client.at == 0 && client.cut)
		step = client.cut;
	if (step && n > step)
		n = step;
	if (n > 0 && write(client.fd, client.p + client.at, n) != (ssize_t)n)
		ck_abort_msg("the client cannot send");
	client.at += n;
	if (n == 0 && client.closes)
		shutdown(client.fd, SHUT_WR);
	return n > 0 || client.closes;
}

static void
before_wait(void *arg)
{
	(void)arg;
	client.waits++;
	client_sends();
}

static int
send_continue(void *arg)
{
	(void)arg;
	continues++;
	return 0;
}

void
set_up(void)
{
	static const struct sockaddr_storage peer = {.ss_family = AF_UNIX};
	int fd[2];

	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	fd_set_nonblock(fd[0], true);
	conn_limits = (struct conn_limits){60000000, 60000000, 0, 0, 0, 0};
	limits = (struct request_limits){
		.head = {4096, 1024, 10, 1024}, .block_size = 4096};
	hooks = (struct conn_hooks){.before = before_wait};
	flusher_init(&flusher, 8, 4096, 0);
	conn = (struct conn){.limits = &conn_limits,
		.hooks = &hooks,
		.flusher = &flusher,
		.board = &board};
	memset(&client, 0, sizeof(client));
	client.fd = fd[1];
	continues = 0;
	conn_take(&conn, fd[0], &peer, sizeof(sa_family_t));
	ck_assert_int_eq(request_init(r, &limits, &conn), 0);
	r->send_continue = send_continue;
}

void
tear_down(void)
{
	request_done(r);
	flusher_done(&flusher);
	fd_close(&conn.fd);
	fd_close(&client.fd);
}

void
restart(void)
{
	struct request_limits keep = limits;
	bool closes = client.closes;

	tear_down();
	set_up();
	client.closes = closes;
	limits = keep;
	request_done(r);
	ck_assert_int_eq(request_init(r, &limits, &conn), 0);
	r->send_continue = send_continue;
}

void
script(const void *p, size_t n, size_t step)
{
	client.p = p;
	client.len = n;
	client.at = 0;
	client.step = step;
}

void
script_z(const char *z)
{
	script(z, strlen(z), 0);
}

/* As a worker does it, but the client goes on when nothing is there. */
int
read_head(void)
{
	int status;
	ssize_t n;

	while ((status = request_read_head(r)) == 0 && r->head_len == 0) {
		n = request_receive_head(r);
		if (n == 0)
			return -1;
		if (n == -1) {
			ck_assert_int_eq(errno, EAGAIN);
			if (!client_sends())
				return -1;
		}
	}
	return status;
}

/* The rest of the body in reads of n; its length, or -1. */
ssize_t
read_all(size_t n)
{
	char *p = malloc(n); /* of that size, for the address sanitizer */
	size_t len = 0;
	ssize_t got;

	while ((got = request_read_body(r, p, n)) > 0) {
		ck_assert_uint_le(got, n);
		ck_assert_uint_le(len + got, sizeof(got_body));
		memcpy(got_body + len, p, got);
		len += got;
	}
	free(p);
	return got == 0 ? (ssize_t)len : -1;
}

ssize_t
read_blocks(void)
{
	const char *p;
	size_t len = 0;
	ssize_t got;

	while ((got = request_next_block(r, &p)) > 0) {
		ck_assert_uint_le(len + got, sizeof(got_body));
		memcpy(got_body + len, p, got);
		len += got;
	}
	return got == 0 ? (ssize_t)len : -1;
}

void
check_str(struct str s, const char *z)
{
	ck_assert_msg(
		str_eq(s, str_of(z)), "'%.*s' is not '%s'", STR_ARG(s), z);
}

unsigned long seed;

size_t
pick(size_t max)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return 1 + (size_t)(seed >> 33) % max;
}

void
make_body(size_t n)
{
	ck_assert_uint_le(n, sizeof(body));
	for (size_t i = 0; i < n; i++)
		body[i] = (char)pick(256);
}

static size_t
add_length_head(size_t at, size_t n)
{
	return at +
		(size_t)sprintf(wire + at,
			"POST /length HTTP/1.1\r\n"
			"Host: t\r\nContent-Length: %zu\r\n\r\n",
			n);
}

size_t
add_length(size_t at, const char *p, size_t n)
{
	at = add_length_head(at, n);
	memcpy(wire + at, p, n);
	return at + n;
}

/* In chunks of 1 to max bytes; max 0: of 65536. */
size_t
add_chunked(size_t at, const char *p, size_t n, size_t max)
{
	size_t k;

	at += (size_t)sprintf(wire + at,
		"POST /chunked HTTP/1.1\r\n"
		"Host: t\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (; n > 0; p += k, n -= k) {
		k = max ? pick(max) : 65536;
		k = k < n ? k : n;
		at += (size_t)sprintf(wire + at, "%zx\r\n", k);
		memcpy(wire + at, p, k);
		at += k;
		memcpy(wire + at, "\r\n", 2);
		at += 2;
	}
	return at + (size_t)sprintf(wire + at, "0\r\n\r\n");
}

void
check_body(ssize_t len, size_t n)
{
	ck_assert_int_eq(len, n);
	ck_assert_int_eq(memcmp(got_body, body, n), 0);
	ck_assert_uint_eq(r->received, n);
	ck_assert(r->done);
	ck_assert_int_eq(request_body_left(r), 0);
}
