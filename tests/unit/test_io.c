/*
 * test_io.c -- system calls that may be interrupted or cut short.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"

/* A pipe that has room for `room` bytes more. */
static void
fill_pipe(int *ends, int room)
{
	static const char zeros[65536];
	int size;

	ck_assert_int_eq(pipe(ends), 0);
	size = fcntl(ends[1], F_SETPIPE_SZ, sizeof(zeros));
	ck_assert_int_eq(
		write(ends[1], zeros, (size_t)(size - room)), size - room);
}

/* A reader that has stopped loses lines; one that goes on gets the next. */
START_TEST(a_stuck_reader_stops_nobody)
{
	struct io_reader reader = {0};
	static char p[65536];
	int ends[2];

	fill_pipe(ends, 4096);
	ck_assert_int_eq(io_write_line(ends[1], p, 4096, &reader), 0);
	ck_assert_int_eq(io_write_line(ends[1], p, 1, &reader), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert(reader.stuck);
	ck_assert_int_eq(io_write_line(ends[1], p, 1, &reader), -1);
	ck_assert_int_eq(io_read(ends[0], p, sizeof(p)), sizeof(p));
	ck_assert_int_eq(io_write_line(ends[1], "\n", 1, &reader), 0);
	ck_assert(!reader.stuck);
	ck_assert_int_eq(io_read(ends[0], p, sizeof(p)), 1);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/*
 * Room for a piece of it only, whether the descriptor may wait or not: the
 * rest is lost, and the next line begins on a line of its own.
 */
START_TEST(a_long_line_stops_nobody)
{
	struct io_reader reader = {0};
	static char p[65536], line[14000];
	int ends[2];

	memset(line, 'x', sizeof(line));
	fill_pipe(ends, 8192);
	if (_i == 1)
		fcntl(ends[1], F_SETFL, O_NONBLOCK);
	ck_assert_int_eq(
		io_write_line(ends[1], line, sizeof(line), &reader), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert(reader.stuck && reader.cut);
	ck_assert_int_eq(io_write_line(ends[1], "lost\n", 5, &reader), -1);
	ck_assert_int_eq(io_read(ends[0], p, sizeof(p)), sizeof(p));
	ck_assert_int_eq(io_write_line(ends[1], "next\n", 5, &reader), 0);
	ck_assert_int_eq(io_read(ends[0], p, sizeof(p)), 6);
	ck_assert_mem_eq(p, "\nnext\n", 6);
	ck_assert_int_eq(io_write_line(ends[1], line, 9000, &reader), 0);
	ck_assert_int_eq(io_read(ends[0], p, sizeof(p)), 9000);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

Suite *io_suite(void);

static volatile sig_atomic_t interrupts;
static pthread_t reader;
static int pair[2];

static void
on_signal(int number)
{
	(void)number;
	interrupts++;
}

static void
setup(void)
{
	/* without SA_RESTART, so that calls do fail with EINTR */
	struct sigaction sa = {.sa_handler = on_signal};

	ck_assert_int_eq(sigaction(SIGUSR1, &sa, NULL), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	reader = pthread_self();
	interrupts = 0;
}

/* Interrupt the other thread many times, then let it have its byte. */
static void *
interrupt_then_write(void *arg)
{
	while (interrupts < 100) {
		pthread_kill(reader, SIGUSR1);
		sched_yield();
	}
	ck_assert_int_eq(write(pair[1], arg, 1), 1);
	return NULL;
}

START_TEST(interrupted_reads_start_again)
{
	pthread_t other;
	char c = 0;
	struct iovec iov = {&c, 1};

	ck_assert_int_eq(
		pthread_create(&other, NULL, interrupt_then_write, (void *)"x"),
		0);
	if (_i == 0)
		ck_assert_int_eq(io_read(pair[0], &c, 1), 1);
	else
		ck_assert_int_eq(io_recvv(pair[0], &iov, 1, 0), 1);
	ck_assert_int_eq(c, 'x');
	pthread_join(other, NULL);
	ck_assert_int_ge(interrupts, 100);
}
END_TEST

struct got {
	size_t n;
	size_t wrong;
};

static void *
read_all(void *arg)
{
	struct got *got = arg;
	unsigned char p[777];
	ssize_t n;

	while ((n = read(pair[0], p, sizeof(p))) > 0)
		for (ssize_t i = 0; i < n; i++)
			got->wrong += p[i] != got->n++ % 251;
	return NULL;
}

/* More than the socket holds, so that write(2) is cut short. */
START_TEST(all_is_written)
{
	static char p[4 << 20];
	struct got got = {0};
	pthread_t other;

	for (size_t i = 0; i < sizeof(p); i++)
		p[i] = (char)(i % 251);
	ck_assert_int_eq(pthread_create(&other, NULL, read_all, &got), 0);
	ck_assert_int_eq(io_write_all(pair[1], p, sizeof(p)), 0);
	close(pair[1]);
	pthread_join(other, NULL);
	ck_assert_uint_eq(got.n, sizeof(p));
	ck_assert_uint_eq(got.wrong, 0);
}
END_TEST

START_TEST(gathered)
{
	char a[3] = "", b[3] = "";
	struct iovec out[2] = {{(void *)"ab", 2}, {(void *)"cd", 2}};
	struct iovec in[2] = {{a, 1}, {b, 3}};

	ck_assert_int_eq(io_sendv(pair[1], out, 2, MSG_NOSIGNAL), 4);
	ck_assert_int_eq(io_recvv(pair[0], in, 2, 0), 4);
	ck_assert_str_eq(a, "a");
	ck_assert_mem_eq(b, "bcd", 3);
	close(pair[0]);
	ck_assert_int_eq(io_sendv(pair[1], out, 2, MSG_NOSIGNAL), -1);
	ck_assert_int_eq(errno, EPIPE);
}
END_TEST

START_TEST(a_range_of_a_file)
{
	int fd = memfd_create("file", 0);
	off_t at = 2;
	char p[8];

	ck_assert_int_eq(write(fd, "0123456789", 10), 10);
	ck_assert_int_eq(io_sendfile(pair[1], fd, &at, 5), 5);
	ck_assert_int_eq(at, 7);
	ck_assert_int_eq(read(pair[0], p, sizeof(p)), 5);
	ck_assert_mem_eq(p, "23456", 5);
	close(fd);
}
END_TEST

static char path[32];

static void
write_file(size_t n)
{
	int fd;

	strcpy(path, "/tmp/narwhal-io-XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(write(fd, i % 2 ? "b" : "a", 1), 1);
	close(fd);
}

START_TEST(a_whole_file)
{
	static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 9000};
	size_t n = sizes[_i], len;
	char *p;

	write_file(n);
	p = io_read_file(path, n, &len);
	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq(len, n);
	ck_assert_uint_eq(strlen(p), n);
	ck_assert(!n || p[n - 1] == (n % 2 ? 'a' : 'b'));
	free(p);
	if (n) {
		ck_assert_ptr_null(io_read_file(path, n - 1, &len));
		ck_assert_int_eq(errno, EFBIG);
	}
	unlink(path);
}
END_TEST

START_TEST(no_file)
{
	size_t len;

	ck_assert_ptr_null(io_read_file("/nonexistent/x", 10, &len));
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_ptr_null(io_read_file("/tmp", 10, &len));
	ck_assert_int_eq(errno, EISDIR);
}
END_TEST

Suite *
io_suite(void)
{
	Suite *s = suite_create("io");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, interrupted_reads_start_again, 0, 2);
	tcase_add_test(tc, all_is_written);
	tcase_add_test(tc, a_stuck_reader_stops_nobody);
	tcase_add_loop_test(tc, a_long_line_stops_nobody, 0, 2);
	tcase_add_test(tc, gathered);
	tcase_add_test(tc, a_range_of_a_file);
	tcase_add_loop_test(tc, a_whole_file, 0, 6);
	tcase_add_test(tc, no_file);
	suite_add_tcase(s, tc);
	return s;
}
