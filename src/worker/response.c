/*
 * response.c -- the response in hand.
 *
 * Lines go straight into the queue's head buffer, bodies into its entries; the
 * queue decides about the framing, the flusher and conn.c send.  What this file
 * sees to is that the application keeps its word.
 *
 * Until the response is committed the flush thread does not look at the head,
 * so lines are added without the lock.
 */
#include "worker/response.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/framing.h"
#include "http/status.h"
#include "http/strict.h"

static struct queue *
queue(const struct response *r)
{
	return &r->conn->flusher->queue;
}

static int
fail(int error)
{
	errno = error;
	return -1;
}

int
response_init(struct response *r, struct conn *conn)
{
	*r = (struct response){.conn = conn};
	return buf_reserve(&r->page, 128);
}

void
response_done(struct response *r)
{
	buf_done(&r->page);
}

/* A buffer for its bytes is all that a response keeps from the one before. */
void
response_begin(struct response *r, const struct response_facts *facts)
{
	struct response old = *r;

	*r = (struct response){.conn = old.conn,
		.page = old.page,
		.may_keep = old.may_keep,
		.may_keep_arg = old.may_keep_arg,
		.facts = *facts};
	flusher_open(r->conn->flusher, r->conn->fd);
}

/* May the application still say something? */
static int
check(const struct response *r)
{
	if (r->refused)
		return fail(ECANCELED);
	if (r->error)
		return fail(r->error);
	return r->ended ? fail(EALREADY) : 0;
}

static int
check_started(const struct response *r)
{
	if (check(r) == -1)
		return -1;
	return r->status ? 0 : fail(EINVAL);
}

/* A send failed with errno: nothing of this response can go out any more. */
static int
client_lost(struct response *r)
{
	r->error = errno == EPIPE ? ECONNRESET : errno;
	flusher_drop(r->conn->flusher);
	return fail(r->error);
}

/* ---- status and fields ---- */

static void
add_line(struct buf *b, struct str name, struct str value)
{
	buf_add_str(b, name);
	buf_add_str(b, STR(": "));
	buf_add_str(b, value);
	buf_add_str(b, STR("\r\n"));
}

static void
start(struct response *r, int status, struct str reason)
{
	struct buf *b = &queue(r)->head;

	queue_clear_lines(queue(r));
	buf_add_str(b, STR("HTTP/1.1 "));
	buf_add_u64(b, (uint64_t)status);
	buf_add_char(b, ' ');
	buf_add_str(b, reason.len ? reason : status_reason(status));
	buf_add_str(b, STR("\r\n"));
	r->status = status;
	r->has_date = r->has_server = r->has_length = false;
	r->body_allowed = !r->facts.head_only && status_has_body(status);
}

int
response_start(struct response *r, int status, struct str reason)
{
	if (check(r) == -1)
		return -1;
	if (r->committed)
		return fail(EALREADY);
	if (status < 200 || status > 599 || !strict_is_value(reason)) {
		log_error("application: status %d refused: %s", status,
			strict_is_value(reason)
				? "not from 200 to 599"
				: "control bytes in its reason");
		return fail(EINVAL);
	}
	start(r, status, reason);
	return 0;
}

static int
refuse_field(struct str name, const char *why)
{
	log_error("application: field '%.*s' refused: %s",
		(int)(name.len < 100 ? name.len : 100), name.p, why);
	return fail(EINVAL);
}

/* What holds for fields and trailers alike. */
static int
check_line(struct str name, struct str value)
{
	if (!strict_is_token(name))
		return refuse_field(name, "the name is not a token");
	if (!strict_is_value(value))
		return refuse_field(name, "control bytes in its value");
	if (framing_is_hop_by_hop(name))
		return refuse_field(name, "it is the server's to send");
	return 0;
}

static int
note_length(struct response *r, struct str name, struct str value)
{
	if (r->has_length)
		return refuse_field(name, "it was given before");
	if (str_to_u64(value, &r->length) == -1)
		return refuse_field(name, "its value is not a length");
	r->has_length = true;
	return 0;
}

