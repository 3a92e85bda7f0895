/*
 * worker.c -- one worker process: boot, its loop, its end.
 *
 * The loop looks at what epoll has, takes in new connections before it serves
 * anything else, and sleeps only when there is nothing to do.  No connection
 * waits in a listen queue while a worker sleeps: a worker that was woken by an
 * exclusive listener event always accepts, and each worker tries to accept
 * once more before it sleeps.
 */
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "proc/privs.h"
#include "proc/signals.h"
#include "worker/acceptor.h"
#include "worker/forkguard.h"
#include "worker/heap.h"

/* Ready connections looked at in one go. */
#define EVENTS_MAX 128

/* A wait that needs no care about signals: one is heeded this much later. */
#define NAP_MS 1

/* Quiet for so long, a worker gives memory back. */
#define QUIET_US 1000000

/* With short timeouts a slow start is no attack. */
#define RATE_GRACE_US (10 * 1000000)

/* epoll's data of the leash; see also acceptor.h and park.h. */
#define TAG_LEASH PARK_OTHERS

struct worker {
	const struct worker_setup *setup;
	struct serve serve;
	struct park park;
	struct api_settings lookups;
	struct arena values; /* what apps asked of the settings */
	struct acceptor acceptor;
	bool orphaned; /* the master is gone */
	bool served; /* since the last sleep */
	int64_t quiet_at; /* us: give memory back, if nothing comes before */
};

/* ---- what applications ask of the configuration ---- */

static const char *
find_setting(void *arg, const char *key)
{
	struct worker *w = arg;
	struct buf b;
	const char *value;

	buf_init(&b);
	value = conf_value(w->setup->conf, key, &b);
	if (value)
		value = arena_strdup(&w->values, value);
	buf_done(&b);
	return value;
}

static const char *
find_option(void *arg, const char *name)
{
	const struct conf_pairs *o =
		&((struct worker *)arg)->setup->conf->options;
	size_t i;

	for (i = 0; i < o->n; i++)
		if (strcmp(o->v[i].name, name) == 0)
			return o->v[i].value;
	return NULL;
}

static int
option_at(void *arg, size_t i, const char **ret_name, const char **ret_value)
{
	const struct conf_pairs *o =
		&((struct worker *)arg)->setup->conf->options;

	if (i >= o->n)
		return -1;
	*ret_name = o->v[i].name;
	*ret_value = o->v[i].value;
	return 0;
}

/* ---- retiring ---- */

/*
 * Take no new connections but those in the queues of `drain`, answer each
 * parked one once more, then leave.  The master learns that nothing new is
 * accepted: it may be waiting for that, or have to start another in time, and
 * has the others look for whom only we were woken.
 */
static void
retire(struct worker *w, uint64_t drain)
{
	const struct leash_message m = {
		.word = LEASH_RETIRING, .error_fd = -1, .access_fd = -1};

	w->serve.retiring = true;
	atomic_store(&w->setup->board->state, BOARD_RETIRING);
	acceptor_retire(&w->acceptor, drain);
	leash_send(w->setup->leash, &m);
	park_hurry(&w->park, clock_us());
}

static void
retire_oneself(struct worker *w)
{
	if (!w->serve.retiring)
		retire(w, 0);
}

/*
 * New files behind the old numbers, which the application may know: the error
 * log's is also what its own writes to stderr use.
 */
static void
take_logs(struct worker *w, struct leash_message *m)
{
	if (m->error_fd != -1)
		dup3(m->error_fd, log_fd(), log_fd() > 2 ? O_CLOEXEC : 0);
	if (m->access_fd != -1 && w->serve.access.fd != -1)
		dup3(m->access_fd, w->serve.access.fd,
			w->serve.access.fd > 2 ? O_CLOEXEC : 0);
	fd_close(&m->error_fd);
	fd_close(&m->access_fd);
}

