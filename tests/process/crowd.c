/*
 * crowd.c -- forty clients, each with whims of its own.
 *
 * Each request has a number that is in its target, so that the access log tells
 * of it.  An error is all that is not the right answer, with one exception: a
 * connection that a killed worker held may end at any point (kills.h).
 */
#include "process/crowd.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "process/kills.h"

#define PERIOD 251
#define BODY_MAX (256 * 1024)
#define ECHO_MAX (32 * 1024) /* fits into the kernel's buffers */
#define PAUSE_MS 40
#define LATE_MS 2000 /* a client that idles so long cannot complain */

/* A request: who answered it, 0: it was lost. */
struct record {
	pid_t pid;
	int lines; /* of the access logs */
};

struct whim; /* one client */

struct crowd {
	int port;
	char path[108];
	atomic_bool stop;
	atomic_long count, lost;
	struct whim *whims;
};

struct whim {
	struct crowd *crowd;
	pthread_t thread;
	int i;
	uint64_t row; /* of pseudo-random numbers */
	bool keep;
	struct client c;
	bool open;
	struct end end;
	int64_t opened_at, idle_from; /* us */
	pid_t pid; /* who holds the connection, 0: not known yet */
	struct record *records;
	int nrecords, records_max;
	struct bytes out;
	bool wrong; /* the error is a whole answer, but not the right one */
	char error[500];
};

static char ramp[PERIOD + BODY_MAX];

unsigned
chance(uint64_t *row, unsigned n)
{
	*row = *row * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((*row >> 33) % n);
}

/* ---- requests ---- */

static int
new_record(struct whim *w)
{
	if (w->nrecords == w->records_max) {
		w->records_max = 2 * w->records_max + 100;
		w->records = realloc(w->records,
			(size_t)w->records_max * sizeof(struct record));
		MUST(w->records, "out of memory");
	}
	w->records[w->nrecords] = (struct record){0, 0};
	return w->nrecords++;
}

static void __attribute__((format(printf, 2, 3)))
put(struct whim *w, const char *fmt, ...)
{
	char text[600];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	bytes_add(&w->out, text, (size_t)n);
}

static void
put_head(struct whim *w, const char *request, const char *fields)
{
	put(w, "%s&id=%d.%d HTTP/1.1\r\nHost: t\r\n%s%s\r\n", request, w->i,
		new_record(w), w->keep ? "" : "Connection: close\r\n", fields);
}

static void
put_chunks(struct whim *w, unsigned n, unsigned salt)
{
	unsigned at, some;

	for (at = 0; at < n; at += some) {
		some = 1 + chance(&w->row, 20000);
		some = some < n - at ? some : n - at;
		put(w, "%x\r\n", some);
		bytes_add(&w->out, ramp + (at + salt) % PERIOD, some);
		put(w, "\r\n");
	}
	put(w, "0\r\n\r\n");
}

/* An error, unless a killed worker is to blame. */
static bool
stumble(struct whim *w, const char *what, const struct answer *a)
{
	snprintf(w->error, sizeof(w->error), "%s: %s (received: %.200s%.60s)",
		what, w->c.error ? w->c.error : "not the right answer",
		a && a->head ? a->head : "", w->c.in.p ? w->c.in.p : "");
	return false;
}

/* An error whoever was killed. */
static bool
reject(struct whim *w, const char *what, const struct answer *a)
{
	w->wrong = true;
	return stumble(w, what, a);
}

static bool
flush(struct whim *w)
{
	bool good = client_try_send(&w->c, w->out.p, w->out.n);

	w->out.n = 0;
	return good || stumble(w, "sending", NULL);
}

/*
 * The answer to the request with that number; its body belongs to the caller.
 * A connection has one worker.
 */
static bool
take(struct whim *w, int record, struct answer *a)
{
	const char *pid;

	if (!client_try_read(&w->c, a, false))
		return stumble(w, "reading", a);
	pid = answer_field(a, "X-Pid");
	if (a->status != 200 || !pid || (w->pid && w->pid != atoi(pid)))
		return reject(w, "the head", a);
	w->pid = w->records[record].pid = atoi(pid);
	w->idle_from = now_us();
	atomic_fetch_add(&w->crowd->count, 1);
	return true;
}

