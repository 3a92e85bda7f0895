/*
 * test_conn.c -- who the client is, and waiting for what it sends.
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "unit/tcp.h"

static pthread_t thread;

/* ---- addresses ---- */

START_TEST(both_ends_are_written_out)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	ck_assert_str_eq(tcp.conn.peer.addr, "127.0.0.1");
	getsockname(tcp.client, (struct sockaddr *)&addr, &len);
	ck_assert_int_eq(tcp.conn.peer.port, ntohs(addr.sin_port));
	getpeername(tcp.client, (struct sockaddr *)&addr, &len);
	ck_assert_str_eq(conn_local(&tcp.conn)->addr, "127.0.0.1");
	ck_assert_int_eq(conn_local(&tcp.conn)->port, ntohs(addr.sin_port));
	ck_assert_ptr_eq(conn_local(&tcp.conn), &tcp.conn.local);
}
END_TEST

static void
take_v4(const char *text, int port)
{
	struct sockaddr_storage sa = {0};
	struct sockaddr_in *v4 = (struct sockaddr_in *)&sa;

	v4->sin_family = AF_INET;
	v4->sin_port = htons((uint16_t)port);
	ck_assert_int_eq(inet_pton(AF_INET, text, &v4->sin_addr), 1);
	conn_take(&tcp.conn, tcp.conn.fd, &sa, sizeof(*v4));
	ck_assert_str_eq(tcp.conn.peer.addr, text);
	ck_assert_int_eq(tcp.conn.peer.port, port);
}

static void
take_v6(const char *text, int port)
{
	struct sockaddr_storage sa = {0};
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&sa;

	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)port);
	ck_assert_int_eq(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
	conn_take(&tcp.conn, tcp.conn.fd, &sa, sizeof(*v6));
	ck_assert_str_eq(tcp.conn.peer.addr, text);
	ck_assert_int_eq(tcp.conn.peer.port, port);
}

static void
take_unix(void)
{
	struct sockaddr_storage sa = {.ss_family = AF_UNIX};

	strcpy(((struct sockaddr_un *)&sa)->sun_path, "/his/own");
	conn_take(&tcp.conn, tcp.conn.fd, &sa, sizeof(struct sockaddr_un));
	ck_assert_str_eq(tcp.conn.peer.addr, "");
	ck_assert_int_eq(tcp.conn.peer.port, 0);
}

START_TEST(each_peer_is_written_out_anew)
{
	take_v4("192.0.2.7", 1);
	take_v4("192.0.2.7", 65535);
	take_v4("192.0.2.8", 3);
	take_v6("2001:db8::1", 4);
	take_v6("2001:db8::2", 5);
	take_unix();
	take_v4("192.0.2.8", 6);
	take_unix();
	take_v6("::ffff:192.0.2.8", 7);
}
END_TEST

static ssize_t
receive(char *p, size_t n)
{
	struct iovec iov = {p, n};

	errno = 0;
	return conn_receive(&tcp.conn, &iov, 1);
}

/* ---- receiving ---- */

START_TEST(what_is_here_costs_no_wait)
{
	char a[3], b[8];
	struct iovec iov[2] = {{a, sizeof(a)}, {b, sizeof(b)}};

	ck_assert_int_eq(write(tcp.client, "hello", 5), 5);
	tcp_wait_readable();
	ck_assert_int_eq(conn_receive(&tcp.conn, iov, 2), 5);
	ck_assert_int_eq(memcmp(a, "hel", 3), 0);
	ck_assert_int_eq(memcmp(b, "lo", 2), 0);
	ck_assert_int_eq(tcp.before, 0);
	ck_assert_uint_eq(tcp.conn.blocked_in_us, 0);
}
END_TEST

START_TEST(a_wait_is_told_of_and_counted)
{
	char p[8];

	tcp.act = tcp_client_says_hi;
	ck_assert_int_eq(receive(p, sizeof(p)), 2);
	ck_assert_int_eq(receive(p, sizeof(p)), 2);
	ck_assert_int_eq(tcp.before, 2);
	ck_assert_int_eq(tcp.after, 2);
	ck_assert_uint_gt(tcp.conn.blocked_in_us, 0);
	ck_assert_uint_eq(tcp.conn.blocked_out_us, 0);
	conn_reset(&tcp.conn);
	ck_assert_uint_eq(tcp.conn.blocked_in_us, 0);
}
END_TEST

