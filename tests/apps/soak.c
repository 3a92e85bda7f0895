/*
 * soak.c -- what the clients of the soak ask; tests/wsgi/apps/soak.py answers
 * the same.
 *
 * Every response says which process made it and, by the option turn, with
 * which configuration.  Byte i of a body is (i + salt) % 251, both ways.
 */
#include <unistd.h>

#include "kit.h"

#define PERIOD 251
#define BLOCK 65536

static unsigned char ramp[PERIOD + BLOCK];

static int
start(nw_request *r)
{
	const char *turn = nw_option(r->server, "turn");
	char pid[32];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	return nw_start(r, 200, NULL) == -1 ||
			nw_add_field_z(r, "X-Pid", pid) == -1 ||
			nw_add_field_z(r, "X-Turn", turn ? turn : "-") == -1
		? -1
		: 0;
}

/* The query back: whose answer it is. */
static int
do_hello(nw_request *r)
{
	nw_str q = nw_query(r);

	return start(r) == -1 ? -1 : nw_write(r, q.p, q.len);
}

static int
do_echo(nw_request *r)
{
	return start(r) == -1 ? -1 : nw_pass_body(r);
}

/* How many bytes there were, and how many were not as they should be. */
static int
do_count(nw_request *r)
{
	long salt = number_of(r, "salt", 0), n = 0, bad = 0;
	unsigned char p[16384];
	char text[64];
	ssize_t got, i;

	while ((got = nw_read(r, p, sizeof(p))) > 0)
		for (i = 0; i < got; i++, n++)
			bad += p[i] != ramp[(n + salt) % PERIOD];
	if (got == -1 || start(r) == -1)
		return -1;
	snprintf(text, sizeof(text), "%ld %ld", n, bad);
	return nw_write(r, text, strlen(text));
}

/* n bytes in writes of `size`, with their length if length=1. */
static int
do_stream(nw_request *r)
{
	long salt = number_of(r, "salt", 0), n = number_of(r, "n", 1000);
	long size = number_of(r, "size", 1000), at, some;
	char length[32];

	snprintf(length, sizeof(length), "%ld", n);
	if (start(r) == -1 ||
		(number_of(r, "length", 0) &&
			nw_add_field_z(r, "Content-Length", length) == -1))
		return -1;
	for (at = 0; at < n; at += some) {
		some = size < n - at ? size : n - at;
		some = some < BLOCK ? some : BLOCK;
		if (nw_write(r, ramp + (at + salt) % PERIOD, (size_t)some) ==
			-1)
			return -1;
	}
	return 0;
}

static int
handle(nw_request *r, void *state)
{
	nw_str path = nw_path(r);

	(void)state;
	return is_str(path, "/count")	  ? do_count(r)
		: is_str(path, "/echo")	  ? do_echo(r)
		: is_str(path, "/stream") ? do_stream(r)
					  : do_hello(r);
}

static int
open_app(nw_server *s, void **ret_state)
{
	(void)s;
	*ret_state = NULL;
	for (size_t i = 0; i < sizeof(ramp); i++)
		ramp[i] = (unsigned char)(i % PERIOD);
	return 0;
}

const nw_app narwhal_app = {NW_APP_ABI, .open = open_app, .handle = handle};
