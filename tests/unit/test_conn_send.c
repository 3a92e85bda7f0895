/*
 * test_conn_send.c -- waiting for a client that takes what is sent.
 */
#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "unit/tcp.h"

START_TEST(what_the_kernel_takes_costs_no_wait)
{
	tcp_queue(2);
	ck_assert_int_eq(conn_send(&tcp.conn, 0, 0), 0);
	ck_assert(queue_is_empty(&tcp.flusher.queue));
	ck_assert_int_eq(tcp.before, 0);
	ck_assert_uint_eq(tcp.conn.blocked_out_us, 0);
	while (tcp.got < 2 * 64 * 1024)
		tcp_client_reads();
}
END_TEST

START_TEST(a_send_waits_until_few_enough_chunks_do)
{
	int n = tcp_fill(), waiting;

	waiting = tcp.flusher.queue.chunks;
	tcp_queue_more(n, 4 - waiting);
	n += 4 - waiting;
	/* Four wait: four may. */
	ck_assert_int_eq(conn_send(&tcp.conn, 4, 0), 0);
	ck_assert_int_eq(tcp.before, 0);
	tcp.act = tcp_client_reads;
	ck_assert_int_eq(conn_send(&tcp.conn, 3, 0), 0);
	ck_assert_int_le(tcp.flusher.queue.chunks, 3);
	ck_assert_int_gt(tcp.before, 0);
	ck_assert_int_eq(tcp.before, tcp.after);
	ck_assert_uint_gt(tcp.conn.blocked_out_us, 0);
	ck_assert_uint_eq(tcp.conn.blocked_in_us, 0);
	ck_assert_int_eq(conn_send(&tcp.conn, 0, 0), 0);
	ck_assert(queue_is_empty(&tcp.flusher.queue));
	while (tcp.got < (size_t)n * 64 * 1024)
		tcp_client_reads();
}
END_TEST

START_TEST(a_client_that_takes_nothing_is_given_up)
{
	tcp.limits.send_timeout_us = SHORT_US;
	tcp_fill();
	errno = 0;
	ck_assert_int_eq(conn_send(&tcp.conn, 0, 0), -1);
	ck_assert_int_eq(errno, ETIMEDOUT);
	ck_assert_uint_ge(tcp.conn.blocked_out_us, SHORT_US);
	ck_assert_int_eq(tcp.after, 1);
}
END_TEST

static int rounds;

static void
sleep_past(int64_t until)
{
	struct timespec t = {0, 1000000};

	while (clock_us() <= until)
		nanosleep(&t, NULL);
}

/*
 * The client takes a little, too little for the kernel to call the socket
 * writable, and the time runs out right behind it.
 */
static bool
client_takes_a_little(void *arg)
{
	char one;

	(void)arg;
	ck_assert_int_eq(recv(tcp.conn.fd, &one, 1, MSG_DONTWAIT), 1);
	for (int i = 0; i < 3; i++)
		tcp_client_reads_some(8 * 1024);
	sleep_past(clock_us() + tcp.limits.send_timeout_us);
	if (++rounds < 5)
		ck_assert_int_eq(write(tcp.client, "x", 1), 1);
	return true;
}

/* A send that lets the client act while it waits, until it gives him up. */
static void
must_time_out(int64_t timeout_us, bool (*act)(void *))
{
	tcp.limits.send_timeout_us = timeout_us;
	tcp.conn.drain = act;
	ck_assert_int_eq(write(tcp.client, "x", 1), 1);
	tcp_wait_readable();
	errno = 0;
	ck_assert_int_eq(conn_send(&tcp.conn, 0, 0), -1);
	ck_assert_int_eq(errno, ETIMEDOUT);
}

START_TEST(a_client_that_takes_a_little_is_waited_for)
{
	int n = tcp_fill();

	/* Five times it takes some of it, then nothing any more. */
	rounds = 0;
	must_time_out(20000, client_takes_a_little);
	ck_assert_int_eq(rounds, 5);
	ck_assert_uint_ge(tcp.conn.blocked_out_us, 5 * 20000);
	ck_assert_uint_lt(tcp.got, (size_t)n * 64 * 1024);
}
END_TEST

static bool
client_takes_once(void *arg)
{
	(void)arg;
	tcp_client_reads_some(8 * 1024);
	return false;
}

/* What it took at first does not buy it a second send-timeout. */
START_TEST(silence_counts_from_what_was_taken_last)
{
	tcp_fill();
	must_time_out(1000000, client_takes_once);
	ck_assert_uint_ge(tcp.conn.blocked_out_us, 1000000);
	ck_assert_uint_lt(tcp.conn.blocked_out_us, 1900000);
}
END_TEST