START_TEST(silence_ends_a_receive)
{
	int64_t began = clock_us();
	char p[8];

	tcp.limits.body_timeout_us = SHORT_US;
	ck_assert_int_eq(receive(p, sizeof(p)), -1);
	ck_assert_int_eq(errno, ETIMEDOUT);
	ck_assert_int_ge(clock_us() - began, SHORT_US);
	ck_assert_uint_ge(tcp.conn.blocked_in_us, SHORT_US);
	ck_assert_int_eq(tcp.after, 1);
}
END_TEST

START_TEST(what_came_in_time_counts_when_looked_at_late)
{
	char p[8];
	struct iovec iov = {p, sizeof(p)};

	tcp_client_says_hi();
	tcp_wait_readable();
	ck_assert_int_eq(
		conn_receive_until(&tcp.conn, &iov, 1, clock_us() - 1), 2);
	ck_assert_int_eq(
		conn_receive_until(&tcp.conn, &iov, 1, clock_us() - 1), -1);
	ck_assert_int_eq(errno, ETIMEDOUT);
}
END_TEST

static void
client_shuts_down(void)
{
	shutdown(tcp.client, SHUT_WR);
}

START_TEST(the_end_is_zero)
{
	char p[8];

	tcp.act = client_shuts_down;
	ck_assert_int_eq(receive(p, sizeof(p)), 0);
	ck_assert_int_eq(receive(p, sizeof(p)), 0);
	ck_assert_int_eq(tcp.before, 1);
}
END_TEST

START_TEST(a_reset_is_an_error)
{
	char p[8];

	tcp.act = tcp_client_resets;
	ck_assert_int_eq(receive(p, sizeof(p)), -1);
	ck_assert_int_eq(errno, ECONNRESET);
}
END_TEST

static volatile sig_atomic_t alarms;

static void
count_alarm(int sig)
{
	(void)sig;
	alarms++;
}

static void *
interrupt_then_say_hi(void *arg)
{
	const pthread_t *main_thread = arg;

	for (int i = 1; i <= 3; i++) {
		pthread_kill(*main_thread, SIGUSR1);
		while (alarms < i)
			sched_yield();
	}
	tcp_client_says_hi();
	return NULL;
}

static pthread_t main_thread;

static void
start_interrupting(void)
{
	main_thread = pthread_self();
	pthread_create(&thread, NULL, interrupt_then_say_hi, &main_thread);
}

START_TEST(a_signal_does_not_end_a_wait)
{
	struct sigaction sa = {.sa_handler = count_alarm};
	char p[8];

	sigaction(SIGUSR1, &sa, NULL);
	tcp.act = start_interrupting;
	ck_assert_int_eq(receive(p, sizeof(p)), 2);
	pthread_join(thread, NULL);
	ck_assert_int_eq(alarms, 3);
	ck_assert_int_eq(tcp.before, 1);
}
END_TEST

/* ---- the rate ---- */

static void
client_drips(void)
{
	struct timespec t = {0, 1000000};

	nanosleep(&t, NULL);
	ck_assert_int_eq(write(tcp.client, "x", 1), 1);
}

/* Bytes of at most n that are received one by one before it is too slow. */
static int
drip(int n)
{
	char p[8];
	int i;

	tcp.limits.body_timeout_us = 10 * SHORT_US;
	tcp.act = client_drips;
	for (i = 0; i < n; i++)
		if (receive(p, 1) != 1)
			break;
	return i;
}

START_TEST(one_byte_at_a_time_is_too_slow)
{
	tcp.limits.min_body_rate = 10000;
	ck_assert_int_lt(drip(200), 200);
	ck_assert_int_eq(errno, ETIMEDOUT);
	ck_assert_uint_ge(tcp.conn.blocked_in_us, 10 * SHORT_US);
	/* The next request begins anew. */
	conn_reset(&tcp.conn);
	ck_assert_int_gt(drip(5), 0);
}
END_TEST

START_TEST(without_a_rate_any_byte_will_do)
{
	ck_assert_int_eq(drip(200), 200);
}
END_TEST

/* ---- the application's clock ---- */

