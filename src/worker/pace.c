/*
 * pace.c -- is the client fast enough?
 *
 * Numbers only: conn.c waits, counts, and does what follows.
 */
#include "worker/pace.h"

static void
next_period(struct pace *p, int64_t bytes)
{
	p->waited_us = 0;
	p->mark = bytes;
}

void
pace_begin(struct pace *p, int64_t bytes)
{
	p->total_us = 0;
	p->begun = true;
	next_period(p, bytes);
}

int64_t
pace_left(const struct pace *p, int64_t period_us)
{
	return period_us - p->waited_us;
}

bool
pace_judge(struct pace *p, int64_t bytes, uint64_t rate, int64_t grace_us)
{
	int64_t need = (int64_t)(rate * (uint64_t)(p->waited_us / 1000) / 1000);
	int64_t moved = bytes - p->mark;

	p->total_us += p->waited_us;
	if (p->total_us < grace_us)
		need = 1;
	next_period(p, bytes);
	return moved >= (need > 0 ? need : 1);
}
