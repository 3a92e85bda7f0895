/*
 * serve.c -- from bytes on a connection to an answer.
 *
 * One connection is in hand at a time and everything here blocks, except for a
 * head: until that is complete, its connection goes back to the park, so that
 * a silent or dripping client holds nobody.
 */
#include "worker/exchange.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/io.h"
#include "base/log.h"

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
	s->response.may_keep = exchange_may_keep;
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
		s->park->slots[s->slot].nameless = s->nameless;
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
		s->nameless = source.version == 0;
		if (!s->nameless)
			set_source(s, &source);
	}
	return true;
}

/*
 * A peer that does not know whom it speaks for cannot vouch for the fields: the
 * client itself may have written them.
 */
static int
read_forwarded(struct serve *s)
{
	static const struct allow nobody;
	const struct request *r = &s->request;

	return forwarded_read(s->nameless ? &nobody : &s->settings.trusted,
		(const struct sockaddr *)&s->conn.peer.sa, &r->head, &r->target,
		&s->forwarded);
}

/* ---- the way of a connection ---- */

/* Take the connection in hand as far as it goes. */
static enum fate
go_on(struct serve *s)
{
	struct request *r = &s->request;
	enum fate fate;
	ssize_t got;
	int status;

	for (;;) {
		if (s->announced && !read_proxy(s))
			return FATE_CLOSE;
		status = s->announced ? 0 : request_read_head(r);
		if (status == 0 && r->head_len > 0)
			status = read_forwarded(s);
		if (status > 0)
			return exchange_refuse(s, status);
		if (r->head_len > 0) {
			fate = exchange_answer(s);
			if (fate != FATE_NEXT)
				return fate;
			request_next(r);
			if (r->len == 0)
				return FATE_NEXT;
			if (++s->answered == SERVE_TURN)
				return request_is_overfed(r) ? FATE_LINGER
							     : FATE_TURN_OVER;
			begin_anew(s);
			continue;
		}
		got = request_receive_head(r);
		if (got == -1 && errno == EAGAIN)
			return s->answered && strict_is_blank(&r->strict)
				? FATE_NEXT
				: FATE_UNFINISHED;
		if (got == 0 && r->len > 0 && !s->announced &&
			!strict_is_blank(&r->strict))
			return exchange_refuse(
				s, 400); /* half a head, half a close */
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
	s->answered = 0;
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
	s->nameless = false;
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
	s->nameless = p->nameless;
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
		lay_aside(
			s, s->announced ? FATE_CLOSE : exchange_refuse(s, 408));
		break;
	case PARK_LINGER:
		park_linger_on(s->park, slot, clock_us());
		break;
	default:
		park_close(s->park, slot);
	}
}