START_TEST(the_clock_stands_while_the_client_is_waited_for)
{
	char p[8];
	int64_t out;

	tcp.limits.timeout_us = MINUTE_US;
	tcp.limits.body_timeout_us = SHORT_US;
	conn_app_begins(&tcp.conn);
	out = atomic_load(&tcp.board.run_out_at);
	ck_assert_int_gt(out, clock_us());
	ck_assert_int_le(out, clock_us() + MINUTE_US);
	ck_assert_int_eq(receive(p, sizeof(p)), -1);
	ck_assert_int_eq(tcp.out_before, 0);
	/* It goes on before the application has to wait for its own lock. */
	ck_assert_int_eq(tcp.out_after, out + (int64_t)tcp.conn.blocked_in_us);
	ck_assert_int_eq(atomic_load(&tcp.board.run_out_at), tcp.out_after);
	conn_app_ends(&tcp.conn);
	ck_assert_int_eq(atomic_load(&tcp.board.run_out_at), 0);
}
END_TEST

START_TEST(a_clock_that_ran_out_while_it_ran_has_run_out)
{
	char p[8];
	int64_t out;

	tcp.limits.timeout_us = 1;
	tcp.limits.body_timeout_us = SHORT_US;
	conn_app_begins(&tcp.conn);
	while (clock_us() <= (out = atomic_load(&tcp.board.run_out_at)))
		;
	ck_assert_int_eq(receive(p, sizeof(p)), -1);
	ck_assert_int_eq(atomic_load(&tcp.board.run_out_at),
		out + (int64_t)tcp.conn.blocked_in_us);
	ck_assert_int_lt(atomic_load(&tcp.board.run_out_at), clock_us());
}
END_TEST

START_TEST(there_is_no_clock_without_a_limit_or_a_request)
{
	char p[8];

	tcp.limits.body_timeout_us = SHORT_US;
	conn_app_begins(&tcp.conn);
	ck_assert_int_eq(receive(p, sizeof(p)), -1);
	ck_assert_int_eq(atomic_load(&tcp.board.run_out_at), 0);
	conn_app_ends(&tcp.conn);
	tcp.limits.timeout_us = MINUTE_US;
	ck_assert_int_eq(receive(p, sizeof(p)), -1);
	ck_assert_int_eq(tcp.out_after, 0);
	ck_assert_int_eq(atomic_load(&tcp.board.run_out_at), 0);
}
END_TEST

/* ---- the flush delay while receiving ---- */

/* As if it had been queued by now, without the thread's help. */
static void
make_due(int64_t at)
{
	flusher_lock(&tcp.flusher);
	tcp.flusher.due_at = at;
	flusher_unlock(&tcp.flusher);
}

static size_t expected;

static void *
client_answers_what_it_got(void *arg)
{
	(void)arg;
	while (tcp.got < expected) {
		tcp_client_reads_some(SIZE_MAX);
		sched_yield();
	}
	tcp_client_says_hi();
	return NULL;
}

static void
start_client(void)
{
	pthread_create(&thread, NULL, client_answers_what_it_got, NULL);
}

START_TEST(what_comes_due_is_sent_while_receiving)
{
	char p[8];
	int64_t due;

	tcp_queue(1);
	expected = 64 * 1024;
	due = clock_us() + (_i ? SHORT_US : -1);
	make_due(due);
	start_client();
	ck_assert_int_eq(receive(p, sizeof(p)), 2);
	pthread_join(thread, NULL);
	ck_assert(queue_is_empty(&tcp.flusher.queue));
	/* While it was held back here the client is not to blame. */
	ck_assert_int_le(tcp.conn.in.waited_us, clock_us() - due);
}
END_TEST

START_TEST(what_the_kernel_has_no_room_for_follows)
{
	char p[8];

	expected = (size_t)tcp_fill() * 64 * 1024;
	make_due(clock_us());
	start_client();
	ck_assert_int_eq(receive(p, sizeof(p)), 2);
	pthread_join(thread, NULL);
	ck_assert_int_eq(tcp.before, 1);
	ck_assert(queue_is_empty(&tcp.flusher.queue));
}
END_TEST

START_TEST(what_is_not_due_stays)
{
	char p[8];

	tcp.limits.body_timeout_us = SHORT_US;
	tcp_queue(1);
	make_due(clock_us() + MINUTE_US);
	ck_assert_int_eq(receive(p, sizeof(p)), -1);
	ck_assert_int_eq(errno, ETIMEDOUT);
	ck_assert_int_eq(tcp.flusher.queue.chunks, 1);
}
END_TEST

/* ---- clients that left ---- */

static ssize_t
came(char *p, size_t max)
{
	return recv(tcp.client, p, max, MSG_DONTWAIT);
}

START_TEST(who_is_there_is_told_nothing)
{
	char p[100];

	flusher_open(&tcp.flusher, tcp.conn.fd);
	tcp_client_says_hi();
	ck_assert(!conn_is_deserted(&tcp.conn));
	ck_assert_int_eq(came(p, sizeof(p)), -1);
}
END_TEST

