/*
 * test_clock.c -- the two clocks.
 */
#include <check.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

Suite *clock_suite(void);

START_TEST(monotonic)
{
	int64_t us = clock_us(), ms = clock_ms();

	ck_assert_int_ge(ms, us / 1000);
	ck_assert_int_ge(clock_us(), us);
}
END_TEST

START_TEST(time_to_poll)
{
	ck_assert_int_eq(clock_poll_ms(5000, CLOCK_NEVER), -1);
	ck_assert_int_eq(clock_poll_ms(5000, 5000), 0);
	ck_assert_int_eq(clock_poll_ms(5000, 4000), 0);
	/* rounded up: waking too early would spin */
	ck_assert_int_eq(clock_poll_ms(5000, 5001), 1);
	ck_assert_int_eq(clock_poll_ms(5000, 6000), 1);
	ck_assert_int_eq(clock_poll_ms(5000, 6001), 2);
	ck_assert_int_eq(clock_poll_ms(0, CLOCK_NEVER - 1), INT_MAX);
}
END_TEST

/* The date as strptime(3) reads it back is now, give or take the second. */
START_TEST(http_date)
{
	struct str s = clock_http_date();
	time_t before = time(NULL), got;
	struct tm tm = {0};
	char z[30], again[30];

	ck_assert_uint_eq(s.len, 29);
	memcpy(z, s.p, 29);
	z[29] = '\0';
	ck_assert_ptr_eq(strptime(z, "%a, %d %b %Y %H:%M:%S GMT", &tm), z + 29);
	strftime(again, 30, "%a, %d %b %Y %H:%M:%S GMT", &tm);
	ck_assert_str_eq(z, again); /* strptime(3) is generous with blanks */
	got = timegm(&tm);
	ck_assert_int_le(got, time(NULL));
	ck_assert_int_ge(got, before - 1);
}
END_TEST

START_TEST(log_stamps)
{
	char p[CLOCK_LOG_MAX];
	struct tm tm = {0};
	time_t now = time(NULL);

	setenv("TZ", "XXX-05:30", 1);
	tzset();
	ck_assert_uint_eq(clock_log_stamp(p), 25);
	ck_assert_str_eq(strptime(p, "%Y-%m-%d %H:%M:%S", &tm), " +0530");
	ck_assert_int_ge(timegm(&tm) - 19800, now);
	ck_assert_int_le(timegm(&tm) - 19800, time(NULL));
	setenv("TZ", "XXX+00:30", 1);
	tzset();
	ck_assert_uint_eq(clock_access_stamp(p), 26);
	ck_assert_str_eq(strptime(p, "%d/%b/%Y:%H:%M:%S", &tm), " -0030");
}
END_TEST

Suite *
clock_suite(void)
{
	Suite *s = suite_create("clock");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, monotonic);
	tcase_add_test(tc, time_to_poll);
	tcase_add_test(tc, http_date);
	tcase_add_test(tc, log_stamps);
	suite_add_tcase(s, tc);
	return s;
}
