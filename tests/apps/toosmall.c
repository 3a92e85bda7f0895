/* toosmall.c -- its definition ends too early for ours. */
#include "never.h"

const nw_app narwhal_app = {
	.abi_major = NW_ABI_MAJOR,
	.size = 8,
	.open = never_open,
	.handle = never_handle,
};
