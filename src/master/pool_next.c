/*
 * pool_next.c -- which worker should be started, retired or killed next.
 *
 * pool_next() compares the table with the wish and names one action.  Nothing
 * here forks, signals or reads a clock, and nothing but the trouble that has
 * passed is changed.
 *
 * A worker of a generation above the current one that is not on trial belongs
 * to a reload that failed, and is killed.
 */
#include "base/clock.h"
#include "master/pool.h"

static int
find_empty(const struct pool *p)
{
	for (int i = 0; i < POOL_SLOTS_MAX; i++)
		if (p->slots[i].state == POOL_EMPTY)
			return i;
	return -1;
}

static bool
act_on(struct pool *p, struct pool_action *a, enum pool_act act, int slot)
{
	a->act = act;
	a->slot = slot;
	a->generation = p->slots[slot].generation;
	return true;
}

static void
wake_at(struct pool_action *a, int64_t at)
{
	if (at < a->at)
		a->at = at;
}

static int64_t
earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t
kill_moment(const struct pool *p, const struct pool_slot *s)
{
	int64_t at = CLOCK_NEVER;

	if (s->killed)
		return CLOCK_NEVER;
	if (s->generation > p->generation && s->generation != p->trial)
		return 0;
	if (s->state == POOL_RETIRING)
		at = s->retire_by;
	if (s->quit_at != 0)
		at = earlier(at, s->quit_at + POOL_KILL_AFTER_US);
	if (s->abort_at != 0)
		at = earlier(at, s->abort_at + POOL_KILL_AFTER_US);
	return at;
}

/* Time is up for the worker in slot i: kill it, or abort it? */
static bool
enforce_slot(struct pool *p, int i, int64_t now, int64_t run_out_at,
	struct pool_action *a)
{
	struct pool_slot *s = &p->slots[i];
	int64_t kill_at = kill_moment(p, s);

	if (now >= kill_at)
		return act_on(p, a, POOL_KILL, i);
	wake_at(a, kill_at);
	if (pool_slot_is_lost(s) || s->state == POOL_BOOTING)
		return false;
	if (run_out_at > 0 && now >= run_out_at) {
		a->overdue = true;
		return act_on(p, a, POOL_ABORT, i);
	}
	if (run_out_at > 0)
		wake_at(a, run_out_at);
	if (s->state != POOL_RETIRING)
		return false;
	if (now >= s->abort_by)
		return act_on(p, a, POOL_ABORT, i);
	wake_at(a, s->abort_by);
	return false;
}

static bool
enforce(struct pool *p, int64_t now, int64_t (*run_out_at)(void *, int),
	void *arg, struct pool_action *a)
{
	for (int i = 0; i < POOL_SLOTS_MAX; i++)
		if (p->slots[i].state != POOL_EMPTY &&
			enforce_slot(p, i, now, run_out_at(arg, i), a))
			return true;
	return false;
}

/*
 * At a stop a worker that still boots has nothing to finish.  Only when none
 * other is left to serve what waits in the queues must one of them do it.
 */
static bool
stop_booting(struct pool *p, int i, struct pool_action *a)
{
	bool needed = p->first_ready && !p->quick;

	for (int k = 0; k < POOL_SLOTS_MAX; k++)
		if (!pool_slot_is_lost(&p->slots[k]) &&
			(p->slots[k].state == POOL_SERVING ||
				p->slots[k].state == POOL_RETIRING))
			needed = false;
	return act_on(p, a, needed ? POOL_RETIRE : POOL_QUIT, i);
}

static bool
stop_slot(struct pool *p, int i, struct pool_action *a)
{
	const struct pool_slot *s = &p->slots[i];

	if (s->quit_at != 0 || s->killed)
		return false;
	if (p->quick)
		return act_on(p, a, POOL_QUIT, i);
	if (pool_slot_is_lost(s))
		return false;
	if (s->state == POOL_SERVING)
		return act_on(p, a, POOL_RETIRE, i);
	if (s->state == POOL_BOOTING)
		return stop_booting(p, i, a);
	return false;
}

static bool
stop(struct pool *p, struct pool_action *a)
{
	bool alive = false;

	for (int i = 0; i < POOL_SLOTS_MAX; i++) {
		if (p->slots[i].state == POOL_EMPTY)
			continue;
		alive = true;
		if (stop_slot(p, i, a))
			return true;
	}
	if (!alive)
		a->act = POOL_STOPPED;
	return !alive;
}

