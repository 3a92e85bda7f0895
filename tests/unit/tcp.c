/*
 * tcp.c -- a connection in hand over loopback.
 */
#include "unit/tcp.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

struct tcp tcp;
char tcp_bytes[4 * 1024 * 1024];

static void
before_wait(void *arg)
{
	ck_assert_ptr_eq(arg, &tcp);
	ck_assert_int_eq(tcp.before, tcp.after);
	tcp.before++;
	tcp.out_before = atomic_load(&tcp.board.run_out_at);
	if (tcp.act)
		tcp.act();
}

static void
after_wait(void *arg)
{
	ck_assert_ptr_eq(arg, &tcp);
	tcp.after++;
	ck_assert_int_eq(tcp.before, tcp.after);
	tcp.out_after = atomic_load(&tcp.board.run_out_at);
}

static const struct conn_hooks hooks = {before_wait, after_wait, &tcp};

static void
set_buffer(int fd, int option, int n)
{
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, option, &n, sizeof(n)), 0);
}

/* Both ends of a connection, with buffers that do not grow. */
static void
make_connection(struct sockaddr_storage *peer, socklen_t *len)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t addr_len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	tcp.client = socket(AF_INET, SOCK_STREAM, 0);
	set_buffer(tcp.client, SO_RCVBUF, 16 * 1024);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&addr, addr_len), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	getsockname(listener, (struct sockaddr *)&addr, &addr_len);
	ck_assert_int_eq(
		connect(tcp.client, (struct sockaddr *)&addr, addr_len), 0);
	*len = sizeof(*peer);
	tcp.conn.fd =
		accept4(listener, (struct sockaddr *)peer, len, SOCK_NONBLOCK);
	ck_assert_int_ne(tcp.conn.fd, -1);
	set_buffer(tcp.conn.fd, SO_SNDBUF, 512 * 1024);
	close(listener);
}

void
tcp_set_up(void)
{
	struct sockaddr_storage peer;
	socklen_t len;

	signal(SIGPIPE, SIG_IGN); /* as in a worker; sendfile needs it */
	memset(&tcp, 0, sizeof(tcp));
	tcp.limits = (struct conn_limits){MINUTE_US, MINUTE_US, 0, 0, 0, 0};
	tcp.conn = (struct conn){.limits = &tcp.limits,
		.hooks = &hooks,
		.flusher = &tcp.flusher,
		.board = &tcp.board};
	ck_assert_int_eq(
		flusher_init(&tcp.flusher, 4, TCP_CHUNK, MINUTE_US), 0);
	make_connection(&peer, &len);
	conn_take(&tcp.conn, tcp.conn.fd, &peer, len);
	for (size_t i = 0; i < sizeof(tcp_bytes); i++)
		tcp_bytes[i] = (char)(i * i >> 7);
}

void
tcp_tear_down(void)
{
	flusher_close(&tcp.flusher);
	flusher_done(&tcp.flusher);
	fd_close(&tcp.conn.fd);
	fd_close(&tcp.client);
}

void
tcp_client_says_hi(void)
{
	ck_assert_int_eq(write(tcp.client, "hi", 2), 2);
}

void
tcp_wait_readable(void)
{
	char one;

	fd_set_nonblock(tcp.conn.fd, false);
	ck_assert_int_eq(recv(tcp.conn.fd, &one, 1, MSG_PEEK), 1);
	fd_set_nonblock(tcp.conn.fd, true);
}

void
tcp_client_resets(void)
{
	struct linger linger = {.l_onoff = 1};

	setsockopt(tcp.client, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	fd_close(&tcp.client);
}

void
tcp_client_reads_some(size_t max)
{
	static char p[64 * 1024];
	ssize_t n = recv(
		tcp.client, p, max < sizeof(p) ? max : sizeof(p), MSG_DONTWAIT);

	if (n <= 0)
		return;
	if (!tcp.saw_head) {
		char *end = memmem(p, (size_t)n, "\r\n\r\n", 4);

		ck_assert_ptr_nonnull(end);
		tcp.saw_head = true;
		n -= end + 4 - p;
		memmove(p, end + 4, (size_t)n);
	}
	ck_assert_int_eq(memcmp(p, tcp_bytes + tcp.got, (size_t)n), 0);
	tcp.got += (size_t)n;
}

void
tcp_client_reads(void)
{
	for (int i = 0; i < 100; i++)
		tcp_client_reads_some(SIZE_MAX);
}

void
tcp_queue_more(int from, int n)
{
	struct queue *q = &tcp.flusher.queue;

	flusher_release(&tcp.flusher);
	flusher_lock(&tcp.flusher);
	for (int i = from; i < from + n; i++) {
		queue_add(q, tcp_bytes + i * TCP_CHUNK, TCP_CHUNK, NULL, NULL);
		ck_assert_int_eq(queue_own(q), 0);
	}
	flusher_unlock(&tcp.flusher);
}

void
tcp_queue(int n)
{
	flusher_open(&tcp.flusher, tcp.conn.fd);
	buf_add_str(&tcp.flusher.queue.head, STR("HTTP/1.1 200 OK\r\n"));
	queue_set_head(&tcp.flusher.queue, QUEUE_LENGTH, 1, true);
	tcp_queue_more(0, n);
}

int
tcp_fill(void)
{
	int n = 4;

	tcp_queue(4);
	for (;;) {
		flusher_lock(&tcp.flusher);
		flusher_push(&tcp.flusher, 0);
		flusher_unlock(&tcp.flusher);
		if (!queue_is_empty(&tcp.flusher.queue))
			return n;
		tcp_queue_more(n++, 1);
	}
}
