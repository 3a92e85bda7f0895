/*
 * conn.h -- the connection in hand, and waiting for its client.
 *
 * The socket is non-blocking; every wait goes through conn_wait(), which keeps
 * the deadline, the flush delay, the application's clock (it stands still
 * while the client is waited for), the hooks and the counters.
 */
#ifndef WORKER_CONN_H
#define WORKER_CONN_H

#include <sys/socket.h>
#include <sys/uio.h>

#include "proc/board.h"
#include "worker/flusher.h"
#include "worker/pace.h"

struct conn_limits {
	int64_t body_timeout_us;
	int64_t send_timeout_us;
	int64_t timeout_us; /* application time, 0: none */
	uint64_t min_body_rate; /* bytes a second, over body-timeout; 0: none */
	uint64_t min_send_rate; /* the same, over send-timeout */
	int64_t grace_us; /* waited in all before a rate matters */
};

struct conn_hooks {
	void (*before)(void *arg);
	void (*after)(void *arg);
	void *arg;
};

/* A numeric address or the path of a unix socket, with its NUL. */
#define CONN_ADDR_MAX 112

struct conn_peer {
	socklen_t len; /* 0: not known (yet) */
	struct sockaddr_storage sa;
	char addr[CONN_ADDR_MAX]; /* numeric, "" over a unix socket */
	int port;
};

struct conn {
	int fd; /* -1: none in hand */
	struct conn_peer peer;
	struct conn_peer local; /* filled when first asked for, unless */
	const struct conn_peer *bound; /* the listener tells; NULL: no */
	const struct conn_limits *limits;
	const struct conn_hooks *hooks;
	struct flusher *flusher;
	struct board_slot *board;
	int64_t app_left_us; /* application time left while the clock stands */
	bool app_running;
	uint64_t blocked_in_us; /* in this request, waiting to receive */
	uint64_t blocked_out_us; /* waiting to send */
	int64_t received; /* bytes of this request's body */
	struct pace in, out;
	int64_t waits_since; /* for the client, not for a delay of ours */

	/*
	 * Called while a send waits and input is there, so that a client that
	 * sends all before it reads is not waited for by one who does the same:
	 * takes some of a body nobody will read.  False: no more of that.
	 * NULL while the application may still want the body.
	 */
	bool (*drain)(void *arg);
	void *drain_arg;
};

/*
 * Take a connection in hand / the next request on it.  The peer's text is
 * made from peer.sa.
 */
void conn_take(struct conn *c, int fd, const struct sockaddr_storage *sa,
	socklen_t len);
void conn_reset(struct conn *c);

/* Another peer than the socket's, as a trusted one said. */
void
conn_set_peer(struct conn *c, const struct sockaddr_storage *sa, socklen_t len);

/* The address a socket is bound to; len 0 if it has none. */
void conn_read_local(int fd, struct conn_peer *ret);

/* The local address: the listener's, or asked from the kernel. */
const struct conn_peer *conn_local(struct conn *c);

/*
 * Has the client left?  For one that was kept waiting, before the response is
 * begun: closed, or done with sending, its side looks alike until something is
 * sent to it, and so it may get the bytes with which every response begins.
 */
bool conn_is_deserted(struct conn *c);

/* The application's clock: starts with the request, ends with it. */
void conn_app_begins(struct conn *c);
void conn_app_ends(struct conn *c);

/*
 * Receive into iov, waiting for the client at most body-timeout from now, and
 * no longer if he was too slow for min-body-rate all along.
 * Chunks that come due meanwhile are sent.  Returns the number of bytes, 0 at
 * EOF, -1 with errno (ETIMEDOUT; ECONNRESET and the like).
 */
ssize_t conn_receive(struct conn *c, const struct iovec *iov, int n);

/* The same with a deadline of the caller's (us). */
ssize_t conn_receive_until(
	struct conn *c, const struct iovec *iov, int n, int64_t until);

/*
 * Send what waits until at most max_chunks chunks do (with max_chunks 0: until
 * the queue is empty), waiting for the client at most send-timeout without
 * progress (bytes acknowledged by the peer) or with less than min-send-rate asks
 * for.  The lock is not held by the caller.  -1 with errno (ETIMEDOUT; EPIPE,
 * ECONNRESET).
 */
int conn_send(struct conn *c, int max_chunks, int flags);

/*
 * n bytes of in_fd from off, the same way.  Nothing waits in the queue.
 * EIO if the file ends before.
 */
int conn_send_file(struct conn *c, int in_fd, off_t off, size_t n);

#endif
