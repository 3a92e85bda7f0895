/*
 * fuzz_proxy.c -- any bytes as a PROXY header: no more of them change what was
 * decided, and fewer decide nothing else.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/proxy.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static int
read_copy(enum proxy_mode mode, const uint8_t *p, size_t n)
{
	struct proxy_source s;
	char *copy = malloc(n ? n : 1);
	int got;

	memcpy(copy, p, n);
	got = proxy_read(mode, copy, n, &s);
	assert(got >= -1 && got <= PROXY_V2_MAX && got <= (int)n);
	assert(s.port >= 0 && s.port <= 65535);
	free(copy);
	return got;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	enum proxy_mode mode;
	int whole, part;
	size_t cut;

	for (mode = PROXY_V1; mode <= PROXY_AUTO; mode++) {
		whole = read_copy(mode, p, n);
		assert(whole != 0 || n < PROXY_V2_MAX);
		for (cut = 0; cut < n && cut < 600; cut++) {
			part = read_copy(mode, p, cut);
			assert(part == 0 || part == whole);
		}
	}
	return 0;
}
