/*
 * test_flusher.c -- the flush thread and what it shares with the main one.
 *
 * Also the suite that `make KIND=tsan` is for.  Where nothing may be sent, the
 * delay is one that does not end within a test.
 */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "worker/flusher.h"

#define FOREVER_US ((int64_t)3600 * 1000000)

static struct flusher f;
static int client; /* the other end of the socket */
static int server;

static void
open_with(int chunks_max, int64_t delay_us)
{
	int fds[2];

	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	server = fds[0];
	client = fds[1];
	ck_assert_int_eq(flusher_init(&f, chunks_max, 1024, delay_us), 0);
	flusher_open(&f, server);
	buf_add_str(&f.queue.head, STR("HTTP/1.1 200 OK\r\n"));
	ck_assert_int_eq(queue_set_head(&f.queue, QUEUE_LENGTH, 1, true), 0);
}

static void
done(void)
{
	flusher_close(&f);
	flusher_done(&f);
	close(server);
	close(client);
}

static int
add(const char *p, size_t n, void (*release)(void *), void *arg)
{
	int r;

	flusher_lock(&f);
	queue_add(&f.queue, p, n, release, arg);
	if (!release)
		ck_assert_int_eq(queue_own(&f.queue), 0);
	r = flusher_schedule(&f);
	flusher_unlock(&f);
	return r;
}

static int
push(void)
{
	int r;

	flusher_lock(&f);
	r = flusher_push(&f, 0);
	flusher_unlock(&f);
	return r;
}

static bool
is_empty(void)
{
	bool r;

	flusher_lock(&f);
	r = queue_is_empty(&f.queue);
	flusher_unlock(&f);
	return r;
}

/* Read until n bytes came, however long that takes. */
static void
receive(char *p, size_t n)
{
	struct pollfd poll_fd = {.fd = client, .events = POLLIN};
	ssize_t got;

	for (; n; n -= (size_t)got, p += got) {
		ck_assert_int_eq(poll(&poll_fd, 1, 20000), 1);
		got = read(client, p, n);
		ck_assert_int_gt(got, 0);
	}
}

static void
expect(const char *z)
{
	char p[512];

	receive(p, strlen(z));
	ck_assert_mem_eq(p, z, strlen(z));
}

static bool
nothing_came(void)
{
	char c;

	return read(client, &c, 1) == -1 && errno == EAGAIN;
}

START_TEST(sent_while_the_application_sleeps)
{
	open_with(8, 1000);
	ck_assert_int_eq(add("one", 3, NULL, NULL), 0);
	expect("HTTP/1.1 200 OK\r\n\r\none");
	ck_assert_int_eq(add("two", 3, NULL, NULL), 0);
	expect("two");
	done();
}
END_TEST

START_TEST(not_sent_before_it_is_due)
{
	int64_t now = clock_us();

	open_with(8, FOREVER_US);
	ck_assert(flusher_due_at(&f) == CLOCK_NEVER);
	ck_assert_int_eq(add("one", 3, NULL, NULL), 0);
	ck_assert_int_ge(flusher_due_at(&f), now + FOREVER_US);
	ck_assert(f.armed_at != CLOCK_NEVER);
	ck_assert(nothing_came());
	ck_assert_int_eq(push(), 0);
	ck_assert(flusher_due_at(&f) == CLOCK_NEVER);
	expect("HTTP/1.1 200 OK\r\n\r\none");
	ck_assert_uint_eq(f.bytes_sent, 22);
	done();
}
END_TEST

START_TEST(the_oldest_byte_counts)
{
	int64_t due;

	open_with(8, FOREVER_US);
	ck_assert_int_eq(add("one", 3, NULL, NULL), 0);
	due = flusher_due_at(&f);
	while (clock_us() == due - FOREVER_US)
		;
	ck_assert_int_eq(add("two", 3, NULL, NULL), 0);
	ck_assert_int_eq(flusher_due_at(&f), due);
	done();
}
END_TEST

/* When does the timer run out?  In us, 0: it is not armed. */
static int64_t
timer_left(void)
{
	struct itimerspec t;

	ck_assert_int_eq(timerfd_gettime(f.timer_fd, &t), 0);
	return (int64_t)t.it_value.tv_sec * 1000000 + t.it_value.tv_nsec / 1000;
}

/* Armed for a chunk that has gone, it wakes too early for the next one. */
START_TEST(an_early_wake_sends_nothing)
{
	open_with(8, 20000);
	ck_assert_int_eq(add("one", 3, NULL, NULL), 0);
	ck_assert_int_eq(push(), 0);
	expect("HTTP/1.1 200 OK\r\n\r\none");
	f.delay_us = FOREVER_US;
	ck_assert_int_eq(add("two", 3, NULL, NULL), 0);
	while (timer_left() < FOREVER_US / 2)
		poll(NULL, 0, 1);
	ck_assert(nothing_came());
	done();
}
END_TEST