/* 24 kB in 20 ms are too little for one who wants 320. */
START_TEST(a_client_that_takes_too_little_is_given_up)
{
	rounds = 0;
	tcp_fill();
	tcp.limits.min_send_rate = 16 << 20;
	must_time_out(20000, client_takes_a_little);
	ck_assert_int_eq(rounds, 1);
}
END_TEST

static bool
drains_no_more(void *arg)
{
	(void)arg;
	rounds++;
	return false;
}

START_TEST(input_nobody_wants_does_not_keep_a_send_awake)
{
	rounds = 0;
	tcp_fill();
	must_time_out(20000, drains_no_more);
	ck_assert_int_eq(rounds, 1);
}
END_TEST

START_TEST(a_client_that_left_is_an_error)
{
	tcp_fill();
	tcp.act = tcp_client_resets;
	errno = 0;
	ck_assert_int_eq(conn_send(&tcp.conn, 0, 0), -1);
	ck_assert(errno == ECONNRESET || errno == EPIPE);
	ck_assert_int_eq(tcp.after, 1);
	ck_assert_int_eq(conn_send(&tcp.conn, 0, 0), -1);
	ck_assert(errno == ECONNRESET || errno == EPIPE);
}
END_TEST

START_TEST(the_clock_stands_while_a_send_waits)
{
	int64_t out;

	tcp.limits.timeout_us = MINUTE_US;
	tcp.limits.send_timeout_us = SHORT_US;
	tcp_fill();
	conn_app_begins(&tcp.conn);
	out = atomic_load(&tcp.board.run_out_at);
	ck_assert_int_eq(conn_send(&tcp.conn, 0, 0), -1);
	ck_assert_int_eq(tcp.out_before, 0);
	ck_assert_int_eq(tcp.out_after, out + (int64_t)tcp.conn.blocked_out_us);
}
END_TEST

/* ---- file ranges ---- */

static int
make_file(size_t n)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(write(fd, tcp_bytes, n), n);
	return fd;
}

START_TEST(a_file_range_goes_whole)
{
	int fd = make_file(sizeof(tcp_bytes));

	flusher_open(&tcp.flusher, tcp.conn.fd);
	tcp.saw_head = true;
	tcp.got = 1000; /* where the range begins */
	tcp.act = tcp_client_reads;
	ck_assert_int_eq(conn_send_file(&tcp.conn, fd, 1000, 3000000), 0);
	ck_assert_uint_eq(tcp.flusher.bytes_sent, 3000000);
	while (tcp.got < 3001000)
		tcp_client_reads();
	ck_assert_int_gt(tcp.before, 0);
	ck_assert_uint_gt(tcp.conn.blocked_out_us, 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_CUR), sizeof(tcp_bytes));
	close(fd);
}
END_TEST

START_TEST(a_file_that_shrank_is_an_error)
{
	int fd = make_file(1000);

	flusher_open(&tcp.flusher, tcp.conn.fd);
	errno = 0;
	ck_assert_int_eq(conn_send_file(&tcp.conn, fd, 500, 501), -1);
	ck_assert_int_eq(errno, EIO);
	ck_assert_uint_eq(tcp.flusher.bytes_sent, 500);
	close(fd);
}
END_TEST

START_TEST(a_file_nobody_takes_is_given_up)
{
	int fd = make_file(sizeof(tcp_bytes));

	tcp.limits.send_timeout_us = SHORT_US;
	flusher_open(&tcp.flusher, tcp.conn.fd);
	errno = 0;
	ck_assert_int_eq(
		conn_send_file(&tcp.conn, fd, 0, sizeof(tcp_bytes)), -1);
	ck_assert_int_eq(errno, ETIMEDOUT);
	close(fd);
}
END_TEST

Suite *conn_send_suite(void);

Suite *
conn_send_suite(void)
{
	Suite *s = suite_create("conn_send");
	TCase *t = tcase_create("send");

	tcase_add_checked_fixture(t, tcp_set_up, tcp_tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, what_the_kernel_takes_costs_no_wait);
	tcase_add_test(t, a_send_waits_until_few_enough_chunks_do);
	tcase_add_test(t, a_client_that_takes_nothing_is_given_up);
	tcase_add_test(t, a_client_that_takes_a_little_is_waited_for);
	tcase_add_test(t, silence_counts_from_what_was_taken_last);
	tcase_add_test(t, a_client_that_takes_too_little_is_given_up);
	tcase_add_test(t, input_nobody_wants_does_not_keep_a_send_awake);
	tcase_add_test(t, a_client_that_left_is_an_error);
	tcase_add_test(t, the_clock_stands_while_a_send_waits);
	tcase_add_test(t, a_file_range_goes_whole);
	tcase_add_test(t, a_file_that_shrank_is_an_error);
	tcase_add_test(t, a_file_nobody_takes_is_given_up);
	suite_add_tcase(s, t);
	return s;
}
