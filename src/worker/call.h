/*
 * call.h -- may this call of the application be made now?
 *
 * An application that gets it wrong is told so by -1, errno and a log line;
 * what comes from the client (a lost connection, a broken body) is an error
 * without a line.
 */
#ifndef WORKER_CALL_H
#define WORKER_CALL_H

#include "worker/api.h"

/* Logs; always -1, so that a caller can return it. */
int call_misuse(const char *call, int error, const char *why);

/* Bytes no object can have, or none where there should be some? */
bool call_is_bad_range(const void *p, size_t n);

struct api *call_server(nw_server *s);

/* For what only looks: the api of the request in hand, or NULL, EBADF. */
struct api *call_in_hand(nw_request *r, const char *call);

/*
 * Begin a call that acts on the connection or the response.  It may wait and
 * call back (hooks, releases); a call made from there finds us busy.  NULL with
 * EBADF (not in hand, or in a fork of the application's) or EBUSY.
 */
struct api *call_enter(nw_request *r, const char *call);

/* The same for a call that needs nw_start first: NULL with EINVAL too. */
struct api *call_enter_started(nw_request *r, const char *call);

/* End it; returns r. */
int call_leave(struct api *a, int r);

static inline nw_str
call_to_nw(struct str s)
{
	nw_str n = {s.p, s.len};

	return n;
}

static inline struct str
call_from_nw(nw_str n)
{
	struct str s = {n.p, n.len};

	return s;
}

#endif
