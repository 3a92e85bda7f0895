/*
 * fuzz_addr.c -- any bytes as an address, except names: they would be asked
 * of a resolver.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "conf/addr.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static bool
may_be_name(struct str s)
{
	if (str_starts(s, STR("unix:")) || str_starts(s, STR("fd:")) ||
		str_starts(s, STR("[")))
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (!strchr("0123456789.:", s.p[i]))
			return true;
	return false;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct str s = {(const char *)p, n};
	struct addr x, y;
	const char *why;
	struct arena a;

	if (may_be_name(s))
		return 0;
	if (arena_init(&a, 1024) == -1)
		abort();
	if (addr_read(s, &a, &x, 1, &why) == -1) {
		assert(*why);
	} else {
		/* its text means the same */
		assert(addr_read(str_of(x.text), &a, &y, 1, &why) == 1);
		assert(addr_eq(&x, &y) && !strcmp(x.text, y.text));
	}
	arena_done(&a);
	return 0;
}
