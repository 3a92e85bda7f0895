/* badmajor.c -- an application for another ABI: must not be called at all. */
#include <narwhal/app.h>
#include <stdlib.h>

static int
open_app(nw_server *s, void **ret_state)
{
	(void)s;
	(void)ret_state;
	abort();
}

const nw_app narwhal_app = {
	.abi_major = NW_ABI_MAJOR + 1,
	.abi_minor = 0,
	.size = sizeof(nw_app),
	.open = open_app,
};
