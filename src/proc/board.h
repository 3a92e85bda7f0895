/*
 * board.h -- the scoreboard: what workers tell the master without a message.
 *
 * Shared anonymous memory, one slot per worker, written by its worker alone.
 * The master reads it and distrusts it: an application may have scribbled
 * over it, so nothing read from it is used as an index, a length or a pid.
 */
#ifndef PROC_BOARD_H
#define PROC_BOARD_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

enum board_state {
	BOARD_BOOTING,
	BOARD_IDLE,
	BOARD_BUSY,
	BOARD_RETIRING,
	BOARD_FORBIDDEN /* was still booting when it was no longer wanted */
};

#define BOARD_METHOD_MAX 24
#define BOARD_TARGET_MAX 160
#define BOARD_PEER_MAX 64

struct board_slot {
	/*
	 * The monotonic moment (us) the application's time runs out; 0 while
	 * the worker waits for a client or for work.
	 */
	_Atomic int64_t run_out_at;
	_Atomic int state;
	/*
	 * Written by the master before it says retire or drain, so that the
	 * response being made says `Connection: close` already.
	 */
	_Atomic int leaving;
	_Atomic uint64_t requests;
	_Atomic uint64_t bytes_in; /* of request bodies */
	_Atomic uint64_t bytes_out; /* of response bodies */
	_Atomic uint64_t blocked_in_us;
	_Atomic uint64_t blocked_out_us;
	_Atomic int64_t request_at; /* us, when the request in hand began; 0 */
	char method[BOARD_METHOD_MAX]; /* NUL-terminated, cut if longer */
	char target[BOARD_TARGET_MAX];
	char peer[BOARD_PEER_MAX];
} __attribute__((aligned(64)));

struct board {
	struct board_slot *slots;
	int nslots;
};

/* What the master copies out of a slot, made safe. */
struct board_request {
	char method[BOARD_METHOD_MAX];
	char target[BOARD_TARGET_MAX];
	char peer[BOARD_PEER_MAX];
	int64_t seconds_x1000; /* since it began, milliseconds; -1: none */
};

int board_open(struct board *b, int nslots); /* -1 with errno */
void board_close(struct board *b);

/*
 * The master, when the worker of slot i is buried; and again before it forks
 * into it, since a child of the old one may have written there.
 */
void board_clear(struct board *b, int i);

/*
 * A worker that booted asks whether it may begin to serve; the master forbids
 * it before it kills one that boots.  One of them comes first: a worker that
 * has begun is never killed for not having, with a request in its hands.
 */
bool board_begin(struct board_slot *s);
bool board_forbid(struct board_slot *s); /* false: it has begun */

/* The worker: the request in hand; method.p == NULL: none any more. */
void board_set_request(struct board_slot *s, struct str method,
	struct str target, struct str peer, int64_t now_us);
void board_end_request(struct board_slot *s);

/* The master: a safe copy; false if there was no request in hand. */
bool board_read_request(
	const struct board_slot *s, int64_t now_us, struct board_request *out);

#endif
