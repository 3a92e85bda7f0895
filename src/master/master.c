/*
 * master.c -- the master's loop.
 *
 * Reap, heed signals, perform what the pool says until it says nothing, wait.
 * The decisions are in pool_next.c, the fork in spawn.c; what signals ask for
 * is in orders.c, SIGHUP in reload.c.
 *
 * Always: the handled signals are blocked but while waiting.  Nothing here
 * sleeps to let something happen; after the start nothing but a signal ends
 * the process.
 */
#include "master/master.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "master/obituary.h"
#include "master/orders.h"
#include "master/queues.h"
#include "master/reload.h"
#include "master/spawn.h"
#include "proc/notify.h"
#include "proc/signals.h"
#include "proc/title.h"

/* Exit statuses of the process beside the worker's 3 and 4. */
enum {
	STOPPED = 0,
	CANNOT_START = 1,
	BAD_CONF = 2
};

#define BIND_PATIENCE_MS 2000
#define MESSAGES_MAX 16 /* of one worker in a go; it has no more to say */
#define WATCH_MAX_MS 1000
#define WATCH_MIN_MS 5

static struct master the_master;

/* NULL for that of a trial that was dropped. */
static struct generation *
find_generation(struct master *m, uint64_t number)
{
	struct generation *g;

	if (m->current->number == number)
		return m->current;
	if (m->trial != NULL && m->trial->number == number)
		return m->trial;
	for (g = m->old; g != NULL; g = g->next)
		if (g->number == number)
			return g;
	return NULL;
}

/* ---- what workers say, and their end ---- */

static void
heed_ready(struct master *m, int slot)
{
	struct pool_slot *s = &m->pool.slots[slot];
	bool was_first = !m->pool.first_ready;
	int64_t now = clock_us();

	if (s->ready_at != 0)
		return;
	pool_ready(&m->pool, slot, now);
	log_info("worker %d (slot %d, generation %" PRIu64
		 ") is ready after %.2f s",
		(int)s->pid, slot, s->generation,
		(double)(now - s->born_at) / 1e6);
	if (was_first && m->pool.first_ready) {
		notify_send("READY=1");
		spawn_report(0);
	}
}

/*
 * A connection wakes one worker.  If that was this one it may wait in vain, so
 * all others look at the queues.
 */
static void
heed_retiring(struct master *m, int slot)
{
	pool_retiring(&m->pool, slot, clock_us());
	for (int i = 0; i < POOL_SLOTS_MAX; i++)
		if (pool_slot_is_serving(&m->pool.slots[i]) &&
			m->pool.slots[i].leash != -1)
			leash_look(m->pool.slots[i].leash);
}

static void
heed_leash(struct master *m, int slot)
{
	struct pool_slot *s = &m->pool.slots[slot];
	struct leash_message msg;
	int r;

	/* It may send for ever: what is left comes with the next look. */
	for (int i = 0; i < MESSAGES_MAX && s->leash != -1; i++) {
		r = leash_receive(s->leash, &msg);
		if (r == 0)
			return;
		if (r == -1 && errno == EPROTO)
			continue;
		/* Its death comes with a signal of its own. */
		if (r == -1 || msg.word == LEASH_EOF)
			fd_close(&s->leash);
		else if (msg.word == LEASH_READY)
			heed_ready(m, slot);
		else if (msg.word == LEASH_RETIRING)
			heed_retiring(m, slot);
		fd_close(&msg.error_fd);
		fd_close(&msg.access_fd);
	}
}

/* Give back the configurations no worker uses any more. */
static void
sweep(struct master *m)
{
	struct generation **g = &m->old, *gone;

	while (*g != NULL) {
		if (pool_alive(&m->pool, (*g)->number) > 0) {
			g = &(*g)->next;
			continue;
		}
		gone = *g;
		*g = gone->next;
		generation_free(gone);
	}
}

