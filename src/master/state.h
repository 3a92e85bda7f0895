/*
 * state.h -- what the master knows; shared by the files of this folder.
 */
#ifndef MASTER_STATE_H
#define MASTER_STATE_H

#include "master/generation.h"
#include "master/pool.h"
#include "proc/board.h"

struct master {
	const struct conf_args *args; /* read again at every reload */
	struct pool pool;
	struct board board; /* a slot for each of the pool's */
	struct generation *current; /* serves */
	struct generation *trial; /* of a reload, or NULL */
	struct generation *old; /* still have workers, newest first */
	uint64_t last_number; /* of the generation made last */
	int64_t queues_at; /* us, when a full queue may be spoken of again */
	bool handing_over; /* committed, but older workers may still accept */
};

#endif