static bool
take_body(struct whim *w, int record, const void *p, size_t n, bool *ret_close)
{
	struct answer a = {0};
	bool good = take(w, record, &a) &&
		((a.body.n == n && memcmp(a.body.p, p, n) == 0) ||
			reject(w, "the body", &a));

	*ret_close = a.close;
	answer_done(&a);
	return good;
}

/* ---- kinds of requests; each says whether the connection ends ---- */

/* Two at once: what follows an answer that closes was never asked. */
static bool
hello(struct whim *w, bool *ret_close)
{
	int first = w->nrecords, n = w->keep ? 1 + (int)chance(&w->row, 2) : 1;
	char want[40];
	int i, len;

	for (i = 0; i < n; i++)
		put_head(w, "GET /hello?x", "");
	if (!flush(w))
		return false;
	for (i = 0, *ret_close = false; i < n && !*ret_close; i++) {
		len = snprintf(
			want, sizeof(want), "x&id=%d.%d", w->i, first + i);
		if (!take_body(w, first + i, want, (size_t)len, ret_close))
			return false;
	}
	return true;
}

static bool
stream(struct whim *w, bool *ret_close)
{
	unsigned n = chance(&w->row, BODY_MAX), salt = chance(&w->row, PERIOD);
	int record = w->nrecords;
	char request[200];

	snprintf(request, sizeof(request),
		"GET /stream?n=%u&size=%u&salt=%u&length=%u", n,
		1 + n / (1 + chance(&w->row, 50)), salt, chance(&w->row, 2));
	put_head(w, request, "");
	return flush(w) && take_body(w, record, ramp + salt, n, ret_close);
}

/* The body is sent when the server says that it wants it. */
static bool
wait_for_100(struct whim *w)
{
	if (!flush(w))
		return false;
	while (!w->c.in.n)
		if (!client_try_fill(&w->c))
			return stumble(w, "waiting for 100", NULL);
	return true;
}

static bool
upload_to(struct whim *w, const char *path, unsigned n, unsigned salt)
{
	unsigned how = chance(&w->row, 3);
	char request[100], fields[100];

	snprintf(request, sizeof(request), "POST %s?salt=%u", path, salt);
	snprintf(fields, sizeof(fields), "Content-Length: %u\r\n%s", n,
		how == 1 ? "Expect: 100-continue\r\n" : "");
	put_head(w, request,
		how == 0 ? "Transfer-Encoding: chunked\r\n" : fields);
	if (how == 1 && !wait_for_100(w))
		return false;
	if (how == 0)
		put_chunks(w, n, salt);
	else
		bytes_add(&w->out, ramp + salt, n);
	return flush(w);
}

static bool
count(struct whim *w, bool *ret_close)
{
	unsigned n = 1 + chance(&w->row, BODY_MAX);
	int record = w->nrecords, len;
	char want[40];

	len = snprintf(want, sizeof(want), "%u 0", n);
	return upload_to(w, "/count", n, chance(&w->row, PERIOD)) &&
		take_body(w, record, want, (size_t)len, ret_close);
}

static bool
echo(struct whim *w, bool *ret_close)
{
	unsigned n = 1 + chance(&w->row, ECHO_MAX);
	unsigned salt = chance(&w->row, PERIOD);
	int record = w->nrecords;

	return upload_to(w, "/echo", n, salt) &&
		take_body(w, record, ramp + salt, n, ret_close);
}

static bool (*const kinds[])(struct whim *, bool *) = {
	hello, hello, hello, stream, count, echo};

/* ---- a client ---- */

static void
hang_up(struct whim *w)
{
	client_done(&w->c);
	w->open = false;
}

static bool
call_unix(struct whim *w)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	memset(&w->c, 0, sizeof(w->c));
	w->c.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* No name given: the kernel makes one, by which we are known. */
	if (bind(w->c.fd, (void *)&a, sizeof(a.sun_family)) == -1)
		return false;
	strcpy(a.sun_path, w->crowd->path);
	if (connect(w->c.fd, (void *)&a, sizeof(a)) == 0)
		return true;
	w->c.error = strerror(errno);
	client_done(&w->c);
	return false;
}

static bool
call(struct whim *w)
{
	w->opened_at = now_us();
	w->open = w->i / 2 % 2 ? call_unix(w)
			       : client_try_port(&w->c, w->crowd->port, 0);
	w->pid = 0;
	w->out.n = 0;
	if (!w->open)
		return stumble(w, "connecting", NULL);
	w->end = end_of_client(w->c.fd);
	return true;
}

