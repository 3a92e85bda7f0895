/*
 * test_pool.c -- stories of workers.
 *
 * Time is a variable, a worker is a number: the pool is asked what to do, it
 * is done on paper, and told.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "master/pool.h"

Suite *pool_suite(void);

#define SECOND 1000000LL
#define GRACEFUL (30 * SECOND)

static struct pool pool;
static int64_t now;
static pid_t next_pid;
static int spawned;
static int64_t wake;
static char story[4096]; /* what was done since begin_scene() */
static int64_t run_out[POOL_SLOTS_MAX];
static bool busy[POOL_SLOTS_MAX];

static int64_t
run_out_of(void *arg, int slot)
{
	(void)arg;
	return run_out[slot];
}

static bool
is_busy(void *arg, int slot)
{
	(void)arg;
	return busy[slot];
}

static void
tell(const char *what, int slot)
{
	size_t n = strlen(story);

	snprintf(story + n, sizeof(story) - n, "%s%s %d", n > 0 ? ", " : "",
		what, slot);
}

/* Do on paper what the pool says, until it says nothing. */
static enum pool_act
perform(void)
{
	for (;;) {
		struct pool_action a = pool_next(&pool, now, run_out_of, NULL);

		switch (a.act) {
		case POOL_SPAWN:
			pool_spawned(&pool, a.slot, next_pid++, -1,
				a.generation, now);
			spawned++;
			tell("spawn", a.slot);
			break;
		case POOL_RETIRE:
			pool_retired(&pool, a.slot, now);
			tell("retire", a.slot);
			break;
		case POOL_QUIT:
			pool_quit(&pool, a.slot, now);
			tell("quit", a.slot);
			break;
		case POOL_ABORT:
			pool_aborted(&pool, a.slot, now);
			tell(a.overdue ? "overdue" : "abort", a.slot);
			break;
		case POOL_KILL:
			pool_killed(&pool, a.slot);
			tell("kill", a.slot);
			break;
		default:
			wake = a.at;
			return a.act;
		}
	}
}

/* What happens next, from here on. */
static const char *
scene(void)
{
	story[0] = '\0';
	perform();
	return story;
}

static void
die(int slot, bool served, bool from_outside, int exit_status)
{
	struct pool_death d = {served, from_outside, exit_status};

	pool_died(&pool, slot, &d, now);
}

static void
leave(int slot)
{
	die(slot, true, false, 0);
}

static void
begin(int wanted)
{
	pool_init(&pool, wanted, 1, GRACEFUL);
	now = 1000 * SECOND;
	next_pid = 100;
	spawned = 0;
	memset(run_out, 0, sizeof(run_out));
	memset(busy, 0, sizeof(busy));
	story[0] = '\0';
}

/* n workers of generation 1 that have served for a while, in slots 0 .. n-1. */
static void
serve(int n)
{
	begin(n);
	perform();
	pool_ready(&pool, 0, now);
	perform();
	for (int i = 1; i < n; i++)
		pool_ready(&pool, i, now);
	now += 60 * SECOND;
	perform();
	story[0] = '\0';
}

START_TEST(first_start)
{
	begin(3);
	/* One shows that the application loads; then the others. */
	ck_assert_str_eq(scene(), "spawn 0");
	ck_assert_str_eq(scene(), "");
	ck_assert(!pool.first_ready);
	pool_ready(&pool, 0, now);
	ck_assert(pool.first_ready);
	ck_assert_str_eq(scene(), "spawn 1, spawn 2");
	ck_assert_int_eq(wake, CLOCK_NEVER);
	ck_assert_int_eq(pool_find(&pool, 102), 2);
	ck_assert_int_eq(pool_find(&pool, 99), -1);
}
END_TEST

START_TEST(first_start_fails)
{
	static const struct {
		int exit_status, status;
	} rows[] = {{3, 3}, {4, 4}, {0, 3}, {7, 3}, {-1, 3}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(4);
		perform();
		die(0, false, true, rows[i].exit_status);
		ck_assert_int_eq(perform(), POOL_FAILED);
		ck_assert_int_eq(pool.failed_status, rows[i].status);
		ck_assert_int_eq(spawned, 1);
	}
}
END_TEST

START_TEST(first_start_cannot_fork)
{
	struct pool_action a;

	begin(4);
	a = pool_next(&pool, now, run_out_of, NULL);
	ck_assert_int_eq(a.act, POOL_SPAWN);
	pool_spawn_failed(&pool, 1, now);
	ck_assert_int_eq(perform(), POOL_FAILED);
	ck_assert_int_eq(pool.failed_status, 3);
}
END_TEST

