/*
 * serve.c -- from bytes on a connection to an answer.
 *
 * One connection is in hand at a time and everything here blocks, except for a
 * head: until that is complete, its connection goes back to the park, so that
 * a silent or dripping client holds nobody.
 */
#include "worker/serve.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/io.h"
#include "base/log.h"
#include "proc/signals.h"

/* What becomes of the connection in hand. */
enum fate {
	FATE_NEXT, /* another request may follow */
	FATE_TURN_OVER, /* another has followed, but others are to be served */
	FATE_UNFINISHED, /* its head is not complete */
	FATE_LINGER, /* answered for the last time */
	FATE_CLOSE
};

/*
 * May the response that is about to be committed promise to keep the
 * connection?  Asked as late as possible: the order to retire may have come
 * while the application worked.  A client that was not told to send its body
 * may do so after a final response, or not (RFC 9110 10.1.1): nobody could
 * tell where its next request begins.
 */
static bool
may_keep(void *arg)
{
	struct serve *s = arg;

	return !s->retiring && !s->request.expects && !serve_is_worn_out(s) &&
		!atomic_load(&s->board->leaving) && !signals_pending(SIGTERM);
}

int
serve_init(struct serve *s, const struct serve_settings *settings,
	const struct api_settings *lookups, struct park *park,
	struct board_slot *board, int access_fd, const char *access_format)
{
	memset(s, 0, sizeof(*s));
	s->settings = *settings;
	s->park = park;
	s->board = board;
	s->slot = -1;
	s->conn.fd = -1;
	s->conn.limits = &s->settings.conn;
	s->conn.hooks = &s->hooks;
	s->conn.flusher = &s->flusher;
	s->conn.board = board;
	if (flusher_init(&s->flusher, settings->chunks_max,
		    settings->chunk_size, settings->flush_delay_us) == -1 ||
		request_init(&s->request, &s->settings.request, &s->conn) ==
			-1 ||
		response_init(&s->response, &s->conn) == -1 ||
		access_init(&s->access, access_fd, access_format) == -1)
		return -1;
	s->response.may_keep = may_keep;
	s->response.may_keep_arg = s;
	api_init(&s->api, &s->request, &s->response, &s->conn, &s->hooks,
		lookups);
	return 0;
}

void
serve_done(struct serve *s)
{
	access_done(&s->access);
	response_done(&s->response);
	request_done(&s->request);
	flusher_done(&s->flusher);
}

int
serve_open_app(struct serve *s, const char *spec)
{
	int r;

	s->api.opening = true;
	r = app_open(&s->app, spec, &s->api.server);
	s->api.opening = false;
	return r;
}

bool
serve_is_told_to_leave(const struct serve *s)
{
	return !s->retiring && atomic_load(&s->board->leaving);
}