static void
bury_worker(struct master *m, int slot, int status)
{
	struct pool_slot *s = &m->pool.slots[slot];
	struct board_slot *board = &m->board.slots[slot];
	struct pool_death d = {
		.served = atomic_load(&board->requests) > 0,
		.from_outside = obituary_is_from_outside(s, status),
		.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
	};
	int64_t now = clock_us(), pause = m->pool.backoff_until;
	bool expected =
		m->pool.quick || find_generation(m, s->generation) == NULL;

	heed_leash(m, slot);
	obituary_write(s, slot, board, status, expected, now);
	board_clear(&m->board, slot); /* it shows the living */
	fd_close(&s->leash);
	pool_died(&m->pool, slot, &d, now);
	if (m->pool.backoff_until != pause)
		log_warning("workers die young: the next one is started in "
			    "%.1f s",
			(double)m->pool.backoff_us / 1e6);
	sweep(m);
}

static void
reap(struct master *m)
{
	int slot, status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		slot = pool_find(&m->pool, pid);
		/* As process 1 we inherit the orphans of applications. */
		if (slot == -1)
			log_debug("reaped process %d, which is no worker",
				(int)pid);
		else
			bury_worker(m, slot, status);
	}
}

/* ---- what the pool says ---- */

static int64_t
run_out_at(void *arg, int slot)
{
	struct master *m = arg;

	return atomic_load(&m->board.slots[slot].run_out_at);
}

static void
spawn(struct master *m, const struct pool_action *a)
{
	struct generation *g = find_generation(m, a->generation);
	int leash = -1;
	pid_t pid = spawn_worker(m, a->slot, g, &leash);
	int64_t now = clock_us();

	if (pid == -1) {
		log_error("cannot start a worker: %s", strerror(errno));
		pool_spawn_failed(&m->pool, a->generation, now);
		return;
	}
	pool_spawned(&m->pool, a->slot, pid, leash, a->generation, now);
}

/* What its retirement is about: stop accepting, or drain some queues first. */
static void
tell_retire(struct master *m, int slot)
{
	const struct pool_slot *s = &m->pool.slots[slot];
	const struct generation *g = find_generation(m, s->generation);
	struct leash_message msg = {.error_fd = -1, .access_fd = -1};

	/* It may be busy: the response it is making can still say close. */
	atomic_store(&m->board.slots[slot].leaving, 1);
	msg.mask = m->pool.stopping ? generation_all(g) : g->removed;
	msg.word = msg.mask != 0 ? LEASH_DRAIN : LEASH_RETIRE;
	/* A worker that lost its leash, or does not read it, hears TERM. */
	if (s->leash == -1 || leash_send(s->leash, &msg) == -1)
		kill(s->pid, SIGTERM);
}

static void
abort_worker(struct master *m, const struct pool_action *a, int64_t now)
{
	const struct pool_slot *s = &m->pool.slots[a->slot];
	const struct board_slot *board = &m->board.slots[a->slot];
	const struct generation *g = find_generation(m, s->generation);

	if (a->overdue)
		obituary_overdue(s, board, g->conf->timeout_ms, now);
	else
		obituary_late(s, board, SIGABRT, now);
	kill(s->pid, SIGABRT);
	pool_aborted(&m->pool, a->slot, now);
}

static void
kill_worker(struct master *m, int slot, int64_t now)
{
	const struct pool_slot *s = &m->pool.slots[slot];

	/* That of a trial that was dropped is not late. */
	if (find_generation(m, s->generation) != NULL)
		obituary_late(s, &m->board.slots[slot], SIGKILL, now);
	kill(s->pid, SIGKILL);
	pool_killed(&m->pool, slot);
}

/* One that boots and is not wanted any more, or all of them at a quick stop. */
static void
quit_worker(struct master *m, int slot, int64_t now)
{
	if (!m->pool.quick && !board_forbid(&m->board.slots[slot])) {
		heed_ready(m, slot);
		return;
	}
	kill(m->pool.slots[slot].pid, SIGQUIT);
	pool_quit(&m->pool, slot, now);
}