START_TEST(stop_during_first_start)
{
	begin(4);
	perform();
	pool_stop(&pool);
	ck_assert_str_eq(scene(), "quit 0");
	now += SECOND;
	ck_assert_str_eq(scene(), "kill 0");
	die(0, false, false, -1);
	ck_assert_int_eq(perform(), POOL_STOPPED);
	ck_assert_int_eq(pool.failed_status, 0);
}
END_TEST

START_TEST(death_is_replaced)
{
	serve(4);
	die(2, true, true, -1);
	ck_assert_str_eq(scene(), "spawn 2");
	pool_ready(&pool, 2, now);
	/* Killed from outside right after ready: not the application. */
	die(2, false, true, -1);
	ck_assert_str_eq(scene(), "spawn 2");
	pool_ready(&pool, 2, now);
	/* Served something: a request killed it. */
	die(2, true, false, -1);
	ck_assert_str_eq(scene(), "spawn 2");
}
END_TEST

START_TEST(young_deaths_back_off)
{
	int64_t pause = SECOND / 10, began;

	serve(2);
	began = now;
	die(1, true, false, 5);
	spawned = 0;
	ck_assert_str_eq(scene(), "spawn 1");
	while (now < began + 20 * SECOND) {
		die(1, false, false, 3);
		ck_assert_str_eq(scene(), "");
		ck_assert_int_eq(wake, now + pause);
		now = wake - 1;
		ck_assert_str_eq(scene(), "");
		now = wake;
		ck_assert_str_eq(scene(), "spawn 1");
		pause = pause * 2 < 5 * SECOND ? pause * 2 : 5 * SECOND;
		if (now - began <= 5 * SECOND)
			ck_assert_int_lt(spawned, 10);
	}
	ck_assert_int_eq(pause, 5 * SECOND);
}
END_TEST

START_TEST(one_on_probation)
{
	serve(4);
	for (int i = 0; i < 4; i++)
		die(i, true, true, -1);
	ck_assert_str_eq(scene(), "spawn 0, spawn 1, spawn 2, spawn 3");
	/* All four die at boot: one round, one step of the pause. */
	for (int i = 0; i < 4; i++)
		die(i, false, false, -1);
	ck_assert_str_eq(scene(), "");
	ck_assert_int_eq(wake, now + SECOND / 10);
	now = wake;
	ck_assert_str_eq(scene(), "spawn 0");
	ck_assert_int_eq(wake, CLOCK_NEVER);
	pool_ready(&pool, 0, now);
	ck_assert_str_eq(scene(), "");
	ck_assert_int_eq(wake, now + SECOND);
	now = wake;
	ck_assert_str_eq(scene(), "spawn 1, spawn 2, spawn 3");
	/* It is over: the next pause is a short one again. */
	die(1, false, false, 3);
	ck_assert_str_eq(scene(), "");
	ck_assert_int_eq(wake, now + SECOND / 10);
}
END_TEST

START_TEST(young_after_ready)
{
	serve(1);
	die(0, true, false, 5);
	perform();
	pool_ready(&pool, 0, now);
	now += SECOND - 1;
	die(0, false, false, 5);
	ck_assert_str_eq(scene(), "");
	ck_assert_int_eq(wake, now + SECOND / 10);
	now = wake;
	ck_assert_str_eq(scene(), "spawn 0");
	pool_ready(&pool, 0, now);
	now += SECOND;
	die(0, false, false, 5);
	ck_assert_str_eq(scene(), "spawn 0");
}
END_TEST

START_TEST(fork_fails_later)
{
	struct pool_action a;

	serve(2);
	die(1, true, true, -1);
	a = pool_next(&pool, now, run_out_of, NULL);
	ck_assert_int_eq(a.act, POOL_SPAWN);
	pool_spawn_failed(&pool, 1, now);
	ck_assert_str_eq(scene(), "");
	now = wake;
	ck_assert_str_eq(scene(), "spawn 1");
}
END_TEST

START_TEST(wanted_changes)
{
	serve(2);
	pool_set_wanted(&pool, 3);
	ck_assert_str_eq(scene(), "spawn 2");
	/* It still boots: it goes first, there is nothing to finish. */
	pool_set_wanted(&pool, 2);
	ck_assert_str_eq(scene(), "quit 2");
	leave(2);
	pool_set_wanted(&pool, 1);
	ck_assert_str_eq(scene(), "retire 1");
	ck_assert_int_eq(pool_count(&pool, POOL_SERVING, 1), 1);
	leave(1);
	ck_assert_str_eq(scene(), "");
}
END_TEST

