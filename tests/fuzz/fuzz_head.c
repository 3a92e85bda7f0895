/*
 * fuzz_head.c -- the way of a request head: strict, parser, framing, target.
 * The first byte says in what pieces strict gets it the second time.
 */
#include <assert.h>

#include "http/framing.h"
#include "http/parser.h"
#include "http/strict.h"
#include "http/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void
read_head(struct arena *a, const char *p, size_t len, size_t nfields)
{
	struct field fields[20];
	struct framing f;
	struct target t;
	struct head h;

	head_init(&h, fields, 20);
	if (parser_read(&h, p, len) == 400)
		return; /* a target that is no URL */
	assert(h.nfields == nfields);
	assert(framing_read(&f, &h) || !f.chunked || !f.has_length);
	assert(target_read(&t, &h, a) || t.path.len <= t.raw_path.len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *in, size_t n)
{
	static const struct strict_limits limits = {4096, 512, 20, 256};
	static struct arena a;
	const char *p = (const char *)in + 1;
	struct strict s, cut;
	size_t i, len, cut_len = 0;
	int status, cut_status = 0;

	if (n-- == 0 || (!a.first && arena_init(&a, 64) == -1))
		return 0;
	arena_reset(&a);
	strict_reset(&s);
	strict_reset(&cut);
	status = strict_scan(&s, &limits, p, n, &len);
	for (i = 0; i < n && !cut_status && !cut_len; i += in[0] + 1)
		cut_status = strict_scan(&cut, &limits, p, i, &cut_len);
	if (!cut_status && !cut_len)
		cut_status = strict_scan(&cut, &limits, p, n, &cut_len);
	assert(status == cut_status && (status || len == cut_len));
	if (!status && len)
		read_head(&a, p + s.start, len - s.start, s.nfields);
	return 0;
}
