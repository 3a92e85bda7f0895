/* badmajor.c -- built for an ABI that is not ours. */
#include "never.h"

const nw_app narwhal_app = {
	.abi_major = NW_ABI_MAJOR + 1,
	.size = sizeof(nw_app),
	.open = never_open,
	.handle = never_handle,
};
