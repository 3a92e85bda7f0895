/*
 * fuzz_target.c -- request targets, of any bytes at all.
 *
 * The input is the method, a blank, the target.
 */
#include <assert.h>
#include <string.h>

#include "http/framing.h"
#include "http/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void
check(const struct target *t, struct str target)
{
	const char *end = target.p + target.len;

	assert(t->raw_path.len > 0 && t->path.len <= t->raw_path.len);
	assert(!memchr(t->raw_path.p, '?', t->raw_path.len));
	assert(t->has_query || t->query.len == 0);
	assert(!t->query.len || t->query.p + t->query.len == end);
	if (t->form == TARGET_ABSOLUTE)
		assert(t->authority.len && framing_is_host(t->authority));
	if (!memchr(t->raw_path.p, '%', t->raw_path.len))
		assert(t->path.p == t->raw_path.p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct head h = {.target = {(const char *)p, n}};
	struct target t;
	struct arena a;
	int status;

	if (n == 0 || !str_cut(&h.target, ' ', &h.method) || !h.target.p)
		return 0;
	assert(arena_init(&a, 64) == 0);
	status = target_read(&t, &h, &a);
	assert(status == 0 || status == 400 || status == 501);
	if (!status)
		check(&t, h.target);
	arena_done(&a);
	return 0;
}