/*
 * Has the error an excuse?  A killed worker, or an idle connection that was
 * closed in its time because this machine let us wait too long.
 */
static bool
is_excused(struct whim *w, bool was_open, int64_t asked_at)
{
	if (!w->wrong && w->open && kill_took(&w->end, w->opened_at)) {
		atomic_fetch_add(&w->crowd->lost, 1);
		return true;
	}
	return was_open && w->c.in.n == 0 &&
		asked_at - w->idle_from > LATE_MS * 1000;
}

static bool
one_request(struct whim *w)
{
	bool was_open = w->open, close = false;
	int64_t at = now_us();
	int n = sizeof(kinds) / sizeof(kinds[0]);

	if (!w->open && !call(w))
		return false;
	if (kinds[chance(&w->row, (unsigned)n)](w, &close)) {
		if (close || !w->keep)
			hang_up(w);
		return true;
	}
	if (!is_excused(w, was_open, at))
		return false;
	w->error[0] = '\0';
	hang_up(w);
	return true;
}

static void *
keep_asking(void *arg)
{
	struct whim *w = arg;

	while (!atomic_load(&w->crowd->stop) && one_request(w))
		poll(NULL, 0, (int)chance(&w->row, PAUSE_MS));
	if (w->open)
		hang_up(w);
	return NULL;
}

/* ---- all of them ---- */

struct crowd *
crowd_start(int port, const char *path, uint64_t seed)
{
	struct crowd *c = calloc(1, sizeof(*c));
	int i;

	MUST(c, "out of memory");
	c->port = port;
	snprintf(c->path, sizeof(c->path), "%s", path);
	c->whims = calloc(CROWD, sizeof(c->whims[0]));
	for (i = 0; i < (int)sizeof(ramp); i++)
		ramp[i] = (char)(i % PERIOD);
	for (i = 0; i < CROWD; i++) {
		struct whim *w = &c->whims[i];

		*w = (struct whim){.crowd = c, .i = i, .keep = i % 2};
		w->row = seed * CROWD + (uint64_t)i;
		MUST(pthread_create(&w->thread, NULL, keep_asking, w) == 0,
			"thread");
	}
	return c;
}

long
crowd_count(const struct crowd *c)
{
	return atomic_load(&c->count);
}

long
crowd_lost(const struct crowd *c)
{
	return atomic_load(&c->lost);
}

void
crowd_check(const struct crowd *c)
{
	int i;

	for (i = 0; i < CROWD; i++)
		MUST(c->whims[i].error[0] == '\0',
			"client %d (%s, %s) after %d requests: %s", i,
			i / 2 % 2 ? "unix" : "tcp", i % 2 ? "kept" : "one each",
			c->whims[i].nrecords, c->whims[i].error);
}

void
crowd_stop(struct crowd *c)
{
	int i;

	atomic_store(&c->stop, true);
	for (i = 0; i < CROWD; i++)
		pthread_join(c->whims[i].thread, NULL);
	crowd_check(c);
}

void
crowd_free(struct crowd *c)
{
	int i;

	for (i = 0; i < CROWD; i++) {
		free(c->whims[i].records);
		bytes_done(&c->whims[i].out);
	}
	free(c->whims);
	free(c);
}

/* ---- what the logs say ---- */

static void
count_lines(const struct crowd *c, const char *text)
{
	int i, record;

	while ((text = strstr(text, "id="))) {
		if (sscanf(text, "id=%d.%d", &i, &record) == 2 && i < CROWD &&
			record < c->whims[i].nrecords)
			c->whims[i].records[record].lines++;
		text += 3;
	}
}

static void
check_record(const struct whim *w, int i)
{
	const struct record *r = &w->records[i];

	MUST(r->lines <= 1, "request %d.%d is in the logs %d times", w->i, i,
		r->lines);
	MUST(r->lines == 1 || r->pid == 0 || kill_hit(r->pid),
		"request %d.%d, which %d answered, is not in the logs", w->i, i,
		r->pid);
}

void
crowd_check_logs(const struct crowd *c, char *const *logs, int n)
{
	char *text;
	int i, k;

	for (i = 0; i < n; i++) {
		text = read_file(logs[i], NULL);
		count_lines(c, text);
		free(text);
	}
	for (i = 0; i < CROWD; i++)
		for (k = 0; k < c->whims[i].nrecords; k++)
			check_record(&c->whims[i], k);
}
