/*
 * fuzz_worker.c -- what a client says to a whole worker.
 *
 * The first byte says what the application does with bodies, the second in what
 * pieces the rest comes.  The worker has to answer as the second reader reads
 * it, and nothing may be left of the connection.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "rfc/tank.h"
#include "rfc/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static const size_t sizes[] = {
	1, 2, 3, 5, 16, 100, 500, 512, 600, 4096, 0, TANK_PASS};

static void
start(void)
{
	static bool started;

	if (started)
		return;
	started = true;
	tank_open(&tank_small);
	atexit(tank_close);
}

int
LLVMFuzzerTestOneInput(const uint8_t *in, size_t n)
{
	struct verdict_terms terms = {.limits = {2048, 512, 20, 256, 1000}};
	struct tank_stream s = {(const char *)in + 2, n - 2, 0, 0};
	const char *wrong;
	struct str got;

	if (n < 2)
		return 0;
	start();
	s.step = in[1];
	tank_read_size(sizes[in[0] % 12]);
	terms.body = in[0] % 12 < 10 ? BODY_READ
		: in[0] % 12 == 10   ? BODY_UNREAD
				     : BODY_PASSED;
	got = tank_run(&s);
	wrong = verdict(s.p, s.n, got.p, got.len, &terms);
	if (wrong) {
		fprintf(stderr, "%s:\n%.*s\n", wrong, (int)got.len, got.p);
		abort();
	}
	return 0;
}
