/*
 * clock.c -- the two clocks.
 *
 * Dates are put together by hand: strftime(3) would follow the locale, which
 * belongs to the application.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

static const char *const days[] = {
	"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
	"Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

int64_t
clock_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t
clock_ms(void)
{
	return clock_us() / 1000;
}

int
clock_poll_ms(int64_t now_us, int64_t at_us)
{
	int64_t us;

	if (at_us == CLOCK_NEVER)
		return -1;
	if (at_us <= now_us)
		return 0;
	us = at_us - now_us;
	if (us / 1000 >= INT_MAX)
		return INT_MAX;
	return (int)(us / 1000 + (us % 1000 != 0));
}

static time_t
wall(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec;
}

struct str
clock_http_date(void)
{
	static char text[64];
	static time_t at = -1;
	time_t now = wall();
	struct tm tm;

	/* not equal rather than later: the wall clock may step back */
	if (now != at) {
		gmtime_r(&now, &tm);
		snprintf(text, sizeof(text),
			"%s, %02d %s %04d %02d:%02d:%02d GMT", days[tm.tm_wday],
			tm.tm_mday, months[tm.tm_mon], tm.tm_year + 1900,
			tm.tm_hour, tm.tm_min, tm.tm_sec);
		at = now;
	}
	return (struct str){text, 29};
}

/* ` +0100` in minutes east of Greenwich, split for printf. */
static void
split_zone(const struct tm *tm, char *ret_sign, int *ret_hours, int *ret_min)
{
	int minutes = abs((int)(tm->tm_gmtoff / 60));

	*ret_sign = tm->tm_gmtoff < 0 ? '-' : '+';
	*ret_hours = minutes / 60 % 100;
	*ret_min = minutes % 60;
}

static size_t
bounded(int n)
{
	return n < CLOCK_LOG_MAX ? (size_t)n : CLOCK_LOG_MAX - 1;
}

size_t
clock_log_stamp(char *p)
{
	time_t now = wall();
	struct tm tm;
	char sign;
	int h, m;

	localtime_r(&now, &tm);
	split_zone(&tm, &sign, &h, &m);
	return bounded(snprintf(p, CLOCK_LOG_MAX,
		"%04d-%02d-%02d %02d:%02d:%02d %c%02d%02d", tm.tm_year + 1900,
		tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
		sign, h, m));
}

size_t
clock_access_stamp(char *p)
{
	time_t now = wall();
	struct tm tm;
	char sign;
	int h, m;

	localtime_r(&now, &tm);
	split_zone(&tm, &sign, &h, &m);
	return bounded(snprintf(p, CLOCK_LOG_MAX,
		"%02d/%s/%04d:%02d:%02d:%02d %c%02d%02d", tm.tm_mday,
		months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
		tm.tm_sec, sign, h, m));
}