static void
heed_leash(struct worker *w)
{
	struct leash_message m;

	while (!w->orphaned && leash_receive(w->setup->leash, &m) == 1) {
		switch (m.word) {
		case LEASH_RETIRE:
			retire(w, 0);
			break;
		case LEASH_DRAIN:
			retire(w, m.mask);
			break;
		case LEASH_LOGS:
			take_logs(w, &m);
			break;
		case LEASH_EOF:
			w->orphaned = true;
			break;
		case LEASH_LOOK: /* as after each waking */
		case LEASH_READY:
		case LEASH_RETIRING:
			break;
		}
	}
}

static bool
may_leave(const struct worker *w)
{
	return w->orphaned ||
		(w->serve.retiring && w->acceptor.draining == 0 &&
			park_count(&w->park) == 0);
}

/* ---- the loop ---- */

/*
 * The master does not wait for a busy worker before it says that a reload is
 * done.  So one that was told to leave while it served must not accept another
 * connection afterwards: that one may have come later.
 */
static void
take_events(struct worker *w, const struct epoll_event *e, int n)
{
	bool any = false;
	int i;

	w->served = true;
	for (i = 0; i < n; i++)
		if (e[i].data.u64 == TAG_LEASH)
			heed_leash(w);
	for (i = 0; i < n; i++)
		if (e[i].data.u64 >= ACCEPTOR_TAG &&
			!(any && serve_is_told_to_leave(&w->serve)))
			any |= acceptor_take(&w->acceptor,
				       (int)(e[i].data.u64 - ACCEPTOR_TAG)) ==
				1;
	for (i = 0; i < n && !w->orphaned; i++)
		if (e[i].data.u64 < PARK_OTHERS)
			serve_ready(&w->serve, (int)e[i].data.u64,
				e[i].events & EPOLLRDHUP);
}

static bool
take_each(struct worker *w)
{
	bool any = acceptor_take_each(&w->acceptor);

	w->served |= any;
	return any;
}

/*
 * Connections whose time was over when all sockets were looked at last: what
 * came in time while this worker was busy has been taken by then.
 */
static void
expire(struct worker *w, int64_t looked_at)
{
	int slot;

	while ((slot = park_overdue(&w->park, looked_at)) != -1)
		serve_overdue(&w->serve, slot);
}

/* Wait at most ms, letting the application's threads run meanwhile. */
static int
wait_for_events(struct worker *w, struct epoll_event *e, int ms)
{
	const struct conn_hooks *hooks = &w->serve.hooks;
	int n;

	if (hooks->before)
		hooks->before(hooks->arg);
	n = epoll_pwait(
		w->park.epoll_fd, e, EVENTS_MAX, ms, signals_wait_mask());
	if (hooks->after)
		hooks->after(hooks->arg);
	return n;
}

/*
 * What is ready now or in a moment.  Under load the next request is never far,
 * and a nap costs one system call where a sleep costs five.  Where waiting has
 * hooks it is tried without them first: they cost more than a look.
 */
static int
glance(struct worker *w, struct epoll_event *e)
{
	bool busy = park_next_ready(&w->park) != -1;
	int n = 0;

	if (w->serve.hooks.before || busy)
		n = epoll_wait(w->park.epoll_fd, e, EVENTS_MAX, 0);
	return n == 0 && !busy ? wait_for_events(w, e, NAP_MS) : n;
}

/* When a sleep must end, whatever comes. */
static int64_t
wake_at(const struct worker *w)
{
	int64_t until = park_next_deadline(&w->park);

	if (acceptor_wake_at(&w->acceptor) < until)
		until = acceptor_wake_at(&w->acceptor);
	return w->quiet_at < until ? w->quiet_at : until;
}

/* Wait for an event, a deadline or a signal, however long it takes. */
static int
sleep_for_events(struct worker *w, struct epoll_event *e)
{
	int64_t now = clock_us();
	int n = 0;

	if (w->served)
		w->quiet_at = now + QUIET_US;
	w->served = false;
	signals_hold();
	if (!signals_pending(SIGTERM) || w->serve.retiring)
		n = wait_for_events(w, e, clock_poll_ms(now, wake_at(w)));
	signals_release();
	now = w->serve.slept_at = clock_us();
	if (n == 0 && w->quiet_at <= now) {
		heap_give_back();
		w->quiet_at = CLOCK_NEVER;
	}
	return n;
}

