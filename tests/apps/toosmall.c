/*
 * toosmall.c -- its definition ends too early for ours.  Nothing of it may be called.
 */
#include "kit.h"

static int
open_app(nw_server *s, void **ret_state)
{
	(void)s;
	(void)ret_state;
	abort();
}

static int
handle(nw_request *r, void *state)
{
	(void)r;
	(void)state;
	abort();
}

const nw_app narwhal_app = {
	.abi_major = NW_ABI_MAJOR,
	.size = 8,
	.open = open_app,
	.handle = handle,
};
