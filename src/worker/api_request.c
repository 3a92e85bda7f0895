/*
 * api_request.c -- the half of narwhal/app.h that asks about the request.
 *
 * What the head says is answered from request.h's views; only lists of fields
 * are made, once, in the request's arena.  A body that breaks off is an error
 * of the call and, where the client is to blame, the end of the response.
 */
#include "worker/api.h"

#include <errno.h>

#include "worker/call.h"

#define NO_STR ((struct str){NULL, 0})

/* ---- the request's head ---- */

static nw_str
method(nw_request *r)
{
	struct api *a = call_in_hand(r, "nw_method");

	return call_to_nw(a ? a->request->head.method : NO_STR);
}

static nw_str
target(nw_request *r)
{
	struct api *a = call_in_hand(r, "nw_target");

	return call_to_nw(a ? a->request->head.target : NO_STR);
}

static nw_str
path(nw_request *r)
{
	struct api *a = call_in_hand(r, "nw_path");

	return call_to_nw(a ? a->request->target.path : NO_STR);
}

/* p is NULL without a '?', and is not with an empty query. */
static nw_str
query(nw_request *r)
{
	struct api *a = call_in_hand(r, "nw_query");

	if (a == NULL || !a->request->target.has_query)
		return call_to_nw(NO_STR);
	if (a->request->target.query.p == NULL)
		return call_to_nw(STR(""));
	return call_to_nw(a->request->target.query);
}

static nw_str
scheme(nw_request *r)
{
	struct api *a = call_in_hand(r, "nw_scheme");

	return call_to_nw(a ? a->scheme : NO_STR);
}

/* request.c has put the authority of an absolute form there. */
static nw_str
host(nw_request *r)
{
	struct api *a = call_in_hand(r, "nw_host");
	const struct str *s =
		a ? head_get(&a->request->head, STR("host")) : NULL;

	return call_to_nw(s ? *s : NO_STR);
}

static int
minor_version(nw_request *r)
{
	struct api *a = call_in_hand(r, "nw_minor_version");

	return a ? a->request->head.minor : -1;
}

static nw_str
peer(nw_request *r, int *ret_port)
{
	struct api *a = call_in_hand(r, "nw_peer");

	if (ret_port)
		*ret_port = a ? a->peer_port : 0;
	return call_to_nw(a ? a->peer : NO_STR);
}

static nw_str
local(nw_request *r, int *ret_port)
{
	struct api *a = call_in_hand(r, "nw_local");
	const struct conn_peer *p = a ? conn_local(a->conn) : NULL;

	if (ret_port)
		*ret_port = p ? p->port : 0;
	return call_to_nw(p ? str_of(p->addr) : NO_STR);
}

/* Fields in the application's type, for as long as the request. */
static nw_field *
convert(struct api *a, const struct head *h)
{
	nw_field *f = arena_alloc(&a->request->arena, h->nfields * sizeof(*f));
	size_t i;

	for (i = 0; f && i < h->nfields; i++) {
		f[i].name = call_to_nw(h->fields[i].name);
		f[i].value = call_to_nw(h->fields[i].value);
	}
	return f;
}

static const nw_field *
fields(nw_request *r, size_t *ret_n)
{
	struct api *a = call_in_hand(r, "nw_fields");

	if (a && a->fields == NULL && a->request->head.nfields)
		a->fields = convert(a, &a->request->head);
	if (ret_n)
		*ret_n = a && a->fields ? a->request->head.nfields : 0;
	return a ? a->fields : NULL;
}

static int
field(nw_request *r, nw_str name, nw_str *ret_value)
{
	struct api *a = call_in_hand(r, "nw_field_get");
	const struct str *s =
		a ? head_get(&a->request->head, call_from_nw(name)) : NULL;

	if (ret_value)
		*ret_value = call_to_nw(s ? *s : NO_STR);
	return s != NULL;
}

static void *
alloc(nw_request *r, size_t n)
{
	struct api *a = call_in_hand(r, "nw_alloc");

	if (a == NULL)
		return NULL;
	if (n > PTRDIFF_MAX) {
		errno = ENOMEM;
		return NULL;
	}
	return arena_alloc(&a->request->arena, n ? n : 1);
}

/* ---- the request's body ---- */

/*
 * A body that breaks off leaves the connection without a place where the next
 * request could begin; a fault of the client's also has its own answer.
 */
static void
body_failed(struct api *a)
{
	int saved = errno;

	if (a->request->fault && !a->response->refused)
		response_refuse(a->response, a->request->fault);
	response_must_close(a->response);
	errno = saved;
}

static ssize_t
read_body(nw_request *r, void *p, size_t n)
{
	struct api *a;
	ssize_t got;

	if (call_is_bad_range(p, n))
		return call_misuse("nw_read", EINVAL, "a bad buffer");
	a = call_enter(r, "nw_read");
	if (a == NULL)
		return -1;
	got = n ? request_read_body(a->request, p, n) : 0;
	if (got == -1)
		body_failed(a);
	call_leave(a, 0);
	return got;
}

static void
stays_put(void *block)
{
	(void)block;
}

/*
 * A block of the body goes out.  If more may follow, at once: that spares the
 * copy, and a client that waits for its echo before it goes on gets it.  The
 * last one waits for the end, so that a short body gets a length.
 */
static int
pass_block(struct api *a, const char *p, size_t n)
{
	if (request_body_left(a->request) == 0)
		return response_write(a->response, p, n, NULL, NULL);
	if (response_write(a->response, p, n, stays_put, NULL) == -1)
		return -1;
	return response_flush(a->response);
}

static int
pass_body(nw_request *r)
{
	struct api *a = call_enter_started(r, "nw_pass_body");
	const char *p;
	ssize_t n;

	if (a == NULL)
		return -1;
	while ((n = request_next_block(a->request, &p)) > 0)
		if (pass_block(a, p, (size_t)n) == -1)
			return call_leave(a, -1);
	if (n == -1)
		body_failed(a);
	return call_leave(a, (int)n);
}

static int64_t
content_length(nw_request *r)
{
	struct api *a = call_in_hand(r, "nw_content_length");

	return a ? request_content_length(a->request) : -1;
}

static int64_t
body_left(nw_request *r)
{
	struct api *a = call_in_hand(r, "nw_body_left");

	return a ? request_body_left(a->request) : -1;
}

static const nw_field *
trailers(nw_request *r, size_t *ret_n)
{
	struct api *a = call_in_hand(r, "nw_trailers");
	const struct head *h =
		a && a->request->done ? &a->request->trailers : NULL;

	if (h && a->trailers == NULL && h->nfields)
		a->trailers = convert(a, h);
	if (ret_n)
		*ret_n = h && a->trailers ? h->nfields : 0;
	return h ? a->trailers : NULL;
}

void
api_request_fill(nw_api *t)
{
	t->method = method;
	t->target = target;
	t->path = path;
	t->query = query;
	t->scheme = scheme;
	t->host = host;
	t->minor_version = minor_version;
	t->peer = peer;
	t->local = local;
	t->fields = fields;
	t->field = field;
	t->trailers = trailers;
	t->content_length = content_length;
	t->body_left = body_left;
	t->read = read_body;
	t->pass_body = pass_body;
	t->alloc = alloc;
}
