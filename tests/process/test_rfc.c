/*
 * test_rfc.c -- the real binary against the second reader of requests.
 *
 * A few of the mutants that tests/unit/test_rfc.c takes through the worker's
 * code, here over TCP, several workers sharing them.
 */
#include "process/harness.h"

#include <sys/socket.h>

#include "rfc/mutate.h"
#include "rfc/verdict.h"

Suite *rfc_suite(void);

#define MUTANTS 1000

static void
send_mutant(const struct server *s, const char *p, size_t n, size_t first)
{
	static const struct verdict_terms terms = {
		{65536, 8190, 100, 8190, 0}, BODY_READ};
	struct client c;
	const char *wrong;

	client_open(&c, s);
	/* It may be refused before all of it is sent. */
	if (first == 0 || client_try_send(&c, p, first))
		client_try_send(&c, p + first, n - first);
	/* Who goes on behind his own `Connection: close` may get a reset. */
	shutdown(c.fd, SHUT_WR);
	while (client_try_fill(&c))
		;
	wrong = verdict(p, n, c.in.p, c.in.n, &terms);
	MUST(!wrong, "%s for %.*s: %.*s", wrong, (int)n, p, (int)c.in.n,
		c.in.p);
	client_done(&c);
}

START_TEST(mutants)
{
	char p[MUTANT_MAX];
	struct server s;
	struct dice dice;
	size_t n;

	server_start(&s,
		"workers = 2\n"
		"[app]\napp = " APP(
			"witness") "\n"
				   "[proxy]\nforwarded-allow-ips =\n");
	for (uint64_t i = 0; i < MUTANTS; i++) {
		n = mutate(i, p);
		if (n == 0)
			continue;
		dice.state = i;
		send_mutant(&s, p, n, i % 2 ? dice_roll(&dice, n) : 0);
	}
	server_stop(&s);
}
END_TEST

Suite *
rfc_suite(void)
{
	Suite *s = suite_create("rfc");
	TCase *t = harness_case(s, "mutants");

	tcase_add_test(t, mutants);
	return s;
}