static void
run(struct worker *w)
{
	struct epoll_event events[EVENTS_MAX];
	int64_t now;
	int n;

	while (!may_leave(w)) {
		if (signals_pending(SIGTERM) || serve_is_worn_out(&w->serve))
			retire_oneself(w);
		if (serve_is_told_to_leave(&w->serve))
			heed_leash(w);
		now = clock_us();
		n = glance(w, events);
		if (n > 0)
			take_events(w, events, n);
		serve_turns(&w->serve);
		if (n >= 0 && n < EVENTS_MAX)
			expire(w, now);
		acceptor_listen(&w->acceptor);
		if (n > 0 || park_next_ready(&w->park) != -1 || take_each(w) ||
			may_leave(w))
			continue;
		n = sleep_for_events(w, events);
		if (n > 0)
			take_events(w, events, n);
	}
}

/* ---- boot and end ---- */

/* First of all, so that what follows fails as it would for that user. */
static int
drop_privileges(const struct conf *c)
{
	char why[PRIVS_WHY_MAX];

	if (!c->run_as.is_set || privs_drop(&c->run_as, why) == 0)
		return 0;
	log_error("cannot run as user %ld, group %ld: %s", (long)c->run_as.uid,
		(long)c->run_as.gid, why);
	return -1;
}

static int
enter(const struct conf *c)
{
	if (c->umask != -1)
		umask((mode_t)c->umask);
	if (drop_privileges(c) == -1)
		return -1;
	if (c->chdir && chdir(c->chdir) == -1) {
		log_error(
			"cannot change to '%s': %s", c->chdir, strerror(errno));
		return -1;
	}
	if (conf_apply_env(c) == -1) {
		log_error("cannot set the environment: %s", strerror(errno));
		return -1;
	}
	return 0;
}

/* A number no other worker has. */
static uint64_t
chance(void)
{
	uint64_t r;

	if (getentropy(&r, sizeof(r)) == -1)
		r = (uint64_t)clock_us() * (uint64_t)getpid();
	return r;
}

/* max-requests and its share of the jitter, another one for each worker. */
static uint64_t
max_requests(const struct conf *c)
{
	if (c->max_requests == 0 || c->max_requests_jitter == 0)
		return c->max_requests;
	return c->max_requests + chance() % (c->max_requests_jitter + 1);
}

static int
watch_leash(struct worker *w)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = TAG_LEASH};

	if (w->setup->leash == -1)
		return 0;
	return epoll_ctl(w->park.epoll_fd, EPOLL_CTL_ADD, w->setup->leash, &e);
}

/* The peers of forwarded-allow-ips, which were judged at load. */
static int
read_trusted(struct worker *w, struct allow *ret_trusted)
{
	const struct conf_list *l = &w->setup->conf->forwarded_allow_ips;
	struct allow_entry *v = arena_alloc(&w->values, l->n * sizeof(*v));
	const char *why;

	if (!v)
		return -1;
	for (size_t i = 0; i < l->n; i++)
		if (allow_read(str_of(l->v[i]), &v[i], &why) == -1) {
			errno = EINVAL;
			return -1;
		}
	*ret_trusted = (struct allow){v, l->n};
	return 0;
}