START_TEST(max_requests)
{
	serve(2);
	/* It retires of itself: the next one starts while it finishes. */
	pool_retiring(&pool, 0, now);
	ck_assert_str_eq(scene(), "spawn 2");
	leave(0);
	ck_assert_str_eq(scene(), "");
	pool_ready(&pool, 2, now);
	ck_assert_str_eq(scene(), "");
}
END_TEST

START_TEST(overdue)
{
	serve(2);
	run_out[1] = now + 5 * SECOND;
	ck_assert_str_eq(scene(), "");
	ck_assert_int_eq(wake, now + 5 * SECOND);
	now = wake;
	/* The one that was aborted does not count any more. */
	ck_assert_str_eq(scene(), "overdue 1, spawn 2");
	ck_assert_int_eq(wake, now + SECOND);
	now = wake;
	ck_assert_str_eq(scene(), "kill 1");
	die(1, true, false, -1);
	ck_assert_str_eq(scene(), "");
}
END_TEST

START_TEST(board_is_distrusted)
{
	serve(1);
	run_out[0] = -5;
	ck_assert_str_eq(scene(), "");
	run_out[0] = INT64_MAX;
	ck_assert_str_eq(scene(), "");
	pool_set_wanted(&pool, 2);
	run_out[1] = 1; /* a worker that boots has no request */
	ck_assert_str_eq(scene(), "spawn 1");
}
END_TEST

START_TEST(graceful_stop)
{
	int64_t began;

	serve(2);
	began = now;
	pool_stop(&pool);
	ck_assert_str_eq(scene(), "retire 0, retire 1");
	leave(0);
	ck_assert_str_eq(scene(), "");
	ck_assert_int_eq(wake, began + 29 * SECOND);
	now = wake;
	ck_assert_str_eq(scene(), "abort 1");
	now = wake;
	ck_assert_int_eq(now, began + 30 * SECOND);
	ck_assert_str_eq(scene(), "kill 1");
	die(1, false, false, -1);
	ck_assert_int_eq(perform(), POOL_STOPPED);
}
END_TEST

START_TEST(short_graceful)
{
	serve(1);
	pool.graceful_us = SECOND;
	pool_stop(&pool);
	ck_assert_str_eq(scene(), "retire 0");
	ck_assert_int_eq(wake, now + SECOND / 2);
	pool_init(&pool, 1, 1, 0);
	perform();
	pool_ready(&pool, 0, now);
	pool_stop(&pool);
	ck_assert_str_eq(scene(), "retire 0, kill 0");
}
END_TEST

START_TEST(quick_during_graceful)
{
	serve(2);
	pool_stop(&pool);
	perform();
	now += 3 * SECOND;
	pool_stop_quick(&pool);
	ck_assert_str_eq(scene(), "quit 0, quit 1");
	leave(0);
	now = wake;
	ck_assert_str_eq(scene(), "kill 1");
	die(1, false, false, -1);
	ck_assert_int_eq(perform(), POOL_STOPPED);
}
END_TEST

START_TEST(stop_waits_for_the_queue)
{
	/* The only worker boots: nobody else can serve what is queued. */
	serve(2);
	die(0, true, true, -1);
	die(1, true, true, -1);
	perform();
	pool_stop(&pool);
	ck_assert_str_eq(scene(), "retire 0, quit 1");
	pool_ready(&pool, 0, now);
	ck_assert_int_eq(pool.slots[0].state, POOL_RETIRING);
	leave(1);
	leave(0);
	ck_assert_int_eq(perform(), POOL_STOPPED);
	/* One serves: those that boot have nothing to do. */
	serve(2);
	die(1, true, true, -1);
	perform();
	pool_stop(&pool);
	ck_assert_str_eq(scene(), "retire 0, quit 1");
}
END_TEST

START_TEST(reload)
{
	serve(4);
	pool_begin_trial(&pool, 2);
	ck_assert_str_eq(scene(), "spawn 4");
	ck_assert_int_eq(pool.trial_state, POOL_TRIAL_BOOTING);
	ck_assert_str_eq(scene(), "");
	pool_ready(&pool, 4, now);
	ck_assert_int_eq(pool.trial_state, POOL_TRIAL_READY);
	pool_commit(&pool, 4, GRACEFUL);
	/* Each one that is ready pays for one. */
	ck_assert_str_eq(scene(), "retire 0, spawn 5, spawn 6, spawn 7");
	pool_ready(&pool, 6, now);
	ck_assert_str_eq(scene(), "retire 1");
	pool_ready(&pool, 5, now);
	ck_assert(!pool_is_settled(&pool, is_busy, NULL));
	pool_ready(&pool, 7, now);
	ck_assert_str_eq(scene(), "retire 2, retire 3");
	ck_assert_int_eq(pool_count(&pool, POOL_SERVING, 2), 4);
	ck_assert_int_eq(pool_alive(&pool, 1), 4);
	/* 0 is gone, 1 says so, 2 has its hands full; 3 may still accept. */
	leave(0);
	pool_retiring(&pool, 1, now);
	busy[2] = true;
	ck_assert(!pool_is_settled(&pool, is_busy, NULL));
	pool_retiring(&pool, 3, now);
	ck_assert(pool_is_settled(&pool, is_busy, NULL));
}
END_TEST

