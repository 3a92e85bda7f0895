/*
 * pool.c -- the table of workers: what happened to them, what is wished.
 *
 * What follows from it is in pool_next.c.
 *
 * Always: a deadline, once set, is never moved, whatever signals follow.
 */
#include "master/pool.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"

/* ---- the table ---- */

bool
pool_slot_is_lost(const struct pool_slot *s)
{
	return s->quit_at != 0 || s->abort_at != 0 || s->killed;
}

bool
pool_slot_is_active(const struct pool_slot *s)
{
	return (s->state == POOL_BOOTING || s->state == POOL_SERVING) &&
		!pool_slot_is_lost(s);
}

bool
pool_slot_is_serving(const struct pool_slot *s)
{
	return s->state == POOL_SERVING && !pool_slot_is_lost(s);
}

int
pool_count(const struct pool *p, enum pool_state state, uint64_t generation)
{
	int n = 0;

	for (int i = 0; i < POOL_SLOTS_MAX; i++)
		n += p->slots[i].state == state &&
			!pool_slot_is_lost(&p->slots[i]) &&
			p->slots[i].generation == generation;
	return n;
}

int
pool_alive(const struct pool *p, uint64_t generation)
{
	int n = 0;

	for (int i = 0; i < POOL_SLOTS_MAX; i++)
		n += p->slots[i].state != POOL_EMPTY &&
			p->slots[i].generation == generation;
	return n;
}

int
pool_find(const struct pool *p, pid_t pid)
{
	for (int i = 0; i < POOL_SLOTS_MAX; i++)
		if (p->slots[i].state != POOL_EMPTY && p->slots[i].pid == pid)
			return i;
	return -1;
}

int
pool_find_trial(const struct pool *p)
{
	for (int i = 0; i < POOL_SLOTS_MAX; i++)
		if (p->slots[i].state != POOL_EMPTY && p->trial != 0 &&
			p->slots[i].generation == p->trial)
			return i;
	return -1;
}

static void
empty(struct pool_slot *s)
{
	memset(s, 0, sizeof(*s));
	s->leash = -1;
}

void
pool_init(struct pool *p, int wanted, uint64_t generation, int64_t graceful_us)
{
	memset(p, 0, sizeof(*p));
	for (int i = 0; i < POOL_SLOTS_MAX; i++)
		empty(&p->slots[i]);
	p->wanted = wanted;
	p->generation = generation;
	p->graceful_us = graceful_us;
}

void
pool_forget(struct pool *p)
{
	for (int i = 0; i < POOL_SLOTS_MAX; i++)
		fd_close(&p->slots[i].leash);
}

/* ---- reports ---- */

static int64_t
earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The trouble is over when a worker born after it has outlived its youth. */
void
pool_settle_trouble(struct pool *p, int64_t now)
{
	for (int i = 0; p->backoff_us > 0 && i < POOL_SLOTS_MAX; i++) {
		const struct pool_slot *s = &p->slots[i];

		if (pool_slot_is_serving(s) && s->generation == p->generation &&
			s->born_at > p->trouble_at &&
			now >= s->ready_at + POOL_YOUNG_US)
			p->backoff_us = 0;
	}
}

void
pool_spawned(struct pool *p, int slot, pid_t pid, int leash,
	uint64_t generation, int64_t now)
{
	struct pool_slot *s = &p->slots[slot];

	assert(s->state == POOL_EMPTY);
	s->state = POOL_BOOTING;
	s->pid = pid;
	s->leash = leash;
	s->generation = generation;
	s->born_at = now;
}

/*
 * A round of young deaths counts once, however many workers it took: the next
 * doubling needs a worker that was started after the pause.
 */
static void
back_off(struct pool *p, int64_t now)
{
	p->trouble_at = now;
	if (p->backoff_us > 0 && now < p->backoff_until)
		return;
	if (p->backoff_us == 0)
		p->backoff_us = POOL_BACKOFF_MIN_US;
	else
		p->backoff_us = earlier(p->backoff_us * 2, POOL_BACKOFF_MAX_US);
	p->backoff_until = now + p->backoff_us;
}

void
pool_spawn_failed(struct pool *p, uint64_t generation, int64_t now)
{
	if (generation == p->trial)
		p->trial_state = POOL_TRIAL_DIED;
	else if (!p->first_ready)
		p->failed_status = 3;
	else
		back_off(p, now);
}

