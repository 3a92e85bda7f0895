/*
 * reload.c -- SIGHUP as a transaction.
 *
 * begin: load the file beside the running configuration, open what is new,
 * put one worker on trial.  commit: the trial worker is ready; switch.  refuse
 * or cancel: close what was opened, nothing has changed.
 *
 * Always: until the commit the current generation has all it had.  Each
 * beginning is followed by one line that says how it ended, and by READY=1 as
 * soon as nothing is under way: no trial, and no handing over.
 */
#include "master/reload.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "proc/notify.h"

static void
notify_reloading(void)
{
	char text[80];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
		clock_us());
	notify_send(text);
}

static void
log_faults(const struct buf *b)
{
	struct str rest = buf_str(b), line;

	while (str_cut(&rest, '\n', &line))
		if (line.len > 0)
			log_error("%.*s", STR_ARG(line));
}

static void
log_notes(const struct buf *b)
{
	struct str rest = buf_str(b), line;

	while (str_cut(&rest, '\n', &line))
		if (line.len > 0)
			log_info("reload: %.*s", STR_ARG(line));
}

static void
refuse(struct master *m, const char *why)
{
	log_error("reload refused: %s; nothing has changed, generation %" PRIu64
		  " serves on",
		why, m->current->number);
	if (!m->handing_over)
		notify_send("READY=1");
}

static void
drop_trial(struct master *m)
{
	generation_close(m->trial, m->current);
	/* Its worker may be dying still; it has its own copy of all. */
	generation_free(m->trial);
	m->trial = NULL;
	pool_cancel(&m->pool);
}

/* A count set by TTIN and TTOU outlives a reload that says nothing new. */
static int
wanted_after(const struct master *m)
{
	if (m->trial->conf->workers != m->current->conf->workers)
		return m->trial->conf->workers;
	return m->pool.wanted;
}

static void
log_listeners(const struct generation *from, const struct generation *to)
{
	for (size_t i = 0; i < to->nlisteners; i++) {
		bool is_new = true;

		for (size_t k = 0; k < from->nlisteners; k++)
			is_new &= from->listeners[k].fd != to->listeners[i].fd;
		if (is_new)
			log_info("reload: listening on %s too",
				to->listeners[i].text);
	}
	for (size_t i = 0; i < from->nlisteners; i++) {
		bool is_gone = true;

		for (size_t k = 0; k < to->nlisteners; k++)
			is_gone &= from->listeners[i].fd != to->listeners[k].fd;
		if (is_gone)
			log_info("reload: no longer listening on %s",
				from->listeners[i].text);
	}
}

static void
commit(struct master *m)
{
	struct generation *from = m->current, *to = m->trial;

	log_listeners(from, to);
	pool_commit(&m->pool, wanted_after(m),
		to->conf->graceful_timeout_ms * 1000);
	/* Before the old log is closed. */
	log_set_fd(to->error_fd);
	log_set_level((enum log_level)to->conf->log_level);
	from->next = m->old;
	generation_take_over(to, from);
	m->old = from;
	m->current = to;
	m->trial = NULL;
	m->handing_over = true;
	log_info("reload: generation %" PRIu64 " takes over with %d workers",
		to->number, m->pool.wanted);
}

/*
 * Has the worker on trial begun to serve, although we have not heard of it
 * yet?  If not, it never will.
 */
static bool
has_begun(struct master *m)
{
	int slot = pool_find_trial(&m->pool);

	if (slot == -1 || board_forbid(&m->board.slots[slot]))
		return false;
	pool_ready(&m->pool, slot, clock_us());
	return m->pool.trial_state == POOL_TRIAL_READY;
}

void
reload_cancel(struct master *m, const char *why)
{
	if (m->trial == NULL)
		return;
	if (has_begun(m)) {
		commit(m);
		return;
	}
	log_warning("reload: generation %" PRIu64 " is dropped: %s",
		m->trial->number, why);
	drop_trial(m);
}

/* What only a start can do, at a reload that asks for it. */
static void
warn_of_daemon(const struct conf *from, const struct conf *to)
{
	if (to->daemon != from->daemon)
		log_warning("reload: daemon has changed, which counts at the "
			    "next start only");
}

static void
put_on_trial(struct master *m, struct generation *g)
{
	m->trial = g;
	pool_begin_trial(&m->pool, g->number);
	log_info("reload: generation %" PRIu64 " is on trial", g->number);
	generation_warn(g);
	warn_of_daemon(m->current->conf, g->conf);
}

void
reload_begin(struct master *m)
{
	struct generation *g;
	struct buf errors, notes;

	buf_init(&errors);
	buf_init(&notes);
	reload_cancel(m, "another SIGHUP has come");
	log_info("reload: started");
	notify_reloading();
	m->current->next = m->old;
	g = generation_load(m->args, ++m->last_number, &errors, &notes);
	log_notes(&notes);
	if (g == NULL) {
		log_faults(&errors);
		refuse(m, "the configuration has faults");
	} else if (generation_open(g, m->current, 0, &errors) == -1) {
		log_faults(&errors);
		refuse(m, "what is new could not be opened");
		generation_free(g);
	} else {
		put_on_trial(m, g);
	}
	buf_done(&errors);
	buf_done(&notes);
}

static bool
is_busy(void *arg, int slot)
{
	struct master *m = arg;

	return atomic_load(&m->board.slots[slot].request_at) != 0;
}

void
reload_heed(struct master *m)
{
	if (m->trial != NULL && m->pool.trial_state == POOL_TRIAL_READY)
		commit(m);
	if (m->trial != NULL && m->pool.trial_state == POOL_TRIAL_DIED) {
		drop_trial(m);
		refuse(m, "its first worker did not get ready");
	}
	if (m->trial != NULL || !m->handing_over || m->pool.stopping ||
		!pool_is_settled(&m->pool, is_busy, m))
		return;
	m->handing_over = false;
	log_info("reload done: generation %" PRIu64
		 " serves, its settings are in force",
		m->current->number);
	notify_send("READY=1");
}