START_TEST(reload_to_fewer)
{
	serve(4);
	pool_begin_trial(&pool, 2);
	perform();
	pool_ready(&pool, 4, now);
	pool_commit(&pool, 2, GRACEFUL);
	ck_assert_str_eq(scene(), "retire 0, retire 1, retire 2, spawn 5");
	pool_ready(&pool, 5, now);
	ck_assert_str_eq(scene(), "retire 3");
}
END_TEST

START_TEST(reload_to_more)
{
	serve(2);
	pool_begin_trial(&pool, 2);
	perform();
	pool_ready(&pool, 2, now);
	pool_commit(&pool, 4, GRACEFUL);
	ck_assert_str_eq(scene(), "retire 0, spawn 3, spawn 4, spawn 5");
	pool_ready(&pool, 3, now);
	ck_assert_str_eq(scene(), "retire 1");
}
END_TEST

/*
 * Four serving, new generation, its first worker dies booting: the four stay,
 * the reload has failed.
 */
START_TEST(trial_dies)
{
	serve(4);
	pool_begin_trial(&pool, 2);
	ck_assert_str_eq(scene(), "spawn 4");
	die(4, false, false, 4);
	ck_assert_int_eq(pool.trial_state, POOL_TRIAL_DIED);
	ck_assert_str_eq(scene(), "");
	pool_cancel(&pool);
	ck_assert_str_eq(scene(), "");
	ck_assert_int_eq(pool_count(&pool, POOL_SERVING, 1), 4);
	ck_assert_int_eq(pool.backoff_us, 0);
	ck_assert_int_eq(pool.generation, 1);
}
END_TEST

START_TEST(trial_dies_after_ready)
{
	serve(1);
	pool_begin_trial(&pool, 2);
	perform();
	pool_ready(&pool, 1, now);
	die(1, false, false, -1);
	ck_assert_int_eq(pool.trial_state, POOL_TRIAL_DIED);
}
END_TEST

START_TEST(trial_is_cancelled)
{
	serve(2);
	pool_begin_trial(&pool, 2);
	perform();
	pool_cancel(&pool);
	pool_begin_trial(&pool, 3);
	ck_assert_str_eq(scene(), "kill 2, spawn 3");
	/* Its last word comes late. */
	pool_ready(&pool, 2, now);
	ck_assert_int_eq(pool.trial_state, POOL_TRIAL_BOOTING);
	die(2, false, false, -1);
	ck_assert_int_eq(pool.trial_state, POOL_TRIAL_BOOTING);
	pool_ready(&pool, 3, now);
	ck_assert_int_eq(pool.trial_state, POOL_TRIAL_READY);
}
END_TEST

START_TEST(old_ones_are_replaced_during_trial)
{
	serve(2);
	pool_begin_trial(&pool, 2);
	perform();
	die(1, true, true, -1);
	ck_assert_str_eq(scene(), "spawn 1");
	ck_assert_int_eq(pool.slots[1].generation, 1);
	/* The commit comes while it boots. */
	pool_ready(&pool, 2, now);
	pool_commit(&pool, 2, GRACEFUL);
	ck_assert_str_eq(scene(), "quit 1, retire 0, spawn 3");
}
END_TEST

START_TEST(stop_during_trial)
{
	serve(2);
	pool_begin_trial(&pool, 2);
	perform();
	pool_stop(&pool);
	ck_assert_str_eq(scene(), "kill 2, retire 0, retire 1");
	die(2, false, false, -1);
	leave(0);
	leave(1);
	ck_assert_int_eq(perform(), POOL_STOPPED);
}
END_TEST

START_TEST(stop_during_handover)
{
	serve(2);
	pool_begin_trial(&pool, 2);
	perform();
	pool_ready(&pool, 2, now);
	pool_commit(&pool, 2, GRACEFUL);
	ck_assert_str_eq(scene(), "retire 0, spawn 3");
	pool_stop(&pool);
	ck_assert_str_eq(scene(), "retire 1, retire 2, quit 3");
}
END_TEST