bool
serve_is_worn_out(const struct serve *s)
{
	return s->settings.max_requests > 0 &&
		s->served >= s->settings.max_requests;
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
	s->drain_end = r->received + SERVE_DRAIN_MAX;
	if (r->fault || r->expects || request_body_left(r) > SERVE_DRAIN_MAX) {
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
		request_drain(&s->request, SERVE_DRAIN_MAX,
			clock_us() + SERVE_DRAIN_US);
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

/* A client that had to wait for longer may have given up. */
#define PATIENCE_US 100000

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

/* Let the application answer the request in hand. */
static enum fate
answer(struct serve *s)
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

/* Answer what is no request, or none in time. */
static enum fate
refuse(struct serve *s, int status)
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

/* ---- the connection in hand ---- */

/* Park it in its slot, making one if it has none.  -1: it was closed. */
static int
need_slot(struct serve *s)
{
	if (s->slot == -1)
		s->slot = park_add(s->park, s->conn.fd, &s->conn.peer.sa,
			s->conn.peer.len);
	if (s->slot != -1) {
		s->park->slots[s->slot].listener = s->listener;
		s->park->slots[s->slot].announced = s->announced;
	} else {
		shutdown(s->conn.fd, SHUT_RDWR);
		fd_close(&s->conn.fd);
	}
	return s->slot;
}

/* Empty lines between requests are no head, and are forgotten. */
static bool
has_begun(const struct serve *s)
{
	return s->request.len > 0 &&
		(s->announced || s->park->slots[s->slot].state == PARK_HEAD ||
			!strict_is_blank(&s->request.strict));
}

static void
park_unfinished(struct serve *s)
{
	struct request *r = &s->request;
	int64_t now = clock_us();
	enum park_state state;

	if (need_slot(s) == -1)
		return;
	state = s->park->slots[s->slot].state;
	if (has_begun(s)) {
		if (park_head(s->park, s->slot, r->p, r->len, &r->strict,
			    now) == -1)
			park_close(s->park, s->slot);
	} else if (state == PARK_FREE || state == PARK_HEAD) {
		/* of a PARK_HEAD only the PROXY header had come */
		park_new(s->park, s->slot, now);
	} else if (state == PARK_READY) {
		park_idle(s->park, s->slot, now);
	}
}

/* What came of it goes with it. */
static void
park_ready_one(struct serve *s)
{
	struct iovec bytes[2];

	if (need_slot(s) == -1)
		return;
	request_kept(&s->request, bytes);
	if (park_ready(s->park, s->slot, bytes, &s->request.strict) == -1)
		park_close(s->park, s->slot);
}

static void
lay_aside(struct serve *s, enum fate fate)
{
	switch (fate) {
	case FATE_NEXT:
		if (need_slot(s) != -1)
			park_idle(s->park, s->slot, clock_us());
		break;
	case FATE_TURN_OVER:
		park_ready_one(s);
		break;
	case FATE_UNFINISHED:
		park_unfinished(s);
		break;
	case FATE_LINGER:
		if (need_slot(s) != -1)
			park_linger(s->park, s->slot, clock_us());
		break;
	case FATE_CLOSE:
		if (s->slot != -1) {
			park_close(s->park, s->slot);
		} else {
			shutdown(s->conn.fd, SHUT_RDWR);
			fd_close(&s->conn.fd);
		}
		break;
	}
	s->conn.fd = -1;
}

/* The deadline that stands in the slot was that of the head before. */
static void
begin_anew(struct serve *s)
{
	if (s->slot != -1)
		park_idle(s->park, s->slot, clock_us());
}

/* ---- the PROXY header ---- */

static void
set_source(struct serve *s, const struct proxy_source *p)
{
	struct sockaddr_storage sa = {.ss_family = AF_UNSPEC};
	struct sockaddr_in *v4 = (void *)&sa;
	struct sockaddr_in6 *v6 = (void *)&sa;
	socklen_t len;

	if (p->version == 4) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)p->port);
		memcpy(&v4->sin_addr, p->ip, 4);
		len = sizeof(*v4);
	} else {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)p->port);
		memcpy(&v6->sin6_addr, p->ip, 16);
		len = sizeof(*v6);
	}
	conn_set_peer(&s->conn, &sa, len);
	if (s->slot != -1)
		park_set_peer(s->park, s->slot, &sa, len);
}

static void
complain(const struct serve *s, const char *what)
{
	log_warning("connection of %s refused: %s",
		s->conn.peer.addr[0] ? s->conn.peer.addr : "a unix socket",
		what);
}

/* False: it is none; the connection has to be closed. */
static bool
read_proxy(struct serve *s)
{
	struct request *r = &s->request;
	struct proxy_source source;
	int n = proxy_read(s->settings.proxy, r->p, r->len, &source);

	if (n == -1) {
		complain(s, "it does not begin with a PROXY header");
		return false;
	}
	if (n > 0) {
		s->announced = false;
		request_skip(r, (size_t)n);
		if (source.version)
			set_source(s, &source);
	}
	return true;
}

/* ---- the way of a connection ---- */

