/*
 * spawn.c -- the one place that forks.
 *
 * What crosses the fork is struct worker_setup, pointing into the master's
 * memory as it was, and four kinds of descriptors: the worker's end of its
 * leash, the listeners and the logs of its generation, the standard ones.
 * The child closes the rest before it does anything that could fail.
 *
 * Signals are blocked in the master whenever it runs, so also across the fork;
 * worker_main() opens the mask when its handlers are in place.
 */
#include "master/spawn.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "base/log.h"
#include "proc/signals.h"
#include "worker/worker.h"

static void
forget_generation(struct generation *other, struct generation *mine)
{
	if (other != NULL && other != mine)
		generation_forget(other, mine);
}

/*
 * What an application writes to its stderr belongs in the error log; after
 * this the log is descriptor 2.
 */
static void
take_error_log(const struct generation *g)
{
	if (g->error_fd != -1)
		dup2(g->error_fd, 2);
	log_set_fd(2);
	log_set_level((enum log_level)g->conf->log_level);
}

static _Noreturn void
be_worker(struct master *m, int slot, struct generation *g, int leash)
{
	struct worker_setup setup = {
		.conf = g->conf,
		.generation = g->number,
		.listeners = g->listeners,
		.nlisteners = g->nlisteners,
		.board = &m->board.slots[slot],
		.leash = leash,
		.access_fd = g->access_fd,
	};

	signals_forget();
	/*
	 * Close before anything can fail: while we hold a copy of a sibling's
	 * leash, that sibling would not notice the master's death.
	 */
	pool_forget(&m->pool);
	forget_generation(m->current, g);
	forget_generation(m->trial, g);
	take_error_log(g);
	fd_close(&g->error_fd);
	worker_main(&setup);
}

pid_t
spawn_worker(struct master *m, int slot, struct generation *g, int *ret_leash)
{
	int mine = -1, its = -1;
	pid_t pid = -1;

	if (leash_open(&mine, &its) == -1)
		return -1;
	board_clear(&m->board, slot);
	pid = fork();
	if (pid == 0) {
		fd_close(&mine);
		be_worker(m, slot, g, its);
	}
	fd_close(&its);
	if (pid == -1)
		fd_close(&mine);
	*ret_leash = mine;
	return pid;
}

int
spawn_check(const struct conf *c)
{
	int status;
	pid_t pid = fork();

	if (pid == -1)
		return -1;
	if (pid == 0)
		worker_check(c);
	return io_waitpid(pid, &status, 0) == -1 ? -1 : status;
}
