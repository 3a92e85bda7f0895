/*
 * exchange.c -- one request and its response.
 *
 * From a complete head to the end of the response, and what is counted and
 * written down of it.  What the connection does next is serve.c's.
 */
#include "worker/exchange.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "proc/signals.h"

/* Most of an unread body that is dropped to keep a connection. */
#define DRAIN_MAX (256 * 1024)
#define DRAIN_US (2 * 1000000)

/* A client that had to wait for longer may have given up. */
#define PATIENCE_US 100000

bool
exchange_may_keep(void *arg)
{
	struct serve *s = arg;

	return !s->retiring && !s->request.expects && !serve_is_worn_out(s) &&
		!atomic_load(&s->board->leaving) && !signals_pending(SIGTERM) &&
		!request_is_broken(&s->request) &&
		!(s->answered == SERVE_TURN - 1 &&
			request_is_overfed(&s->request));
}

/* ---- after a response ---- */

static struct str
response_field_of(const void *arg, struct str name)
{
	return response_field(arg, name);
}

static void
write_access(struct serve *s, int64_t began)
{
	const struct request *r = &s->request;
	bool has_head = r->head_len > 0;
	struct access_entry e = {
		.peer = s->api.peer,
		.line = request_line(r),
		.head = has_head ? &r->head : NULL,
		.path = has_head ? r->target.raw_path : (struct str){0},
		.query = has_head ? r->target.query : (struct str){0},
		.status = s->response.status,
		.body_bytes = response_body_bytes(&s->response),
		.micros = clock_us() - began,
		.peak_chunks = response_peak_chunks(&s->response),
		.blocked_out_us = s->conn.blocked_out_us,
		.blocked_in_us = s->conn.blocked_in_us,
		.response_field = response_field_of,
		.arg = &s->response,
	};

	access_write(&s->access, &e);
}

static void
add_up(_Atomic uint64_t *sum, uint64_t n)
{
	/* This worker is the only writer: no locked instruction is needed. */
	atomic_store_explicit(sum,
		atomic_load_explicit(sum, memory_order_relaxed) + n,
		memory_order_relaxed);
}

static void
count(struct serve *s)
{
	add_up(&s->board->requests, 1);
	add_up(&s->board->bytes_in, s->request.received);
	add_up(&s->board->bytes_out, response_body_bytes(&s->response));
	add_up(&s->board->blocked_in_us, s->conn.blocked_in_us);
	add_up(&s->board->blocked_out_us, s->conn.blocked_out_us);
}

/* ---- one request ---- */

/* Some more of a body nobody reads, while a send waits. */
static bool
drain_some(void *arg)
{
	struct serve *s = arg;
	struct request *r = &s->request;

	return r->received < s->drain_end &&
		!request_drain(r, s->drain_end - r->received, 0) &&
		r->fault == 0 && r->received < s->drain_end;
}

/*
 * The application is done; may the connection go on although some of the body
 * was not read?  Decided before the response ends, so that its head tells.
 */
static void
judge_unread_body(struct serve *s)
{
	struct request *r = &s->request;

	if (r->done)
		return;
	s->drain_end = r->received + DRAIN_MAX;
	if (r->fault || r->expects || request_body_left(r) > DRAIN_MAX) {
		response_must_close(&s->response);
		s->drain_end = UINT64_MAX; /* as lingering does */
	}
	s->conn.drain = drain_some;
	s->conn.drain_arg = s;
}

static bool
drain_body(struct serve *s)
{
	s->conn.drain = NULL;
	return s->request.done ||
		request_drain(&s->request, DRAIN_MAX, clock_us() + DRAIN_US);
}

static void
begin_response(struct serve *s, bool keep_alive)
{
	const struct response_facts facts = {
		.head_only = str_eq(s->request.head.method, STR("HEAD")),
		.minor = s->request.head.minor,
		.keep_alive = keep_alive && s->settings.keepalive_us > 0,
		.te_trailers = s->request.framing.te_trailers,
	};

	conn_reset(&s->conn);
	response_begin(&s->response, &facts);
	api_reset(&s->api);
}

/* The client's address and scheme as a trusted proxy gives them. */
static void
believe_proxy(struct serve *s)
{
	s->api.scheme = s->forwarded.scheme;
	if (s->forwarded.addr.p) {
		s->api.peer = s->forwarded.addr;
		s->api.peer_port = s->forwarded.port;
	}
}

/*
 * A client that asked for the close has nothing more to say, so nothing can
 * come that would turn our close into a reset; but some end a body with a CRLF
 * that is not part of it, and that is unread.
 */
static bool
is_over(const struct serve *s)
{
	return s->request.done && !s->request.framing.keep_alive &&
		!request_has_more(&s->request) && fd_unread(s->conn.fd) == 0;
}

/* Has the client left while the worker was busy with others? */
static bool
is_deserted(struct serve *s, int64_t now)
{
	if (!s->doubtful || now - s->slept_at < PATIENCE_US ||
		!conn_is_deserted(&s->conn))
		return false;
	log_debug("the client left before its turn came: %.*s",
		(int)s->request.head.target.len, s->request.head.target.p);
	return true;
}

enum fate
exchange_answer(struct serve *s)
{
	int64_t began = clock_us();
	bool failed, keep;

	begin_response(s, s->request.framing.keep_alive);
	if (is_deserted(s, began)) {
		flusher_close(&s->flusher);
		return FATE_CLOSE;
	}
	s->doubtful = false;
	s->served++;
	believe_proxy(s);
	board_set_request(s->board, s->request.head.method,
		s->request.head.target, s->api.peer, began);
	conn_app_begins(&s->conn);
	failed = app_handle(&s->app, &s->api.handle) == -1;
	conn_app_ends(&s->conn);
	api_end(&s->api);

	judge_unread_body(s);
	keep = response_end(&s->response, failed);
	if (s->access.fd != -1)
		write_access(s, began);
	count(s);
	board_end_request(s->board);
	keep = keep && drain_body(s);
	s->conn.drain = NULL;
	if (keep)
		return FATE_NEXT;
	return is_over(s) ? FATE_CLOSE : FATE_LINGER;
}

enum fate
exchange_refuse(struct serve *s, int status)
{
	int64_t began = clock_us();

	begin_response(s, false);
	response_must_close(&s->response);
	api_end(&s->api);
	response_refuse(&s->response, status);
	response_end(&s->response, false);
	if (s->access.fd != -1)
		write_access(s, began);
	return FATE_LINGER;
}