static void
perform(struct master *m, const struct pool_action *a)
{
	int64_t now = clock_us();

	switch (a->act) {
	case POOL_SPAWN:
		spawn(m, a);
		break;
	case POOL_RETIRE:
		tell_retire(m, a->slot);
		pool_retired(&m->pool, a->slot, now);
		break;
	case POOL_QUIT:
		quit_worker(m, a->slot, now);
		break;
	case POOL_ABORT:
		abort_worker(m, a, now);
		break;
	case POOL_KILL:
		kill_worker(m, a->slot, now);
		break;
	case POOL_NOTHING:
	case POOL_FAILED:
	case POOL_STOPPED:
		break;
	}
}

/* Perform all there is to do; returns the action that ends it. */
static struct pool_action
perform_all(struct master *m)
{
	for (;;) {
		struct pool_action a =
			pool_next(&m->pool, clock_us(), run_out_at, m);

		if (a.act == POOL_NOTHING || a.act == POOL_FAILED ||
			a.act == POOL_STOPPED)
			return a;
		perform(m, &a);
	}
}

/* ---- the loop ---- */

static int64_t
watch_of(const struct generation *g)
{
	int64_t ms = g->conf->timeout_ms / 4;

	if (g->conf->timeout_ms == 0)
		return INT64_MAX;
	if (ms < WATCH_MIN_MS)
		ms = WATCH_MIN_MS;
	return ms < WATCH_MAX_MS ? ms : WATCH_MAX_MS;
}

/*
 * Workers begin requests without waking us, so we look at the board now and
 * then.  Returns the moment to look again.
 */
static int64_t
watch_at(const struct master *m)
{
	int64_t ms = watch_of(m->current), other;

	for (const struct generation *g = m->old; g != NULL; g = g->next) {
		other = watch_of(g);
		if (other < ms)
			ms = other;
	}
	return ms == INT64_MAX ? CLOCK_NEVER : clock_us() + ms * 1000;
}

static void
wait_until(struct master *m, int64_t at)
{
	static struct pollfd p[POOL_SLOTS_MAX];
	static int slots[POOL_SLOTS_MAX];
	int64_t look = watch_at(m), notify = notify_due(clock_us());
	int n = 0;

	for (int i = 0; i < POOL_SLOTS_MAX; i++) {
		if (m->pool.slots[i].leash == -1)
			continue;
		p[n] = (struct pollfd){m->pool.slots[i].leash, POLLIN, 0};
		slots[n++] = i;
	}
	if (look < at)
		at = look;
	if (notify < at)
		at = notify;
	if (signals_wait(p, n, clock_poll_ms(clock_us(), at)) <= 0)
		return;
	for (int i = 0; i < n; i++)
		if (p[i].revents != 0)
			heed_leash(m, slots[i]);
}

/* One line for the supervisor's own status page, when it has changed. */
static void
tell_status(struct master *m)
{
	static char last[100];
	char text[sizeof(last)];

	snprintf(text, sizeof(text),
		"STATUS=%sgeneration %" PRIu64 ", %d of %d workers serve",
		m->pool.stopping	   ? "stopping: "
			: m->trial != NULL ? "reloading: "
					   : "",
		m->current->number,
		pool_count(&m->pool, POOL_SERVING, m->current->number),
		m->pool.wanted);
	if (strcmp(text, last) == 0)
		return;
	memcpy(last, text, sizeof(last));
	notify_send(text);
}

static int
run(struct master *m)
{
	struct pool_action a;

	for (;;) {
		reap(m);
		orders_heed(m);
		reload_heed(m);
		a = perform_all(m);
		if (a.act == POOL_STOPPED)
			return STOPPED;
		if (a.act == POOL_FAILED) {
			log_error("the first worker did not get ready: "
				  "giving up");
			return m->pool.failed_status;
		}
		tell_status(m);
		queues_watch(m, clock_us());
		wait_until(m, a.at);
	}
}