/* Fields that the server would send, or must know; -1 if it is refused. */
static int
note_field(struct response *r, struct str name, struct str value)
{
	if (str_eq_nocase(name, STR("Content-Length")))
		return note_length(r, name, value);
	if (str_eq_nocase(name, STR("Date")))
		r->has_date = true;
	else if (str_eq_nocase(name, STR("Server")))
		r->has_server = true;
	return 0;
}

int
response_add_field(struct response *r, struct str name, struct str value)
{
	struct buf *b = &queue(r)->head;
	bool had_length = r->has_length;

	if (check_started(r) == -1)
		return -1;
	if (r->committed)
		return fail(EALREADY);
	value = str_trim(value);
	if (check_line(name, value) == -1 || note_field(r, name, value) == -1)
		return -1;
	/* RFC 9110 8.6, 15.3.6: a 204 has none, a 205 has our own */
	if ((r->status == 204 || r->status == 205) && r->has_length &&
		!had_length)
		return 0;
	add_line(b, name, value);
	return b->failed ? fail(ENOMEM) : 0;
}

int
response_add_trailer(struct response *r, struct str name, struct str value)
{
	if (check_started(r) == -1)
		return -1;
	value = str_trim(value);
	if (check_line(name, value) == -1)
		return -1;
	/* RFC 9110 6.5.1: too late for what says how to read the message */
	if (str_eq_nocase(name, STR("Content-Length")) ||
		str_eq_nocase(name, STR("Host")))
		return refuse_field(name, "it cannot be a trailer");
	if (!r->facts.te_trailers)
		return 0;
	if (queue_reserve_trailer(queue(r), name.len + value.len + 4) == -1)
		return -1;
	add_line(&queue(r)->ending, name, value);
	return 0;
}

/*
 * Has something come up since the request began that ends the connection?  A
 * head that is gone has promised what it has promised.
 */
static void
ask_may_keep(struct response *r)
{
	struct flusher *f = r->conn->flusher;

	if (r->close || !r->may_keep || r->may_keep(r->may_keep_arg))
		return;
	flusher_lock(f);
	if (!f->queue.head_final) {
		r->close = true;
		f->queue.keep_alive = false;
	}
	flusher_unlock(f);
}

static enum queue_framing
framing(const struct response *r)
{
	if (!r->body_allowed)
		return QUEUE_NONE;
	return r->has_length ? QUEUE_LENGTH : QUEUE_UNDECIDED;
}

static int
commit(struct response *r)
{
	struct flusher *f = r->conn->flusher;
	int e;

	if (r->committed)
		return 0;
	ask_may_keep(r);
	if (!r->has_date)
		add_line(&f->queue.head, STR("Date"), clock_http_date());
	if (!r->has_server)
		buf_add_str(&f->queue.head, STR("Server: narwhal\r\n"));
	if (r->status == 205)
		buf_add_str(&f->queue.head, STR("Content-Length: 0\r\n"));
	flusher_lock(f);
	e = queue_set_head(&f->queue, framing(r), r->facts.minor,
		r->facts.keep_alive && !r->close);
	flusher_unlock(f);
	r->committed = e == 0;
	return e;
}

/* ---- the body ---- */

static int
give_back(void (*release)(void *), void *arg, int r)
{
	int saved = errno;

	if (release)
		release(arg);
	errno = saved;
	return r;
}

/* How much of n more bytes the declared length has room for. */
static size_t
room(const struct response *r, size_t n)
{
	uint64_t left = r->length - r->written;

	return r->body_allowed && r->has_length && left < n ? (size_t)left : n;
}

static int
too_much(struct response *r)
{
	if (!r->warned)
		log_warning("application: more body than its Content-Length "
			    "of %llu, the rest is not sent",
			(unsigned long long)r->length);
	r->warned = true;
	return fail(EMSGSIZE);
}

