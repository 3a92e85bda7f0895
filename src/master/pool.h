/*
 * pool.h -- which worker should be started, retired or killed next.
 *
 * The pool is a table and a wish; pool_next() compares them and names one
 * action.  Nothing here forks, signals or reads a clock, so every decision of
 * the master can be reached from a unit test.
 *
 * Life of a slot: EMPTY - BOOTING - SERVING - RETIRING - EMPTY.  In any state
 * its worker may also have been told to quit (SIGQUIT), aborted (SIGABRT) or
 * killed (SIGKILL): then it does not count any more, but the slot is empty
 * again only when the process was reaped.
 */
#ifndef MASTER_POOL_H
#define MASTER_POOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define POOL_WORKERS_MAX 512
/* The old and the new generation, and retiring ones. */
#define POOL_SLOTS_MAX (POOL_WORKERS_MAX * 2 + 64)

/* From SIGABRT, or SIGQUIT, to SIGKILL. */
#define POOL_KILL_AFTER_US 1000000
/* A worker that dies so soon after ready has died young. */
#define POOL_YOUNG_US 1000000
#define POOL_BACKOFF_MIN_US 100000
#define POOL_BACKOFF_MAX_US 5000000

enum pool_state {
	POOL_EMPTY,
	POOL_BOOTING,
	POOL_SERVING,
	POOL_RETIRING
};

struct pool_slot {
	enum pool_state state;
	pid_t pid;
	uint64_t generation;
	int64_t born_at; /* us, as all moments here */
	int64_t ready_at; /* 0: not yet */
	int64_t abort_by; /* RETIRING: when it gets SIGABRT */
	int64_t retire_by; /* RETIRING: when graceful-timeout ends */
	int64_t quit_at; /* when SIGQUIT was sent, 0 */
	int64_t abort_at; /* when SIGABRT was sent, 0 */
	bool killed; /* SIGKILL was sent */
	bool quiet; /* it said that it accepts no more */
	int leash; /* the master's end, -1 */
};

enum pool_act {
	POOL_NOTHING, /* until `at` (CLOCK_NEVER: until something happens) */
	POOL_SPAWN, /* fork into `slot`, of `generation` */
	POOL_RETIRE, /* say retire or drain to `slot` */
	POOL_QUIT, /* SIGQUIT to `slot` */
	POOL_ABORT, /* SIGABRT to `slot` */
	POOL_KILL, /* SIGKILL to `slot` */
	POOL_FAILED, /* the first start failed; see failed_status */
	POOL_STOPPED /* stopping, and no worker is left */
};

struct pool_action {
	enum pool_act act;
	int slot;
	uint64_t generation;
	int64_t at;
	bool overdue; /* ABORT: the application's time, not retirement, ran out */
};

/* What became of the trial of a reload. */
enum pool_trial {
	POOL_NO_TRIAL,
	POOL_TRIAL_BOOTING,
	POOL_TRIAL_READY, /* the caller commits, pool_commit() */
	POOL_TRIAL_DIED /* the caller drops it, pool_cancel() */
};

struct pool {
	struct pool_slot slots[POOL_SLOTS_MAX];
	int wanted; /* workers of the current generation */
	uint64_t generation; /* current; later ones have higher numbers */
	uint64_t trial; /* generation on trial, 0: none */
	enum pool_trial trial_state;
	int old_max; /* workers the last commit found serving */
	int64_t graceful_us;
	bool stopping; /* TERM, INT, QUIT */
	bool quick; /* INT, QUIT */
	bool first_ready; /* the first start is over */
	int failed_status; /* what the dead first worker says: 3 or 4, 0 */
	int64_t trouble_at; /* the last young death */
	int64_t backoff_until; /* no spawn before this */
	int64_t backoff_us; /* 0, or 0.1 s doubling to 5 s */
};

void
pool_init(struct pool *p, int wanted, uint64_t generation, int64_t graceful_us);

/*
 * The next action at `now`.  The caller performs it, reports it (pool_spawned
 * and so on) and asks again until it is POOL_NOTHING.  run_out_at(arg, slot)
 * gives the moment the worker's application time ends (board.h), 0 for none.
 */
struct pool_action pool_next(struct pool *p, int64_t now,
	int64_t (*run_out_at)(void *arg, int slot), void *arg);

/* Has the trouble that made us back off passed?  Then forget it. */
void pool_settle_trouble(struct pool *p, int64_t now);

/* Reports.  A moment is always the current one. */
void pool_spawned(struct pool *p, int slot, pid_t pid, int leash,
	uint64_t generation, int64_t now);
void pool_spawn_failed(struct pool *p, uint64_t generation, int64_t now);
void pool_ready(struct pool *p, int slot, int64_t now);
void pool_retiring(struct pool *p, int slot, int64_t now); /* it said so */
void pool_retired(struct pool *p, int slot, int64_t now); /* was told */
void pool_quit(struct pool *p, int slot, int64_t now);
void pool_aborted(struct pool *p, int slot, int64_t now);
void pool_killed(struct pool *p, int slot);

/* The process in the slot was reaped.  The leash is the caller's to close. */
struct pool_death {
	bool served; /* it finished a request */
	bool from_outside; /* by a signal that somebody else sent */
	int exit_status; /* -1: by a signal */
};
void
pool_died(struct pool *p, int slot, const struct pool_death *d, int64_t now);

/* Wishes. */
void pool_set_wanted(struct pool *p, int wanted);
void pool_begin_trial(struct pool *p, uint64_t generation);
void pool_commit(struct pool *p, int wanted, int64_t graceful_us);
void pool_cancel(struct pool *p); /* the trial worker is killed */
void pool_stop(struct pool *p); /* each of these cancels a trial */
void pool_stop_quick(struct pool *p);

/* In a child after fork: close every leash of the master's. */
void pool_forget(struct pool *p);

int pool_find(const struct pool *p, pid_t pid); /* slot, or -1 */
int pool_find_trial(const struct pool *p); /* slot of its worker, or -1 */

/* Told to quit, aborted or killed: it does not count any more. */
bool pool_slot_is_lost(const struct pool_slot *s);
bool pool_slot_is_active(const struct pool_slot *s); /* boots or serves */
bool pool_slot_is_serving(const struct pool_slot *s);

/* Workers in that state that count, of a generation. */
int
pool_count(const struct pool *p, enum pool_state state, uint64_t generation);

/* Workers of the generation that are alive in any way. */
int pool_alive(const struct pool *p, uint64_t generation);

/*
 * Does the current generation serve alone: all its workers are ready, and of
 * older ones none accepts?  is_busy(arg, slot) says that a worker has a
 * request in hand.
 */
bool pool_is_settled(
	const struct pool *p, bool (*is_busy)(void *arg, int slot), void *arg);

#endif
