/*
 * fuzz_chunk.c -- the chunked decoder, whole and in pieces whose length the
 * first byte gives.
 */
#include <assert.h>

#include "http/chunk.h"
#include "http/parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

/* Framing and data in turn; a 64-bit sum stands for the data. */
static int
decode(struct chunk *c, const uint8_t *p, size_t n, size_t piece, uint64_t *sum)
{
	size_t i, end, used;
	int status = 0;

	for (i = 0; i < n && !status && !c->done; i += used) {
		end = n - i < piece ? n : i + piece;
		used = end - i < c->left ? end - i : c->left;
		for (size_t j = 0; j < used; j++)
			*sum = *sum * 31 + p[i + j];
		chunk_took(c, used);
		if (!used)
			status = chunk_parse(
				c, (const char *)p + i, end - i, &used);
	}
	return status;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const struct strict_limits limits = {512, 128, 8, 128};
	static struct buf trailers;
	uint64_t sum[2] = {0};
	struct field fields[8];
	struct chunk c[2];
	struct head h;
	int i, status[2];

	for (i = 0; i < 2 && n > 0; i++) {
		chunk_reset(&c[i], &trailers, &limits);
		status[i] =
			decode(&c[i], p + 1, n - 1, i ? p[0] + 1u : n, &sum[i]);
	}
	if (n == 0)
		return 0;
	assert(status[0] == status[1] && c[0].done == c[1].done);
	assert(sum[0] == sum[1]);
	head_init(&h, fields, 8);
	if (c[1].done && trailers.len)
		assert(parser_read_trailers(&h, trailers.p, trailers.len) == 0);
	return 0;
}