/* Send as rule 1 has it.  Called and left with the lock held. */
static int
send_some(struct response *r)
{
	struct flusher *f = r->conn->flusher;
	int e = 0;

	if (f->queue.chunks > f->queue.chunks_max) {
		flusher_unlock(f);
		e = conn_send(r->conn, f->queue.chunks_max, 0);
		flusher_lock(f);
	} else if (r->has_length && r->written == r->length) {
		e = flusher_push(f, 0);
	}
	return e == -1 ? -1 : flusher_schedule(f);
}

/* n bytes that were accepted. */
static int
send_body(struct response *r, const void *p, size_t n, void (*release)(void *),
	void *arg)
{
	struct flusher *f = r->conn->flusher;
	bool sent;
	int e, owned = 0;

	flusher_lock(f);
	queue_add(&f->queue, p, n, release, arg);
	e = send_some(r);
	if (e == 0 && !release)
		owned = queue_own(&f->queue);
	sent = f->queue.nsent > 0;
	flusher_unlock(f);
	/* no memory to keep them in: then they go out while we have them */
	if (owned == -1)
		e = conn_send(r->conn, 0, 0);
	if (e == -1)
		return client_lost(r);
	if (sent)
		flusher_release(f);
	return 0;
}

/* Of a body that is not to be sent only the head may wait. */
static int
discard(struct response *r)
{
	struct flusher *f = r->conn->flusher;
	int e;

	flusher_lock(f);
	e = flusher_schedule(f);
	flusher_unlock(f);
	return e == -1 ? client_lost(r) : 0;
}

/* May n more bytes be written?  *ret_n of them are accepted. */
static int
accept_body(struct response *r, size_t n, size_t *ret_n)
{
	if (check_started(r) == -1)
		return -1;
	*ret_n = room(r, n);
	if (*ret_n > 0 && commit(r) == -1)
		return -1;
	r->written += *ret_n;
	return 0;
}

int
response_write(struct response *r, const void *p, size_t n,
	void (*release)(void *), void *arg)
{
	size_t fit;
	int e;

	if (accept_body(r, n, &fit) == -1)
		return give_back(release, arg, -1);
	if (fit > 0 && r->body_allowed)
		e = send_body(r, p, fit, release, arg);
	else
		e = give_back(release, arg, fit > 0 ? discard(r) : 0);
	return e == 0 && fit < n ? too_much(r) : e;
}

static int
check_file(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return -1;
	return S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) ? 0 : fail(EINVAL);
}

static int
send_range(struct response *r, int fd, off_t off, size_t n)
{
	struct flusher *f = r->conn->flusher;

	flusher_lock(f);
	queue_range(&f->queue, n);
	flusher_unlock(f);
	if (conn_send(r->conn, 0, MSG_MORE) == -1 ||
		conn_send_file(r->conn, fd, off, n) == -1)
		return client_lost(r);
	flusher_release(f);
	return 0;
}

int
response_send_file(struct response *r, int fd, off_t off, size_t n)
{
	size_t fit;
	int e = 0;

	if (check_file(fd) == -1 || accept_body(r, n, &fit) == -1)
		return -1;
	if (fit > 0)
		e = r->body_allowed ? send_range(r, fd, off, fit) : discard(r);
	return e == 0 && fit < n ? too_much(r) : e;
}

int
response_flush(struct response *r)
{
	if (check_started(r) == -1 || commit(r) == -1)
		return -1;
	if (conn_send(r->conn, 0, 0) == -1)
		return client_lost(r);
	flusher_release(r->conn->flusher);
	return 0;
}

/* ---- what the server itself says ---- */

static int
queue_interim(struct response *r, int status, struct str lines)
{
	struct flusher *f = r->conn->flusher;
	int e;

	buf_reset(&r->page);
	buf_addf(&r->page, "HTTP/1.1 %d %.*s\r\n", status,
		STR_ARG(status_reason(status)));
	buf_add_str(&r->page, lines);
	buf_add_str(&r->page, STR("\r\n"));
	if (r->page.failed)
		return fail(ENOMEM);
	flusher_lock(f);
	e = queue_is_fresh(&f->queue)
		? queue_add_interim(&f->queue, buf_str(&r->page))
		: fail(EALREADY);
	flusher_unlock(f);
	return e;
}

