/*
 * orders.c -- what signals ask of the master.
 *
 * A stop and a number of workers are wishes told to the pool; logs are opened
 * anew here; SIGHUP is reload.c's.
 */
#include "master/orders.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "master/reload.h"
#include "proc/notify.h"
#include "proc/signals.h"

static void
stop(struct master *m, const char *signal, bool quick)
{
	if (m->pool.quick)
		return;
	if (quick)
		log_info("stopping at once: %s", signal);
	else
		log_info("stopping: %s; workers have %.1f s to finish", signal,
			(double)m->pool.graceful_us / 1e6);
	if (!m->pool.stopping)
		notify_send("STOPPING=1");
	reload_cancel(m, "the server stops");
	if (quick)
		pool_stop_quick(&m->pool);
	else
		pool_stop(&m->pool);
	generation_shut(m->current);
}

static void
change_wanted(struct master *m, const char *signal, int by)
{
	int wanted = m->pool.wanted + by;

	if (wanted < 1 || wanted > POOL_WORKERS_MAX) {
		log_warning("%s: %d workers are wanted, that stays so", signal,
			m->pool.wanted);
		return;
	}
	pool_set_wanted(&m->pool, wanted);
	log_info("%s: %d workers are wanted", signal, wanted);
}

static void
send_logs(struct master *m, const struct generation *g,
	const struct leash_message *msg)
{
	for (int i = 0; i < POOL_SLOTS_MAX; i++) {
		const struct pool_slot *s = &m->pool.slots[i];

		if (s->leash == -1 || s->generation != g->number)
			continue;
		/* EPIPE: it has just left. */
		if (leash_send(s->leash, msg) == -1 && errno != EPIPE)
			log_error("worker %d did not take the new logs: %s",
				(int)s->pid, strerror(errno));
	}
}

static void
reopen_logs_of(struct master *m, struct generation *g)
{
	struct leash_message msg = {.word = LEASH_LOGS};

	generation_reopen_logs(g, &msg.error_fd, &msg.access_fd);
	if (msg.error_fd != -1 || msg.access_fd != -1)
		send_logs(m, g, &msg);
	fd_close(&msg.error_fd);
	fd_close(&msg.access_fd);
}

static void
reopen_logs(struct master *m)
{
	reopen_logs_of(m, m->current);
	if (m->trial != NULL)
		reopen_logs_of(m, m->trial);
	for (struct generation *g = m->old; g != NULL; g = g->next)
		reopen_logs_of(m, g);
	log_info("SIGUSR1: logs were reopened");
}

void
orders_heed(struct master *m)
{
	if (signals_take(SIGINT))
		stop(m, "SIGINT", true);
	if (signals_take(SIGQUIT))
		stop(m, "SIGQUIT", true);
	if (signals_take(SIGTERM) && !m->pool.stopping)
		stop(m, "SIGTERM", false);
	if (signals_take(SIGUSR1))
		reopen_logs(m);
	if (m->pool.stopping)
		return;
	if (signals_take(SIGTTIN))
		change_wanted(m, "SIGTTIN", 1);
	if (signals_take(SIGTTOU))
		change_wanted(m, "SIGTTOU", -1);
	/* Until the first start is over there is nothing to fall back on. */
	if (m->pool.first_ready && signals_take(SIGHUP))
		reload_begin(m);
}