/* Take the connection in hand as far as it goes. */
static enum fate
go_on(struct serve *s)
{
	struct request *r = &s->request;
	enum fate fate;
	ssize_t got;
	int status, answered = 0;

	for (;;) {
		if (s->announced && !read_proxy(s))
			return FATE_CLOSE;
		status = s->announced ? 0 : request_read_head(r);
		if (status == 0 && r->head_len > 0)
			status = forwarded_read(&s->settings.trusted,
				(struct sockaddr *)&s->conn.peer.sa, &r->head,
				&r->target, &s->forwarded);
		if (status > 0)
			return refuse(s, status);
		if (r->head_len > 0) {
			fate = answer(s);
			if (fate != FATE_NEXT)
				return fate;
			request_next(r);
			if (r->len == 0)
				return FATE_NEXT;
			if (++answered == SERVE_TURN)
				return FATE_TURN_OVER;
			begin_anew(s);
			continue;
		}
		got = request_receive_head(r);
		if (got == -1 && errno == EAGAIN)
			return answered && strict_is_blank(&r->strict)
				? FATE_NEXT
				: FATE_UNFINISHED;
		if (got == 0 && r->len > 0 && !s->announced &&
			!strict_is_blank(&r->strict))
			return refuse(s, 400); /* half a head, half a close */
		if (got <= 0)
			return FATE_CLOSE;
	}
}

static void
take_in_hand(struct serve *s, int slot, int listener, int fd,
	const struct sockaddr_storage *peer, socklen_t len)
{
	s->slot = slot;
	s->listener = listener;
	conn_take(&s->conn, fd, peer, len);
	if (s->bound[listener].len > 0)
		s->conn.bound = &s->bound[listener];
	request_reset(&s->request);
}

bool
serve_new(struct serve *s, int listener, int fd,
	const struct sockaddr_storage *peer, socklen_t len)
{
	take_in_hand(s, -1, listener, fd, peer, len);
	s->doubtful = true;
	s->announced = s->settings.proxy != PROXY_OFF;
	if (s->announced &&
		!allow_has_peer(
			&s->settings.trusted, (const struct sockaddr *)peer)) {
		complain(s, "no peer of forwarded-allow-ips");
		lay_aside(s, FATE_CLOSE);
	} else {
		lay_aside(s, go_on(s));
	}
	return s->slot != -1;
}

static void
take_parked(struct serve *s, int slot)
{
	struct park_slot *p = &s->park->slots[slot];
	struct sockaddr_storage peer;

	memcpy(&peer, &p->peer, sizeof(p->peer));
	take_in_hand(s, slot, p->listener, p->fd, &peer, p->peer_len);
	s->announced = p->announced;
	s->doubtful = false;
	if (p->state == PARK_HEAD || p->state == PARK_READY)
		request_resume(&s->request, p->head->p, p->head->len,
			&p->head->strict);
}

/* Drop what an answered client still sends, until it closes. */
static void
listen_on(struct serve *s, int slot)
{
	static char sink[16 * 1024];
	struct iovec iov = {sink, sizeof(sink)};
	ssize_t got = io_recvv(s->park->slots[slot].fd, &iov, 1, MSG_DONTWAIT);

	if (got == 0 || (got == -1 && errno != EAGAIN))
		park_close(s->park, slot);
}

void
serve_ready(struct serve *s, int slot, bool ended)
{
	switch (s->park->slots[slot].state) {
	case PARK_FREE: /* closed since epoll spoke of it */
	case PARK_READY: /* its turn comes anyway */
	case PARK_STATES:
		break;
	case PARK_LINGER:
		listen_on(s, slot);
		break;
	case PARK_NEW:
	case PARK_IDLE:
	case PARK_HEAD:
		take_parked(s, slot);
		s->doubtful = ended;
		lay_aside(s, go_on(s));
		break;
	}
}

void
serve_turns(struct serve *s)
{
	int n = s->park->lists[PARK_READY].n, slot;

	while (n-- > 0 && (slot = park_next_ready(s->park)) != -1) {
		take_parked(s, slot);
		lay_aside(s, go_on(s));
	}
}

void
serve_overdue(struct serve *s, int slot)
{
	switch (s->park->slots[slot].state) {
	case PARK_HEAD:
		take_parked(s, slot);
		lay_aside(s, s->announced ? FATE_CLOSE : refuse(s, 408));
		break;
	case PARK_LINGER:
		park_linger_on(s->park, slot, clock_us());
		break;
	default:
		park_close(s->park, slot);
	}
}