/* ---- start and end ---- */

static void
log_lines(struct buf *b)
{
	struct str rest = buf_str(b), line;

	while (str_cut(&rest, '\n', &line))
		if (line.len > 0)
			log_info("%.*s", STR_ARG(line));
}

static void
log_start(const struct generation *g)
{
	const struct conf *c = g->conf;

	log_info("narwhal " NW_VERSION " starts: generation %" PRIu64
		 ", %s%s, %d workers, app %s",
		g->number, c->path != NULL ? "configuration " : "no file",
		c->path != NULL ? c->path : "", c->workers, c->app);
	for (size_t i = 0; i < g->nlisteners; i++)
		log_info("listening on %s%s",
			g->listeners[i].addr.kind == ADDR_TCP ? "http://" : "",
			g->listeners[i].text);
}

static int
open_all(struct master *m, struct buf *errors)
{
	struct generation *g = m->current;

	if (board_open(&m->board, POOL_SLOTS_MAX) == -1) {
		buf_addf(errors, "cannot make the scoreboard: %s\n",
			strerror(errno));
		return -1;
	}
	if (generation_open(g, NULL, BIND_PATIENCE_MS, errors) == -1)
		return -1;
	log_set_fd(g->error_fd);
	log_set_level((enum log_level)g->conf->log_level);
	pool_init(&m->pool, g->conf->workers, g->number,
		g->conf->graceful_timeout_ms * 1000);
	return 0;
}

static void
set_title(const struct conf *c)
{
	if (c->path != NULL)
		title_set("master [%s]", c->path);
	else
		title_set("master");
}

static int
start(struct master *m, struct buf *errors, struct buf *notes)
{
	m->current = generation_load(m->args, ++m->last_number, errors, notes);
	if (m->current == NULL)
		return BAD_CONF;
	if (m->current->conf->daemon && spawn_daemon() == -1) {
		buf_addf(errors, "cannot fork: %s\n", strerror(errno));
		return CANNOT_START;
	}
	if (open_all(m, errors) == -1)
		return CANNOT_START;
	set_title(m->current->conf);
	log_start(m->current);
	log_lines(notes);
	generation_warn(m->current);
	return 0;
}

static void
finish(struct master *m)
{
	if (m->current != NULL)
		generation_close(m->current, NULL);
	generation_free(m->current);
	board_close(&m->board);
}

int
master_run(const struct conf_args *args)
{
	struct master *m = &the_master;
	struct buf errors, notes;
	int status;

	buf_init(&errors);
	buf_init(&notes);
	signals_master();
	notify_init();
	fd_raise_limit();
	m->args = args;
	status = start(m, &errors, &notes);
	fputs(buf_z(&errors), stderr);
	buf_done(&errors);
	buf_done(&notes);
	if (status == 0) {
		status = run(m);
		log_info("stopped: exit %d", status);
	}
	finish(m);
	spawn_report(status);
	return status;
}

static int
check_app(const struct conf *c)
{
	int status = spawn_check(c);

	if (status == -1)
		fprintf(stderr, "cannot fork: %s\n", strerror(errno));
	else if (WIFSIGNALED(status))
		fprintf(stderr, "app: '%s' died of signal %d (%s)\n", c->app,
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != 0)
		fprintf(stderr, "app: '%s' cannot be loaded (exit %d)\n",
			c->app, WEXITSTATUS(status));
	return status == 0 ? 0 : BAD_CONF;
}

int
master_check(const struct conf_args *args)
{
	struct generation *g;
	struct buf errors;
	int status = BAD_CONF;

	buf_init(&errors);
	g = generation_load(args, 1, &errors, NULL);
	fputs(buf_z(&errors), stderr);
	if (g != NULL)
		status = check_app(g->conf);
	generation_free(g);
	buf_done(&errors);
	return status;
}