static int
prepare(struct worker *w)
{
	const struct conf *c = w->setup->conf;
	struct serve_settings settings = {
		.request =
			{
				.head =
					{
						.head = c->request_head,
						.line = c->request_line,
						.fields = c->request_fields,
						.field = c->request_field_size,
					},
				.body = c->request_body,
				.block_size = c->input_block_size,
			},
		.conn =
			{
				.body_timeout_us = c->body_timeout_ms * 1000,
				.send_timeout_us = c->send_timeout_ms * 1000,
				.timeout_us = c->timeout_ms * 1000,
				.min_body_rate = c->min_body_rate,
				.min_send_rate = c->min_send_rate,
				.grace_us = RATE_GRACE_US,
			},
		.chunks_max = c->outgoing_body_buffer_chunks,
		.chunk_size = c->outgoing_body_chunk_size,
		.flush_delay_us = c->outgoing_flush_delay_ms * 1000,
		.keepalive_us = c->keepalive_ms * 1000,
		.max_requests = max_requests(c),
		.proxy = (enum proxy_mode)c->proxy_protocol,
	};

	w->lookups =
		(struct api_settings){find_setting, find_option, option_at, w};
	if (arena_init(&w->values, 4096) == -1 ||
		read_trusted(w, &settings.trusted) == -1 ||
		park_init(&w->park, c->worker_connections,
			settings.keepalive_us,
			c->header_timeout_ms * 1000) == -1 ||
		serve_init(&w->serve, &settings, &w->lookups, &w->park,
			w->setup->board, w->setup->access_fd,
			c->access_log_format) == -1 ||
		watch_leash(w) == -1) {
		log_error("cannot boot: %s", strerror(errno));
		return -1;
	}
	if (c->min_send_rate > 0)
		w->park.linger_least =
			(int)(c->min_send_rate * PARK_LINGER_US / 1000000);
	acceptor_init(&w->acceptor, &w->serve, &w->park, w->setup->listeners,
		w->setup->nlisteners, c->workers > 1);
	return 0;
}

/* In a process the application forked: nothing of ours is its business. */
static void
forget(void *arg)
{
	struct worker *w = arg;
	int i;

	signals_leave();
	flusher_forget(&w->serve.flusher);
	acceptor_forget(&w->acceptor);
	for (i = 0; i < w->park.max; i++)
		fd_close(&w->park.slots[i].fd);
	fd_close(&w->serve.conn.fd);
	fd_close(&w->serve.access.fd);
	fd_close(&w->park.epoll_fd);
	close(w->setup->leash);
}

static void
say_ready(const struct worker *w)
{
	const struct leash_message m = {
		.word = LEASH_READY, .error_fd = -1, .access_fd = -1};

	/* What this generation was for may be over meanwhile. */
	if (!board_begin(w->setup->board))
		exit(WORKER_LEFT);
	leash_send(w->setup->leash, &m);
}

static void
finish(struct worker *w)
{
	acceptor_close(&w->acceptor);
	app_close(&w->serve.app, &w->serve.api.server);
	serve_done(&w->serve);
	park_done(&w->park);
	arena_done(&w->values);
}

_Noreturn void
worker_main(const struct worker_setup *setup)
{
	static struct worker w;

	w.setup = setup;
	w.quiet_at = CLOCK_NEVER;
	heap_keep();
	signals_worker();
	if (enter(setup->conf) == -1 || prepare(&w) == -1)
		exit(WORKER_NO_BOOT);
	signals_follow_master();
	forkguard_init(forget, &w);
	/* The numbers of rand() are not the same in all workers. */
	srand((unsigned)chance());
	if (serve_open_app(&w.serve, setup->conf->app) == -1)
		exit(WORKER_NO_APP);
	acceptor_listen(&w.acceptor);
	say_ready(&w);
	run(&w);
	finish(&w);
	exit(WORKER_LEFT);
}

_Noreturn void
worker_check(const struct conf *conf)
{
	static struct worker w;
	static struct board_slot board;
	const struct worker_setup setup = {
		.conf = conf, .board = &board, .leash = -1, .access_fd = -1};

	w.setup = &setup;
	signals_worker();
	if (enter(conf) == -1 || prepare(&w) == -1)
		exit(WORKER_NO_BOOT);
	if (serve_open_app(&w.serve, conf->app) == -1)
		exit(WORKER_NO_APP);
	finish(&w);
	exit(WORKER_LEFT);
}