/* Armed for another try, it would wake too late. */
START_TEST(a_timer_is_brought_forward)
{
	open_with(8, FOREVER_US);
	ck_assert_int_eq(add("one", 3, NULL, NULL), 0);
	ck_assert_int_eq(push(), 0);
	f.delay_us = 1000;
	ck_assert_int_eq(add("two", 3, NULL, NULL), 0);
	expect("HTTP/1.1 200 OK\r\n\r\nonetwo");
	done();
}
END_TEST

START_TEST(no_delay_no_thread)
{
	open_with(8, 0);
	ck_assert_int_eq(add("one", 3, NULL, NULL), 0);
	ck_assert(!f.has_thread);
	expect("HTTP/1.1 200 OK\r\n\r\none");
	done();
}
END_TEST

/* Write until the kernel takes no more; how many bytes of body that was. */
static size_t
fill(void)
{
	static char bytes[1024];
	int size = 4096;
	size_t n = 0;

	setsockopt(server, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	memset(bytes, 'x', sizeof(bytes));
	do {
		ck_assert_int_eq(add(bytes, sizeof(bytes), NULL, NULL), 0);
		ck_assert_int_eq(push(), 0);
		flusher_release(&f);
		n += sizeof(bytes);
	} while (is_empty());
	return n;
}

START_TEST(the_rest_goes_when_the_client_reads)
{
	char c;
	size_t n;

	open_with(8, 1000);
	n = fill();
	ck_assert(!is_empty());
	ck_assert(flusher_due_at(&f) != CLOCK_NEVER);
	expect("HTTP/1.1 200 OK\r\n\r\n");
	while (n--) {
		receive(&c, 1);
		ck_assert_int_eq(c, 'x');
	}
	done();
}
END_TEST

START_TEST(a_client_that_is_full_is_not_asked_at_once)
{
	open_with(8, 0);
	fill();
	ck_assert_int_gt(flusher_due_at(&f), clock_us());
	done();
}
END_TEST

START_TEST(an_error_stays)
{
	open_with(8, FOREVER_US);
	close(client);
	ck_assert_int_eq(add("one", 3, NULL, NULL), 0);
	ck_assert_int_eq(push(), -1);
	ck_assert_int_eq(errno, EPIPE);
	errno = 0;
	ck_assert_int_eq(push(), -1);
	ck_assert_int_eq(errno, EPIPE);
	ck_assert_int_eq(add("two", 3, NULL, NULL), -1);
	ck_assert(flusher_due_at(&f) == CLOCK_NEVER);
	client = -1;
	done();
}
END_TEST

/* The thread meets the error; the next call of the main thread tells. */
START_TEST(an_error_of_the_thread_is_found)
{
	int r = 0;

	open_with(8, 1000);
	close(client);
	ck_assert_int_eq(add("one", 3, NULL, NULL), 0);
	while (flusher_due_at(&f) != CLOCK_NEVER)
		;
	flusher_lock(&f);
	r = flusher_schedule(&f);
	flusher_unlock(&f);
	ck_assert_int_eq(r, -1);
	ck_assert_int_eq(errno, EPIPE);
	client = -1;
	done();
}
END_TEST

struct count {
	pthread_t thread;
	int n;
	bool elsewhere;
};

static void
count_release(void *arg)
{
	struct count *c = arg;

	c->n++;
	c->elsewhere |= !pthread_equal(c->thread, pthread_self());
	/* the lock is free: a callback may take its time, or fork */
	flusher_lock(&f);
	flusher_unlock(&f);
}

START_TEST(released_on_the_main_thread)
{
	struct count c = {.thread = pthread_self()};

	open_with(8, 1000);
	ck_assert_int_eq(add("one", 3, count_release, &c), 0);
	ck_assert_int_eq(add("two", 3, count_release, &c), 0);
	expect("HTTP/1.1 200 OK\r\n\r\nonetwo");
	while (!is_empty())
		;
	ck_assert_int_eq(c.n, 0);
	flusher_release(&f);
	ck_assert_int_eq(c.n, 2);
	f.delay_us = FOREVER_US;
	ck_assert_int_eq(add("three", 5, count_release, &c), 0);
	flusher_close(&f); /* dropped: released all the same */
	ck_assert_int_eq(c.n, 3);
	ck_assert(!c.elsewhere);
	done();
}
END_TEST

static bool
status_has(const char *tid, const char *format, void *value)
{
	char path[300], line[256];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	file = fopen(path, "r");
	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, format, value) == 1;
	if (file)
		fclose(file);
	return found;
}

/* How many flush threads are there?  The mask of the last one in *ret_mask. */
static int
count_threads(unsigned long *ret_mask)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	char name[256];
	int n = 0;

	while ((e = readdir(d)))
		if (status_has(e->d_name, "Name: %255s", name) &&
			strcmp(name, "narwhal-flush") == 0) {
			n++;
			status_has(e->d_name, "SigBlk: %lx", ret_mask);
		}
	closedir(d);
	return n;
}

