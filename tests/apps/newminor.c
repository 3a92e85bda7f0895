/* newminor.c -- built for an ABI newer than ours. */
#include "never.h"

const nw_app narwhal_app = {
	.abi_major = NW_ABI_MAJOR,
	.abi_minor = NW_ABI_MINOR + 1,
	.size = sizeof(nw_app),
	.open = never_open,
	.handle = never_handle,
};
