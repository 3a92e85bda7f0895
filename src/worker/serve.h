/*
 * serve.h -- from bytes on a connection to an answer.
 *
 * Holds the one connection, request and response in hand.  worker.c says which
 * connection; serve.c takes it as far as it goes: to an unfinished head, an
 * idle keep-alive, or its end.
 */
#ifndef WORKER_SERVE_H
#define WORKER_SERVE_H

#include "http/proxy.h"
#include "worker/access.h"
#include "worker/api.h"
#include "worker/app.h"
#include "worker/forwarded.h"
#include "worker/park.h"

/* Pipelined requests answered in a row before others get their turn. */
#define SERVE_TURN 16

struct serve_settings {
	struct request_limits request;
	struct conn_limits conn;
	int chunks_max;
	size_t chunk_size;
	int64_t flush_delay_us;
	int64_t keepalive_us; /* 0: one request per connection */
	uint64_t max_requests; /* with the jitter in it; 0: none */
	struct allow trusted; /* forwarded-allow-ips */
	enum proxy_mode proxy; /* what they begin a connection with */
};

struct serve {
	struct serve_settings settings;
	struct conn conn;
	struct conn_hooks hooks;
	struct flusher flusher;
	struct request request;
	struct response response;
	struct api api;
	struct forwarded forwarded; /* what a trusted proxy said */
	struct app app;
	struct access_log access;
	struct park *park;
	struct board_slot *board;
	const struct conn_peer *bound; /* of each listener; len 0: a wildcard */
	int slot; /* where the connection in hand is parked, -1: nowhere yet */
	int listener; /* which one it came from */
	bool announced; /* its PROXY header has yet to come */
	bool nameless; /* that header did not name the client */
	bool doubtful; /* its client may be gone, for all that is known */
	int64_t slept_at; /* us: nobody was waiting then; 0: not known yet */
	int answered; /* of its requests, in this turn */
	uint64_t drain_end; /* of an unread body: bytes received by then */
	uint64_t served;
	bool retiring; /* every response says close */
};

/* -1 with errno.  The settings are copied; access_fd -1: no access log. */
int serve_init(struct serve *s, const struct serve_settings *settings,
	const struct api_settings *lookups, struct park *park,
	struct board_slot *board, int access_fd, const char *access_format);
void serve_done(struct serve *s);

/* Load the application (app.h); -1 with the reason logged. */
int serve_open_app(struct serve *s, const char *spec);

/* A connection was accepted.  Returns true if it ended up parked. */
bool serve_new(struct serve *s, int listener, int fd,
	const struct sockaddr_storage *peer, socklen_t len);

/* A parked connection can be read; its client may have ended its side. */
void serve_ready(struct serve *s, int slot, bool ended);

/* One turn for each parked connection whose next request is here already. */
void serve_turns(struct serve *s);

/* A parked connection's deadline has passed (and its socket was looked at). */
void serve_overdue(struct serve *s, int slot);

/* Is a message on the leash, or on its way, that it shall retire? */
bool serve_is_told_to_leave(const struct serve *s);

/* Has it served as many requests as max-requests lets it? */
bool serve_is_worn_out(const struct serve *s);

#endif
