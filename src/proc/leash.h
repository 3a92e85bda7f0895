/*
 * leash.h -- the SOCK_SEQPACKET pair between the master and one worker.
 *
 * Up: ready, retiring.  Down: retire, drain, look, new logs.  Each message is
 * one packet.  EOF means the other side is gone, and is what ends a worker whose
 * master died.
 */
#ifndef PROC_LEASH_H
#define PROC_LEASH_H

#include <stdbool.h>
#include <stdint.h>

enum leash_word {
	LEASH_EOF = 0, /* never sent: the other side is gone */
	LEASH_READY, /* up: booted, serving */
	/*
	 * Up: accepts no more.  Said by a worker that leaves of its own accord
	 * (max-requests, TERM), and as the answer to RETIRE and DRAIN.
	 */
	LEASH_RETIRING,
	LEASH_RETIRE, /* down: finish, leave */
	LEASH_DRAIN, /* down: serve the listeners in `mask` empty, then leave */
	LEASH_LOOK, /* down: there may be connections nobody was woken for */
	LEASH_LOGS /* down: new descriptors for the logs */
};

#define LEASH_LISTENERS_MAX 64

struct leash_message {
	enum leash_word word;
	uint64_t mask; /* DRAIN: bit i for the i-th listener of the worker */
	int error_fd; /* LOGS: -1: keep yours; the receiver owns them */
	int access_fd;
};

/* Non-blocking, close-on-exec.  -1 with errno. */
int leash_open(int *ret_master, int *ret_worker);

/*
 * -1 with errno (EPIPE: the other side is gone); the descriptors in a LOGS
 * message stay the caller's.
 */
int leash_send(int fd, const struct leash_message *m);

/*
 * Down: LOOK, unless the worker has something to read anyway: it looks at the
 * queues after whatever it read.  So no number of them fills the leash of a
 * busy one.
 */
void leash_look(int fd);

/*
 * 1 with a message (LEASH_EOF too), 0 if none is there, -1 with errno (EPROTO:
 * not one of ours; the next one may be).
 */
int leash_receive(int fd, struct leash_message *m);

#endif
