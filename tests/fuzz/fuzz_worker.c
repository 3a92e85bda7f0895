/*
 * fuzz_worker.c -- what a client says to a whole worker.
 *
 * The first byte says how much of the body the application asks for at once, if
 * any, the second in what pieces the rest comes.  The worker has to answer as the second
 * reader reads it, and nothing may be left of the connection.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "rfc/tank.h"
#include "rfc/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static bool is_open;

static void
end(void)
{
	tank_close();
}

int
LLVMFuzzerTestOneInput(const uint8_t *in, size_t n)
{
	struct verdict_terms terms = {.limits = {2048, 512, 20, 256}};
	struct tank_stream s = {.p = (const char *)in + 2};
	const char *wrong;
	struct str got;

	if (n < 2)
		return 0;
	if (!is_open) {
		tank_open(&tank_small);
		atexit(end);
		is_open = true;
	}
	s.n = n - 2;
	s.step = in[1];
	terms.unread = in[0] % 16 > 11;
	tank_read_size(terms.unread ? 0 : 1u << in[0] % 16);
	got = tank_run(&s);
	wrong = verdict(s.p, s.n, got.p, got.len, &terms);
	if (wrong) {
		fprintf(stderr, "%s; answered:\n%.*s\n", wrong, (int)got.len,
			got.p);
		abort();
	}
	return 0;
}
