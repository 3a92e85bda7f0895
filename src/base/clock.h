/*
 * clock.h -- the two clocks.
 *
 * Every deadline, age and duration is taken from the monotonic clock; the wall
 * clock is only for what people and HTTP read, and may step at any time.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#include "base/str.h"

/* A moment that never comes; larger than any real one. */
#define CLOCK_NEVER INT64_MAX

int64_t clock_us(void); /* monotonic, microseconds */
int64_t clock_ms(void); /* monotonic, milliseconds */

/*
 * The milliseconds from now_us to at_us, rounded up, as poll(2) wants them:
 * 0 when it is past, -1 for CLOCK_NEVER, at most INT_MAX.
 */
int clock_poll_ms(int64_t now_us, int64_t at_us);

/*
 * The wall clock as an IMF-fixdate (RFC 9110 5.6.7), 29 bytes.  Formatted once
 * a second; valid until the next call.  For the worker's main thread only.
 */
struct str clock_http_date(void);

/*
 * The wall clock as in log lines, `2026-11-30 12:00:00 +0000`, into a buffer of
 * CLOCK_LOG_MAX; returns its length.
 */
#define CLOCK_LOG_MAX 32
size_t clock_log_stamp(char *p);

/* `30/Nov/2026:12:00:00 +0000`, as access logs have it; same rules. */
size_t clock_access_stamp(char *p);

#endif
