/*
 * fuzz_response.c -- an application that says anything in any order, to a
 * client behind a small socket buffer that reads when it must.
 *
 * What the client got is a well-formed response with a prefix of what was
 * written, all of it if the connection is kept.
 */
#include <assert.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "wire.h"
#include "worker/response.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#define BODY_MAX 65536

static char body[BODY_MAX]; /* of any response: written from its front */
static int client, file, nreleased;
static struct flusher flusher;
static struct board_slot board;
static struct conn conn;
static struct response res;
static struct buf got;

static void
client_reads(void *arg)
{
	ssize_t n;

	(void)arg;
	do {
		buf_reserve(&got, BODY_MAX);
		n = read(client, got.p + got.len, BODY_MAX);
		got.len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
}

static void
release(void *arg)
{
	nreleased += arg == NULL;
}

static void
boot(void)
{
	static const struct conn_limits limits = {1000000, 1000000, 0, 0, 0, 0};
	static const struct conn_hooks hooks = {client_reads, release, &board};
	struct sockaddr_storage sa = {.ss_family = AF_UNIX};
	int fds[2], size = 4096;

	log_set_fd(-1);
	for (size_t i = 0; i < BODY_MAX; i++)
		body[i] = "0123456789\r\n"[(i + i / 100) % 12];
	file = memfd_create("body", 0);
	assert(write(file, body, BODY_MAX) == BODY_MAX);
	assert(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds));
	client = fds[1];
	setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	assert(!flusher_init(&flusher, 8, 512, INT64_MAX / 4));
	conn = (struct conn){.limits = &limits,
		.hooks = &hooks,
		.flusher = &flusher,
		.board = &board};
	conn_take(&conn, fds[0], &sa, sizeof(sa));
	assert(!response_init(&res, &conn));
}

/* The bytes of an operation: a name or value of at most 15. */
static struct str
text(const uint8_t **p, size_t *n)
{
	size_t len = *n ? **p % 16 : 0;
	struct str s;

	if (len >= *n)
		len = *n ? *n - 1 : 0;
	s = (struct str){(const char *)*p + 1, len};
	*p += *n ? len + 1 : 0;
	*n -= *n ? len + 1 : 0;
	return s;
}

static void
write_body(uint8_t b, bool borrowed)
{
	static char mine[256 * 32];
	size_t n = b * 32u + b % 3;

	if (n > BODY_MAX - res.written)
		n = 0;
	memcpy(mine, body + res.written, n < sizeof(mine) ? n : 0);
	if (borrowed) {
		nreleased--;
		response_write(&res, body + res.written, n, release, NULL);
		return;
	}
	response_write(&res, n < sizeof(mine) ? mine : body + res.written, n,
		NULL, NULL);
	memset(mine, '#', sizeof(mine));
}

static void
happen(uint8_t op, const uint8_t **p, size_t *n)
{
	struct str a, b;
	uint8_t k = *n ? **p : 0;

	switch (op % 16) {
	case 0:
	case 1:
		a = text(p, n);
		response_start(&res, 196 + k * 2, a);
		break;
	case 2:
	case 3:
		a = text(p, n);
		b = text(p, n);
		(op % 16 == 2 ? response_add_field : response_add_trailer)(
			&res, a, b);
		break;
	case 4:
		response_flush(&res);
		break;
	case 5:
		response_add_field(&res, STR("Content-Length"), text(p, n));
		break;
	case 6:
		response_send_interim(&res, k % 2 ? 100 : 103, STR("A: b\r\n"));
		break;
	case 7:
		if (res.written + k < BODY_MAX)
			response_send_file(&res, file, (off_t)res.written, k);
		break;
	case 8:
		if (k == 8)
			response_refuse(&res, 413);
		if (k == 9)
			response_must_close(&res);
		break;
	default:
		write_body(k, op % 2);
	}
}

/* Nothing in a head but lines with a name. */
static void
check_lines(const struct wire_message *m)
{
	struct wire w = {m->head, m->head_len};
	size_t n = wire_line(&w);

	for (wire_skip(&w, n); (n = wire_line(&w)) > 2; wire_skip(&w, n)) {
		assert(memchr(w.p, ':', n) && !memchr(w.p, '\0', n));
		assert(memchr(w.p, '\r', n) == w.p + n - 2);
	}
}

static void
check(bool keep)
{
	struct wire w = {got.p, got.len};
	struct wire_message m;
	bool bodiless;

	do {
		assert(w.n > 12);
		bodiless = res.facts.head_only || w.p[9] == '1' ||
			!memcmp(w.p + 9, "204", 3) ||
			!memcmp(w.p + 9, "304", 3);
		assert(wire_read(&w, bodiless, &m));
		check_lines(&m);
		if (m.head[9] != '1')
			break;
		wire_free(&m);
	} while (true);
	assert(w.n == 0 && (m.complete || !keep));
	if (!strstr(m.body, " Content Too Large") &&
		!strstr(m.body, " Internal Server"))
		assert(!memcmp(m.body, body, m.body_len));
	if (m.complete && !bodiless)
		assert(m.body_len == res.written);
	if (!res.error && !bodiless)
		assert(m.body_len == res.written);
	wire_free(&m);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct response_facts facts = {0};
	uint8_t op, flags;
	bool keep;

	if (n < 2)
		return 0;
	if (!got.p)
		boot();
	flags = p[1];
	facts = (struct response_facts){
		flags & 1, (flags & 2) / 2, flags & 4, flags & 8};
	flusher.queue.chunks_max = p[0] % 9;
	flusher.queue.chunk_size = 1 + p[0] / 9 * 16u;
	buf_reset(&got);
	nreleased = 0;
	response_begin(&res, &facts);
	if (flags & 16)
		response_start(&res, 200, STR(""));
	for (p += 2, n -= 2; n > 0;) {
		op = *p++;
		n--;
		happen(op, &p, &n);
	}
	keep = response_end(&res, flags & 32);
	client_reads(NULL);
	assert(nreleased == 0);
	check(keep);
	return 0;
}
