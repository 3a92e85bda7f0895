/*
 * obituary.h -- the log lines about a worker that died or is overdue.
 */
#ifndef MASTER_OBITUARY_H
#define MASTER_OBITUARY_H

#include "master/pool.h"
#include "proc/board.h"

/* Was it killed by a signal neither the master nor a fault of its own sent? */
bool obituary_is_from_outside(const struct pool_slot *s, int status);

/*
 * The death of the worker in slot i, in one line.  expected: we wanted it to
 * end, in whatever way.
 */
void obituary_write(const struct pool_slot *s, int i,
	const struct board_slot *board, int status, bool expected, int64_t now);

/* Its application has taken more than timeout for the request in hand. */
void obituary_overdue(const struct pool_slot *s, const struct board_slot *board,
	int64_t timeout_ms, int64_t now);

/* It has not left in time, and is about to get this signal. */
void obituary_late(const struct pool_slot *s, const struct board_slot *board,
	int sig, int64_t now);

#endif