START_TEST(new_generation_sickens_after_commit)
{
	serve(3);
	pool_begin_trial(&pool, 2);
	perform();
	pool_ready(&pool, 3, now);
	pool_commit(&pool, 3, GRACEFUL);
	ck_assert_str_eq(scene(), "retire 0, spawn 4, spawn 5");
	die(4, false, false, 3);
	die(5, false, false, 3);
	/* Two of the old ones serve on until they are paid for. */
	ck_assert_str_eq(scene(), "");
	ck_assert_int_eq(pool_count(&pool, POOL_SERVING, 1), 2);
	now = wake;
	ck_assert_str_eq(scene(), "spawn 4");
}
END_TEST

/* A stuck worker: HUP, HUP again while it is waited for, then TERM. */
START_TEST(later_signals_keep_the_deadline)
{
	int64_t by;

	serve(1);
	pool_begin_trial(&pool, 2);
	perform();
	pool_ready(&pool, 1, now);
	pool_commit(&pool, 1, GRACEFUL);
	ck_assert_str_eq(scene(), "retire 0");
	by = now + GRACEFUL;
	now += 10 * SECOND;
	pool_begin_trial(&pool, 3);
	perform();
	pool_ready(&pool, 2, now);
	pool_commit(&pool, 1, 2 * GRACEFUL);
	ck_assert_str_eq(scene(), "retire 1");
	leave(1);
	now += 10 * SECOND;
	pool_stop(&pool);
	ck_assert_str_eq(scene(), "retire 2");
	leave(2);
	pool_retiring(&pool, 0, now);
	perform();
	ck_assert_int_eq(wake, by - SECOND);
	now = wake;
	ck_assert_str_eq(scene(), "abort 0");
	now = wake;
	ck_assert_int_eq(now, by);
	ck_assert_str_eq(scene(), "kill 0");
}
END_TEST

START_TEST(no_slot_left)
{
	serve(POOL_WORKERS_MAX);
	/* Twice everybody retires and nobody leaves. */
	for (uint64_t g = 2; g < 5; g++) {
		pool_begin_trial(&pool, g);
		perform();
		for (int i = 0; i < POOL_SLOTS_MAX; i++)
			if (pool.slots[i].generation == g)
				pool_ready(&pool, i, now);
		if (pool.trial_state != POOL_TRIAL_READY)
			break;
		pool_commit(&pool, POOL_WORKERS_MAX, GRACEFUL);
		perform();
		for (int i = 0; i < POOL_SLOTS_MAX; i++)
			if (pool.slots[i].generation == g)
				pool_ready(&pool, i, now);
		perform();
	}
	ck_assert_int_eq(perform(), POOL_NOTHING);
	for (int i = 0; i < POOL_SLOTS_MAX; i++)
		ck_assert_int_ne(pool.slots[i].state, POOL_EMPTY);
	now = wake;
	ck_assert_int_eq(strncmp(scene(), "abort", 5), 0);
}
END_TEST

Suite *
pool_suite(void)
{
	Suite *s = suite_create("pool");
	TCase *t = tcase_create("stories");

	tcase_add_test(t, first_start);
	tcase_add_test(t, first_start_fails);
	tcase_add_test(t, first_start_cannot_fork);
	tcase_add_test(t, stop_during_first_start);
	tcase_add_test(t, death_is_replaced);
	tcase_add_test(t, young_deaths_back_off);
	tcase_add_test(t, one_on_probation);
	tcase_add_test(t, young_after_ready);
	tcase_add_test(t, fork_fails_later);
	tcase_add_test(t, wanted_changes);
	tcase_add_test(t, max_requests);
	tcase_add_test(t, overdue);
	tcase_add_test(t, board_is_distrusted);
	tcase_add_test(t, graceful_stop);
	tcase_add_test(t, short_graceful);
	tcase_add_test(t, quick_during_graceful);
	tcase_add_test(t, stop_waits_for_the_queue);
	tcase_add_test(t, reload);
	tcase_add_test(t, reload_to_fewer);
	tcase_add_test(t, reload_to_more);
	tcase_add_test(t, trial_dies);
	tcase_add_test(t, trial_dies_after_ready);
	tcase_add_test(t, trial_is_cancelled);
	tcase_add_test(t, old_ones_are_replaced_during_trial);
	tcase_add_test(t, stop_during_trial);
	tcase_add_test(t, stop_during_handover);
	tcase_add_test(t, new_generation_sickens_after_commit);
	tcase_add_test(t, later_signals_keep_the_deadline);
	tcase_add_test(t, no_slot_left);
	suite_add_tcase(s, t);
	return s;
}