START_TEST(who_closed_has_left)
{
	flusher_open(&tcp.flusher, tcp.conn.fd);
	tcp_client_says_hi();
	close(tcp.client);
	tcp.client = -1;
	ck_assert(conn_is_deserted(&tcp.conn));
}
END_TEST

START_TEST(who_reset_has_left)
{
	flusher_open(&tcp.flusher, tcp.conn.fd);
	tcp_client_resets();
	ck_assert(conn_is_deserted(&tcp.conn));
}
END_TEST

/* It has begun to get a response, which goes on from there. */
START_TEST(who_only_ended_its_side_is_answered)
{
	static const char head[] =
		"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
	struct queue *q = &tcp.flusher.queue;
	char p[100];

	flusher_open(&tcp.flusher, tcp.conn.fd);
	tcp_client_says_hi();
	shutdown(tcp.client, SHUT_WR);
	ck_assert(!conn_is_deserted(&tcp.conn));
	buf_add_str(&q->head, STR("HTTP/1.1 200 OK\r\n"));
	ck_assert_int_eq(queue_set_head(q, QUEUE_CLOSE, 1, true), 0);
	queue_add(q, "body", 4, NULL, NULL);
	ck_assert_int_eq(conn_send(&tcp.conn, 0, 0), 0);
	ck_assert_uint_eq(tcp.flusher.bytes_sent, strlen(head) + 4);
	ck_assert_int_eq(came(p, sizeof(p)), (int)strlen(head) + 4);
	ck_assert_mem_eq(p, head, strlen(head));
	ck_assert_mem_eq(p + strlen(head), "body", 4);
}
END_TEST

/* The kernel knows, so nothing need be sent. */
START_TEST(a_unix_socket_tells)
{
	int fds[2];
	char c;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	close(tcp.conn.fd);
	tcp.conn.fd = fds[0];
	flusher_open(&tcp.flusher, tcp.conn.fd);
	ck_assert(!conn_is_deserted(&tcp.conn));
	shutdown(fds[1], SHUT_WR);
	ck_assert(!conn_is_deserted(&tcp.conn));
	ck_assert_int_eq(recv(fds[1], &c, 1, MSG_DONTWAIT), -1);
	close(fds[1]);
	ck_assert(conn_is_deserted(&tcp.conn));
}
END_TEST

Suite *conn_suite(void);

Suite *
conn_suite(void)
{
	Suite *s = suite_create("conn");
	TCase *t = tcase_create("peer");

	tcase_add_checked_fixture(t, tcp_set_up, tcp_tear_down);
	tcase_add_test(t, both_ends_are_written_out);
	tcase_add_test(t, each_peer_is_written_out_anew);
	suite_add_tcase(s, t);

	t = tcase_create("left");
	tcase_add_checked_fixture(t, tcp_set_up, tcp_tear_down);
	tcase_add_test(t, who_is_there_is_told_nothing);
	tcase_add_test(t, who_closed_has_left);
	tcase_add_test(t, who_reset_has_left);
	tcase_add_test(t, who_only_ended_its_side_is_answered);
	tcase_add_test(t, a_unix_socket_tells);
	suite_add_tcase(s, t);

	t = tcase_create("receive");
	tcase_add_checked_fixture(t, tcp_set_up, tcp_tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, what_is_here_costs_no_wait);
	tcase_add_test(t, a_wait_is_told_of_and_counted);
	tcase_add_test(t, silence_ends_a_receive);
	tcase_add_test(t, what_came_in_time_counts_when_looked_at_late);
	tcase_add_test(t, the_end_is_zero);
	tcase_add_test(t, a_reset_is_an_error);
	tcase_add_test(t, a_signal_does_not_end_a_wait);
	tcase_add_test(t, one_byte_at_a_time_is_too_slow);
	tcase_add_test(t, without_a_rate_any_byte_will_do);
	tcase_add_test(t, the_clock_stands_while_the_client_is_waited_for);
	tcase_add_test(t, a_clock_that_ran_out_while_it_ran_has_run_out);
	tcase_add_test(t, there_is_no_clock_without_a_limit_or_a_request);
	tcase_add_loop_test(t, what_comes_due_is_sent_while_receiving, 0, 2);
	tcase_add_test(t, what_the_kernel_has_no_room_for_follows);
	tcase_add_test(t, what_is_not_due_stays);
	suite_add_tcase(s, t);

	return s;
}