START_TEST(a_thread_without_signals)
{
	const unsigned long want = 1UL << (SIGTERM - 1) | 1UL << (SIGUSR1 - 1);
	unsigned long mask = 0;

	open_with(8, 1000);
	ck_assert_int_eq(count_threads(&mask), 0);
	ck_assert_int_eq(add("one", 3, NULL, NULL), 0);
	expect("HTTP/1.1 200 OK\r\n\r\none"); /* it is well under way */
	ck_assert_int_eq(count_threads(&mask), 1);
	ck_assert_uint_eq(mask & want, want);
	done();
	/* it is joined; the kernel may show it for a moment longer */
	while (count_threads(&mask) != 0)
		;
}
END_TEST

START_TEST(forgotten_after_a_fork)
{
	int status;
	pid_t pid;

	open_with(8, FOREVER_US);
	ck_assert_int_eq(add("one", 3, NULL, NULL), 0);
	pid = fork();
	if (pid == 0) {
		flusher_forget(&f);
		_exit(push() == -1 && errno == ECANCELED &&
					add("two", 3, NULL, NULL) == -1
				? 0
				: 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert(nothing_came());
	ck_assert_int_eq(push(), 0);
	expect("HTTP/1.1 200 OK\r\n\r\none");
	done();
}
END_TEST

/* ---- both threads at once, for the thread sanitizer ---- */

#define ROUNDS 200
#define PER_ROUND 50

static void *
read_all(void *arg)
{
	struct pollfd p = {.fd = client, .events = POLLIN};
	struct buf *b = arg;
	ssize_t n;

	for (;;) {
		poll(&p, 1, -1);
		buf_reserve(b, 4096);
		n = read(client, b->p + b->len, 4096);
		if (n == 0)
			return NULL;
		if (n > 0)
			b->len += (size_t)n;
	}
}

static void
one_response(int round, struct buf *want, struct count *c)
{
	static char text[PER_ROUND][16];
	struct pollfd p = {.fd = server, .events = POLLOUT};
	int i, n;

	flusher_open(&f, server);
	buf_add_str(&f.queue.head, STR("H\r\n"));
	queue_set_head(&f.queue, QUEUE_LENGTH, 1, true);
	buf_add_str(want, STR("H\r\n\r\n"));
	for (i = 0; i < PER_ROUND; i++) {
		n = snprintf(text[i], sizeof(text[i]), "%d.%d;", round, i);
		buf_add(want, text[i], (size_t)n);
		add(text[i], (size_t)n, i % 3 ? NULL : count_release, c);
		while (i % 8 == 7 && push() == 0 && !is_empty())
			poll(&p, 1, -1);
		flusher_release(&f);
	}
	while (push() == 0 && !is_empty())
		poll(&p, 1, -1);
	flusher_close(&f);
}

START_TEST(both_at_once)
{
	struct count c = {.thread = pthread_self()};
	struct buf want, got;
	pthread_t reader;

	buf_init(&want);
	buf_init(&got);
	open_with(16, _i);
	flusher_close(&f);
	ck_assert_int_eq(pthread_create(&reader, NULL, read_all, &got), 0);
	for (int round = 0; round < ROUNDS; round++)
		one_response(round, &want, &c);
	shutdown(server, SHUT_WR);
	pthread_join(reader, NULL);
	ck_assert_uint_eq(got.len, want.len);
	ck_assert_mem_eq(got.p, want.p, want.len);
	ck_assert_int_eq(c.n, ROUNDS * ((PER_ROUND + 2) / 3));
	ck_assert(!c.elsewhere);
	done();
	buf_done(&want);
	buf_done(&got);
}
END_TEST

Suite *flusher_suite(void);

Suite *
flusher_suite(void)
{
	Suite *s = suite_create("flusher");
	TCase *t = tcase_create("flusher");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, sent_while_the_application_sleeps);
	tcase_add_test(t, not_sent_before_it_is_due);
	tcase_add_test(t, the_oldest_byte_counts);
	tcase_add_test(t, an_early_wake_sends_nothing);
	tcase_add_test(t, a_timer_is_brought_forward);
	tcase_add_test(t, no_delay_no_thread);
	tcase_add_test(t, the_rest_goes_when_the_client_reads);
	tcase_add_test(t, a_client_that_is_full_is_not_asked_at_once);
	tcase_add_test(t, an_error_stays);
	tcase_add_test(t, an_error_of_the_thread_is_found);
	tcase_add_test(t, released_on_the_main_thread);
	tcase_add_test(t, a_thread_without_signals);
	tcase_add_test(t, forgotten_after_a_fork);
	tcase_add_loop_test(t, both_at_once, 1, 4); /* delays in us */
	suite_add_tcase(s, t);
	return s;
}
