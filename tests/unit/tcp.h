/*
 * tcp.h -- a connection in hand over loopback, where progress can be seen.
 *
 * The client does what `act` says when it is waited for.  Where a deadline is
 * the feature it is SHORT_US; where something must come before it, MINUTE_US.
 */
#ifndef UNIT_TCP_H
#define UNIT_TCP_H

#include "worker/conn.h"

#define MINUTE_US ((int64_t)60 * 1000000)
#define SHORT_US 5000
#define TCP_CHUNK (64 * 1024)

struct tcp {
	int client;
	struct conn conn;
	struct conn_limits limits;
	struct flusher flusher;
	struct board_slot board;

	void (*act)(void); /* called before a wait really blocks */
	int before, after; /* calls of the hooks */
	int64_t out_before, out_after; /* run_out_at as they saw it */

	bool saw_head; /* the client has read the head and ... */
	size_t got; /* so much of the body, which are tcp_bytes */
};

extern struct tcp tcp;
extern char tcp_bytes[4 * 1024 * 1024];

void tcp_set_up(void);
void tcp_tear_down(void);

/* The client; it checks what it reads, and takes what is there. */
void tcp_client_says_hi(void);
void tcp_client_resets(void);
void tcp_client_reads_some(size_t max);
void tcp_client_reads(void);

/* Something the client sent has arrived. */
void tcp_wait_readable(void);

/* A response begins, of which n chunks wait; then n more, from that one on. */
void tcp_queue(int n);
void tcp_queue_more(int from, int n);

/* A response whose chunks the kernel has no more room for; how many. */
int tcp_fill(void);

#endif
