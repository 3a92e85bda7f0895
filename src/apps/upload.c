/*
 * upload.c -- reads a body to its end and says how much came, and how fast.
 *
 * Its buffer is as large as the server's input block, so every read goes from
 * the socket straight into it.  The buffer is made once, in open: a worker
 * takes one request at a time, so one is enough.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "narwhal/app.h"

struct upload {
	size_t block_len;
	char *block;
};

static const char no_memory[] = "upload: out of memory";

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Called once in each worker; what goes into *ret_state comes to handle. */
static int
start_up(nw_server *s, void **ret_state)
{
	const char *size = nw_setting(s, "input-block-size");
	struct upload *u = calloc(1, sizeof(*u));

	if (u != NULL) {
		u->block_len = size ? strtoul(size, NULL, 10) : 65536;
		u->block = malloc(u->block_len);
	}
	if (u == NULL || u->block == NULL) {
		nw_log(s, NW_ERROR, no_memory, sizeof(no_memory) - 1);
		free(u);
		return -1;
	}
	*ret_state = u;
	return 0;
}

static int
answer(nw_request *r, unsigned long long received, double seconds)
{
	char count[32], json[128];
	int n;

	snprintf(count, sizeof(count), "%llu", received);
	n = snprintf(json, sizeof(json),
		"{\"received_bytes\": %llu, \"process_seconds\": %.6f}\n",
		received, seconds);
	if (nw_start(r, 200, NULL) == -1 ||
		nw_add_field_z(r, "Content-Type", "application/json") == -1 ||
		nw_add_field_z(r, "X-Received-Length", count) == -1)
		return -1;
	return nw_write(r, json, (size_t)n);
}

static int
handle(nw_request *r, void *state)
{
	struct upload *u = state;
	unsigned long long received = 0;
	double began = now();
	ssize_t n;

	while ((n = nw_read(r, u->block, u->block_len)) > 0)
		received += (unsigned long long)n;
	if (n == -1)
		return -1; /* the server knows what to tell the client */
	return answer(r, received, now() - began);
}

/* Called before the worker leaves. */
static void
shut_down(nw_server *s, void *state)
{
	struct upload *u = state;

	(void)s;
	free(u->block);
	free(u);
}

const nw_app narwhal_app = {
	NW_APP_ABI,
	.open = start_up,
	.handle = handle,
	.close = shut_down,
};
