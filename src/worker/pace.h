/*
 * pace.h -- is the client fast enough?
 *
 * Looks at periods of waiting, one after the other: in each the client must
 * have moved a number of bytes for each second of it.  Only time in which he
 * was waited for makes up a period, however long it takes to gather; bytes
 * count whenever they moved, but none is saved up for the next period.
 */
#ifndef WORKER_PACE_H
#define WORKER_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
	int64_t total_us; /* waited in the periods before this one */
	int64_t waited_us; /* in this period */
	int64_t mark; /* bytes when it began */
	bool begun;
};

void pace_begin(struct pace *p, int64_t bytes);

/* How much longer the period lasts; not above 0: it is over, judge. */
int64_t pace_left(const struct pace *p, int64_t period_us);

/*
 * Judge a period that is over, by the bytes there are now, and begin the next
 * one.  At least one byte is asked for, whatever the rate (bytes a second); the
 * rate matters once the client was waited for as long as grace_us in all.
 */
bool pace_judge(struct pace *p, int64_t bytes, uint64_t rate, int64_t grace_us);

#endif
