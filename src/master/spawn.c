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
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "base/log.h"
#include "proc/signals.h"
#include "proc/title.h"
#include "worker/worker.h"

/* Exit statuses of a start for which standard error has the reason. */
#define CANNOT_START 1
#define BAD_CONF 2

/* Where a daemon tells how its start went; -1: to nobody. */
static int report_fd = -1;

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
	fd_close(&report_fd);
	forget_generation(m->current, g);
	forget_generation(m->trial, g);
	take_error_log(g);
	fd_close(&g->error_fd);
	/* A worker that outlives us must not hold our lock. */
	pidfile_forget(&g->pidfile);
	title_set("worker %d", slot);
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

/* ---- the background ---- */

/* In the process that was started: end as the start does. */
static _Noreturn void
wait_for_report(int fd, pid_t child)
{
	unsigned char status = CANNOT_START;
	int ignored;

	/* Who waits at a terminal can still give up. */
	signals_leave();
	io_waitpid(child, &ignored, 0);
	if (io_read(fd, &status, 1) != 1)
		dprintf(2, "narwhal: the server died while it started\n");
	else if (status > BAD_CONF)
		dprintf(2, "narwhal: no worker got ready, see error-log\n");
	_exit(status);
}

static void
use_null(int from, int to)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = from; fd != -1 && i <= to; i++)
		dup2(fd, i);
	if (fd > 2)
		fd_close(&fd);
}

int
spawn_daemon(void)
{
	int pipe_fds[2];
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) == -1)
		return -1;
	pid = fork();
	if (pid == -1) {
		fd_close(&pipe_fds[0]);
		fd_close(&pipe_fds[1]);
		return -1;
	}
	if (pid > 0) {
		fd_close(&pipe_fds[1]);
		wait_for_report(pipe_fds[0], pid);
	}
	fd_close(&pipe_fds[0]);
	report_fd = pipe_fds[1];
	setsid();
	/* Only a session's leader can get a terminal again: do not be it. */
	pid = fork();
	if (pid != 0)
		_exit(pid == -1 ? CANNOT_START : 0);
	use_null(0, 1);
	return 0;
}

void
spawn_report(int status)
{
	unsigned char byte = (unsigned char)status;

	if (report_fd == -1)
		return;
	use_null(2, 2);
	(void)!io_write(report_fd, &byte, 1);
	fd_close(&report_fd);
}
