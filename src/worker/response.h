/*
 * response.h -- the response in hand.
 *
 * Turns what the application says into bytes of the queue and keeps it to its
 * word: fields are checked, a declared length is enforced, the head goes out
 * once.  Committed means: the first body byte was accepted, or a flush or the
 * end came.
 */
#ifndef WORKER_RESPONSE_H
#define WORKER_RESPONSE_H

#include "base/buf.h"
#include "worker/conn.h"

/* What a response must know of its request. */
struct response_facts {
	bool head_only; /* HEAD */
	int minor; /* HTTP/1.minor of the request */
	bool keep_alive; /* the connection may go on */
	bool te_trailers; /* TE: trailers */
};

struct response {
	struct conn *conn;
	struct response_facts facts;

	/*
	 * Asked when the response is committed and when it ends: the worker
	 * may have been told to retire meanwhile.  Set by the owner, NULL: it
	 * may.
	 */
	bool (*may_keep)(void *arg);
	void *may_keep_arg;

	int status; /* 0: not started */
	bool has_date, has_server, has_length;
	uint64_t length; /* declared */
	uint64_t written; /* body bytes accepted (HEAD: discarded) */
	bool body_allowed; /* not HEAD, 204, 205, 304 */
	bool committed;
	bool ended;
	bool close; /* this response says Connection: close */
	bool cut; /* the end is not sent: no keep-alive */
	bool refused; /* an error replaces what the application says */
	bool warned; /* about too many bytes, once */
	int error; /* errno the client's side failed with, 0 */
	struct buf page; /* the server's own: an error, an interim response */
};

int response_init(struct response *r, struct conn *conn);
void response_done(struct response *r);

/* The next request.  The flusher is opened on the connection's socket. */
void response_begin(struct response *r, const struct response_facts *facts);

/*
 * The calls of narwhal/app.h, with its errors.  A name or value that is
 * refused is named in a log line.
 */
int response_start(struct response *r, int status, struct str reason);
int response_add_field(struct response *r, struct str name, struct str value);
int response_add_trailer(struct response *r, struct str name, struct str value);
int response_write(struct response *r, const void *p, size_t n,
	void (*release)(void *), void *arg);
int response_send_file(struct response *r, int fd, off_t off, size_t n);
int response_flush(struct response *r);

/*
 * An interim response: `HTTP/1.1 103 Early Hints` with these lines, or 100.
 * Nothing to an HTTP/1.0 client.  Too late once the head has begun to go out:
 * then EALREADY, but for 100, which is silently left out.
 */
int response_send_interim(struct response *r, int status, struct str lines);

/* From now on the response cannot promise to keep the connection. */
void response_must_close(struct response *r);

/*
 * Replace the response by the server's own page for this status, if it is not
 * committed; else cut it.  What the application says afterwards fails with
 * ECANCELED.  Nothing is sent before response_end().
 */
void response_refuse(struct response *r, int status);

/*
 * The application is done: commit, send all, release all.  With failed, 500
 * replaces an uncommitted response, and a committed one is cut.  A response
 * that was never started is a failure (500).  Returns true if the connection
 * can take another request.
 */
bool response_end(struct response *r, bool failed);

/* Value of the first field of that name in the head, for the access log. */
struct str response_field(const struct response *r, struct str name);

/* For the access log; valid until the next request. */
uint64_t response_body_bytes(const struct response *r);
int response_peak_chunks(const struct response *r);

#endif