int
response_send_interim(struct response *r, int status, struct str lines)
{
	if (check(r) == -1)
		return -1;
	if (r->facts.minor == 0)
		return 0;
	if (queue_interim(r, status, lines) == -1)
		return status == 100 && errno == EALREADY ? 0 : -1;
	return conn_send(r->conn, 0, 0) == -1 ? client_lost(r) : 0;
}

void
response_must_close(struct response *r)
{
	struct flusher *f = r->conn->flusher;

	r->close = true;
	flusher_lock(f);
	f->queue.keep_alive = false; /* heeded until the head goes out */
	flusher_unlock(f);
}

void
response_refuse(struct response *r, int status)
{
	r->refused = true;
	if (!r->committed)
		start(r, status, STR(""));
}

/* The status and its reason, in the place of what the application said. */
static void
put_page(struct response *r)
{
	struct queue *q = queue(r);

	buf_reset(&r->page);
	buf_addf(&r->page, "%d %.*s\n", r->status,
		STR_ARG(status_reason(r->status)));
	buf_add_str(&r->page, status_explanation(r->status));
	buf_add_str(&q->head, STR("Content-Type: text/plain\r\n"));
	buf_add_str(&q->head, STR("Content-Length: "));
	buf_add_u64(&q->head, r->page.len);
	buf_add_str(&q->head, STR("\r\n"));
	r->has_length = true;
	r->length = r->written = r->page.len;
	if (commit(r) == -1 || !r->body_allowed)
		return;
	flusher_lock(r->conn->flusher);
	queue_add(q, r->page.p, r->page.len, NULL, NULL);
	flusher_unlock(r->conn->flusher);
}

/* ---- the end ---- */

/* A body that ends before its declared length cuts the connection. */
static void
check_length(struct response *r)
{
	if (r->cut || r->error || !r->body_allowed || !r->has_length ||
		r->written >= r->length)
		return;
	log_error("application: %llu of %llu bytes of its Content-Length "
		  "were written, the connection is cut",
		(unsigned long long)r->written, (unsigned long long)r->length);
	r->cut = true;
}

static void
settle_what_is_sent(struct response *r, bool failed)
{
	if (!r->status && !failed && !r->refused && !r->error)
		log_error("application: it started no response");
	if (!r->refused && !r->committed && (failed || !r->status))
		response_refuse(r, 500);
	if (r->committed)
		r->cut = failed || r->refused;
	else if (r->refused)
		put_page(r);
	else if (commit(r) == -1)
		r->error = errno;
	check_length(r);
}

static void
send_rest(struct response *r)
{
	struct flusher *f = r->conn->flusher;

	if (!r->committed || r->error)
		return;
	flusher_lock(f);
	if (!r->cut)
		queue_end(&f->queue);
	flusher_unlock(f);
	if (conn_send(r->conn, 0, 0) == -1)
		client_lost(r);
}

bool
response_end(struct response *r, bool failed)
{
	settle_what_is_sent(r, failed);
	ask_may_keep(r);
	send_rest(r);
	flusher_close(r->conn->flusher);
	r->ended = true;
	return r->committed && !r->error && !r->cut && !r->close &&
		queue(r)->keep_alive;
}

/* ---- for the access log ---- */

struct str
response_field(const struct response *r, struct str name)
{
	struct str rest = buf_str(&queue(r)->head), line, key;

	str_cut(&rest, '\n', &line); /* the status line */
	while (str_cut(&rest, '\n', &line))
		if (str_cut(&line, ':', &key) && str_eq_nocase(key, name)) {
			line.len -= line.len > 0; /* its CR */
			return str_trim(line);
		}
	return (struct str){0};
}

uint64_t
response_body_bytes(const struct response *r)
{
	return r->body_allowed ? r->written : 0;
}

int
response_peak_chunks(const struct response *r)
{
	return queue(r)->peak;
}
