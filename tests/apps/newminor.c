/*
 * newminor.c -- built for an ABI newer than ours.  Nothing of it may be called.
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
	.abi_minor = NW_ABI_MINOR + 1,
	.size = sizeof(nw_app),
	.open = open_app,
	.handle = handle,
};