static bool
spawn(struct pool *p, uint64_t generation, struct pool_action *a)
{
	int slot = find_empty(p);

	if (slot == -1)
		return false;
	a->act = POOL_SPAWN;
	a->slot = slot;
	a->generation = generation;
	return true;
}

static bool
try_trial(struct pool *p, struct pool_action *a)
{
	if (p->trial_state != POOL_TRIAL_BOOTING || pool_alive(p, p->trial) > 0)
		return false;
	return spawn(p, p->trial, a);
}

/* How many older workers may serve on: each new one pays for one. */
static int
old_allowed(const struct pool *p)
{
	int most = p->wanted < p->old_max ? p->wanted : p->old_max;

	return most - pool_count(p, POOL_SERVING, p->generation);
}

static bool
dismiss_old(struct pool *p, struct pool_action *a)
{
	int serving = 0, oldest = -1;

	for (int i = 0; i < POOL_SLOTS_MAX; i++) {
		const struct pool_slot *s = &p->slots[i];

		if (!pool_slot_is_active(s) || s->generation >= p->generation)
			continue;
		if (s->state == POOL_BOOTING)
			return act_on(p, a, POOL_QUIT, i);
		serving++;
		if (oldest == -1 || s->generation < p->slots[oldest].generation)
			oldest = i;
	}
	if (serving == 0 || serving <= old_allowed(p))
		return false;
	return act_on(p, a, POOL_RETIRE, oldest);
}

/* More than wanted: the one that boots goes first, then the highest slot. */
static bool
dismiss_surplus(struct pool *p, struct pool_action *a)
{
	int n = 0, booting = -1, serving = -1;

	for (int i = 0; i < POOL_SLOTS_MAX; i++) {
		const struct pool_slot *s = &p->slots[i];

		if (!pool_slot_is_active(s) || s->generation != p->generation)
			continue;
		n++;
		if (s->state == POOL_BOOTING)
			booting = i;
		else
			serving = i;
	}
	if (n <= p->wanted)
		return false;
	if (booting != -1)
		return act_on(p, a, POOL_QUIT, booting);
	return act_on(p, a, POOL_RETIRE, serving);
}

/*
 * While there is trouble one worker at a time shows whether it has passed.
 * Is there one on probation, and until when (CLOCK_NEVER: until it is ready)?
 */
static bool
is_on_probation(const struct pool *p, int64_t now, int64_t *ret_until)
{
	for (int i = 0; i < POOL_SLOTS_MAX; i++) {
		const struct pool_slot *s = &p->slots[i];

		if (!pool_slot_is_active(s) || s->generation != p->generation ||
			s->born_at <= p->trouble_at)
			continue;
		*ret_until = s->state == POOL_BOOTING
			? CLOCK_NEVER
			: s->ready_at + POOL_YOUNG_US;
		if (now < *ret_until)
			return true;
	}
	return false;
}

static bool
hire(struct pool *p, int64_t now, struct pool_action *a)
{
	int active = pool_count(p, POOL_BOOTING, p->generation) +
		pool_count(p, POOL_SERVING, p->generation);
	int wanted = p->first_ready ? p->wanted : 1;
	int64_t until;

	pool_settle_trouble(p, now);
	if (active >= wanted)
		return false;
	if (p->backoff_us > 0 && now < p->backoff_until) {
		wake_at(a, p->backoff_until);
		return false;
	}
	if (p->backoff_us > 0 && is_on_probation(p, now, &until)) {
		wake_at(a, until);
		return false;
	}
	return spawn(p, p->generation, a);
}

struct pool_action
pool_next(struct pool *p, int64_t now, int64_t (*run_out_at)(void *, int),
	void *arg)
{
	struct pool_action a = {POOL_NOTHING, -1, 0, CLOCK_NEVER, false};

	if (enforce(p, now, run_out_at, arg, &a))
		return a;
	if (p->stopping) {
		stop(p, &a);
		return a;
	}
	if (p->failed_status != 0)
		a.act = POOL_FAILED;
	else if (!try_trial(p, &a) && !dismiss_old(p, &a) &&
		!dismiss_surplus(p, &a))
		hire(p, now, &a);
	return a;
}
