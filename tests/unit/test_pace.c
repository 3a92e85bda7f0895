/*
 * test_pace.c -- who is fast enough, with a clock of the test's.
 */
#include <check.h>

#include "worker/pace.h"

Suite *pace_suite(void);

#define SECOND 1000000
#define PERIOD (30 * SECOND)

/* Bytes that come after each wait of so long; how often until it is judged. */
static bool
drip(struct pace *p, int64_t *bytes, int64_t wait, int64_t n, int rounds,
	uint64_t rate)
{
	while (rounds-- > 0) {
		if (pace_left(p, PERIOD) <= 0 &&
			!pace_judge(p, *bytes, rate, 0))
			return false;
		p->waited_us += wait;
		*bytes += n;
	}
	return true;
}

static const struct {
	int64_t wait, n;
	uint64_t rate;
	bool lasts;
} drips[] = {
	{29 * SECOND, 1, 500, false},
	{SECOND, 1, 500, false},
	{SECOND, 499, 500, false},
	{SECOND, 500, 500, true},
	{SECOND / 100, 5, 500, true},
	{SECOND / 100, 4, 500, false},
	{29 * SECOND, 15000, 500, true},
	{29 * SECOND, 1, 0, true},
	{29 * SECOND, 0, 0, false},
	{SECOND, 1, 1, true},
	{SECOND, 16 << 20, 16 << 20, true},
};

START_TEST(a_steady_client)
{
	struct pace p;
	int64_t bytes = 0;

	pace_begin(&p, 0);
	ck_assert_int_eq(drip(&p, &bytes, drips[_i].wait, drips[_i].n, 20000,
				 drips[_i].rate),
		drips[_i].lasts);
}
END_TEST

/* What came fast at first is no excuse for ever. */
START_TEST(nothing_is_saved_up)
{
	struct pace p;
	int64_t bytes = 0;

	pace_begin(&p, 0);
	ck_assert(drip(&p, &bytes, SECOND, 1000000, 10, 500));
	ck_assert(!drip(&p, &bytes, SECOND, 1, 60, 500));
}
END_TEST

/* With a short period a slow start is no attack, but silence ends all. */
START_TEST(the_rate_matters_after_the_grace)
{
	struct pace p;
	int64_t bytes = 0;
	int i;

	pace_begin(&p, 0);
	for (i = 0; i < 4; i++) {
		p.waited_us = 2 * SECOND;
		ck_assert(pace_judge(&p, ++bytes, 500, 10 * SECOND));
	}
	p.waited_us = 2 * SECOND;
	ck_assert(!pace_judge(&p, ++bytes, 500, 10 * SECOND));

	pace_begin(&p, 0);
	p.waited_us = 2 * SECOND;
	ck_assert(!pace_judge(&p, 0, 500, 10 * SECOND));
}
END_TEST

/* The kernel may still hold bytes of the response before: less than none. */
START_TEST(less_than_none)
{
	struct pace p;

	pace_begin(&p, -40000);
	p.waited_us = PERIOD;
	ck_assert_int_eq(pace_left(&p, PERIOD), 0);
	ck_assert(pace_judge(&p, -25000, 500, 0));
	p.waited_us = PERIOD;
	ck_assert(!pace_judge(&p, -10001, 500, 0));
}
END_TEST

Suite *
pace_suite(void)
{
	Suite *s = suite_create("pace");
	TCase *t = tcase_create("periods");

	tcase_add_loop_test(
		t, a_steady_client, 0, sizeof(drips) / sizeof(drips[0]));
	tcase_add_test(t, nothing_is_saved_up);
	tcase_add_test(t, the_rate_matters_after_the_grace);
	tcase_add_test(t, less_than_none);
	suite_add_tcase(s, t);
	return s;
}