void
pool_ready(struct pool *p, int slot, int64_t now)
{
	struct pool_slot *s = &p->slots[slot];

	if (s->state == POOL_EMPTY || s->ready_at != 0)
		return;
	s->ready_at = now;
	if (s->state != POOL_BOOTING || pool_slot_is_lost(s))
		return;
	s->state = POOL_SERVING;
	if (s->generation == p->generation)
		p->first_ready = true;
	if (p->trial != 0 && s->generation == p->trial)
		p->trial_state = POOL_TRIAL_READY;
}

static void
retire(struct pool *p, struct pool_slot *s, int64_t now)
{
	int64_t notice = earlier(POOL_KILL_AFTER_US, p->graceful_us / 2);

	if (s->state == POOL_RETIRING)
		return;
	s->state = POOL_RETIRING;
	s->retire_by = now + p->graceful_us;
	s->abort_by = s->retire_by - notice;
}

void
pool_retiring(struct pool *p, int slot, int64_t now)
{
	struct pool_slot *s = &p->slots[slot];

	if (s->state == POOL_EMPTY || s->ready_at == 0)
		return;
	s->quiet = true;
	retire(p, s, now);
}

void
pool_retired(struct pool *p, int slot, int64_t now)
{
	retire(p, &p->slots[slot], now);
}

void
pool_quit(struct pool *p, int slot, int64_t now)
{
	p->slots[slot].quit_at = now;
}

void
pool_aborted(struct pool *p, int slot, int64_t now)
{
	p->slots[slot].abort_at = now;
}

void
pool_killed(struct pool *p, int slot)
{
	p->slots[slot].killed = true;
}

/*
 * Before ready the sender of a signal makes no difference: something kills
 * workers that boot, and forking as fast as it kills would help nobody.
 */
static bool
died_young(const struct pool_slot *s, const struct pool_death *d, int64_t now)
{
	if (pool_slot_is_lost(s) || s->state == POOL_RETIRING)
		return false;
	if (s->ready_at == 0)
		return true;
	return !d->served && !d->from_outside &&
		now < s->ready_at + POOL_YOUNG_US;
}

void
pool_died(struct pool *p, int slot, const struct pool_death *d, int64_t now)
{
	struct pool_slot *s = &p->slots[slot];

	pool_settle_trouble(p, now);
	if (p->trial != 0 && s->generation == p->trial)
		p->trial_state = POOL_TRIAL_DIED;
	else if (!p->first_ready && !p->stopping)
		p->failed_status = d->exit_status == 4 ? 4 : 3;
	else if (s->generation == p->generation && died_young(s, d, now))
		back_off(p, now);
	empty(s);
}

/* ---- wishes ---- */

void
pool_set_wanted(struct pool *p, int wanted)
{
	p->wanted = wanted;
}

void
pool_begin_trial(struct pool *p, uint64_t generation)
{
	assert(generation > p->generation);
	p->trial = generation;
	p->trial_state = POOL_TRIAL_BOOTING;
}

void
pool_commit(struct pool *p, int wanted, int64_t graceful_us)
{
	p->old_max = 0;
	for (int i = 0; i < POOL_SLOTS_MAX; i++)
		p->old_max += pool_slot_is_serving(&p->slots[i]) &&
			p->slots[i].generation <= p->generation;
	p->generation = p->trial;
	p->wanted = wanted;
	p->graceful_us = graceful_us;
	p->backoff_us = 0;
	pool_cancel(p);
}

void
pool_cancel(struct pool *p)
{
	p->trial = 0;
	p->trial_state = POOL_NO_TRIAL;
}

void
pool_stop(struct pool *p)
{
	p->stopping = true;
	pool_cancel(p);
}

void
pool_stop_quick(struct pool *p)
{
	p->quick = true;
	pool_stop(p);
}

bool
pool_is_settled(
	const struct pool *p, bool (*is_busy)(void *arg, int slot), void *arg)
{
	for (int i = 0; i < POOL_SLOTS_MAX; i++) {
		const struct pool_slot *s = &p->slots[i];

		if (s->state == POOL_EMPTY || s->generation >= p->generation)
			continue;
		if (pool_slot_is_active(s))
			return false;
		if (!pool_slot_is_lost(s) && !s->quiet && !is_busy(arg, i))
			return false;
	}
	return pool_count(p, POOL_SERVING, p->generation) >= p->wanted;
}
