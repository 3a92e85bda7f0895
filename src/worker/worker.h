/*
 * worker.h -- one worker process: its loop.
 */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include "conf/conf.h"
#include "proc/board.h"
#include "proc/listener.h"

/* Exit statuses of a worker, which are also the master's at first start. */
enum worker_exit {
	WORKER_LEFT = 0, /* asked to leave */
	WORKER_NO_BOOT = 3, /* could not boot */
	WORKER_NO_APP = 4 /* could not load the application */
};

/* What crosses the fork. */
struct worker_setup {
	const struct conf *conf;
	uint64_t generation;
	const struct listener
		*listeners; /* an array of its own, in conf order */
	size_t nlisteners;
	struct board_slot *board;
	int leash;
	int access_fd; /* -1: no access log */
};

/*
 * Boot (chdir, environment, application), say ready, serve until told to
 * leave.  Called in the child after signals_forget(); never returns.
 */
_Noreturn void worker_main(const struct worker_setup *setup);

/*
 * The part of boot that -t wants: chdir, environment, load the application.
 * In a child; exits with a worker_exit.
 */
_Noreturn void worker_check(const struct conf *conf);

#endif
