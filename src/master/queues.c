/*
 * queues.c -- say so when clients come faster than workers take them.
 *
 * The kernel counts what waits in a listen queue; the master looks whenever it
 * is awake anyway.  What to do about it is for the operator.
 */
#include "master/queues.h"

#include "base/log.h"

#define PAUSE_US (10 * 1000000)

static bool
is_full(const struct listener *l)
{
	int waiting, max;

	if (l->fd == -1 || !listener_queue(l, &waiting, &max) || waiting < max)
		return false;
	log_warning("the listen queue of %s is full, %d connections wait; "
		    "more workers or a longer backlog would help",
		l->text, waiting);
	return true;
}

void
queues_watch(struct master *m, int64_t now)
{
	const struct generation *g = m->current;
	size_t i;

	if (now < m->queues_at || m->pool.stopping || !m->pool.first_ready)
		return;
	for (i = 0; i < g->nlisteners; i++)
		if (is_full(&g->listeners[i]))
			m->queues_at = now + PAUSE_US;
}
