/*
 * call.c -- may this call of the application be made now?
 *
 * The handles live as long as the worker, so a stale one is told by whether a
 * request is in hand, and calling through it is never a crash.
 */
#include "worker/call.h"

#include <errno.h>
#include <stddef.h>

#include "base/log.h"
#include "worker/forkguard.h"

int
call_misuse(const char *call, int error, const char *why)
{
	log_error("the application called %s wrongly: %s", call, why);
	errno = error;
	return -1;
}

bool
call_is_bad_range(const void *p, size_t n)
{
	return n > PTRDIFF_MAX || (p == NULL && n > 0);
}

struct api *
call_server(nw_server *s)
{
	return (struct api *)((char *)s - offsetof(struct api, server));
}

struct api *
call_in_hand(nw_request *r, const char *call)
{
	struct api *a = call_server(r->server);

	if (a->handling)
		return a;
	call_misuse(call, EBADF, "handle has returned");
	return NULL;
}

struct api *
call_enter(nw_request *r, const char *call)
{
	struct api *a = call_in_hand(r, call);

	if (a == NULL)
		return NULL;
	if (forkguard_is_child()) {
		call_misuse(call, EBADF, "this process is not the worker");
		return NULL;
	}
	if (a->busy) {
		call_misuse(call, EBUSY, "another call has not returned");
		return NULL;
	}
	a->busy = true;
	return a;
}

/*
 * Where an error has replaced the response, order is no longer the
 * application's fault: response.c says ECANCELED.
 */
struct api *
call_enter_started(nw_request *r, const char *call)
{
	struct api *a = call_enter(r, call);

	if (a == NULL || a->response->status != 0 || a->response->refused)
		return a;
	call_leave(a, call_misuse(call, EINVAL, "nw_start comes first"));
	return NULL;
}

int
call_leave(struct api *a, int r)
{
	a->busy = false;
	return r;
}
