/*
 * knob.c -- an application whose speed depends on a setting and nothing else.
 *
 * It sleeps 20 ms if there are fewer than 8 chunks, and says how many there
 * are; for the tests of narwhal-tune.
 */
#include "kit.h"

static int
handle(nw_request *r, void *state)
{
	const char *chunks =
		nw_setting(r->server, "outgoing-body-buffer-chunks");
	const struct timespec slow = {.tv_nsec = 20000000};

	(void)state;
	if (atoi(chunks) < 8)
		nanosleep(&slow, NULL);
	if (nw_start(r, 200, NULL) == -1)
		return -1;
	return nw_write(r, chunks, strlen(chunks));
}

const nw_app narwhal_app = {NW_APP_ABI, .handle = handle};
