/*
 * test_notify.c -- what a supervisor's socket receives.
 */
#include <check.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "proc/notify.h"

Suite *notify_suite(void);

/* A socket at that name (@: abstract), which the environment names. */
static int
listen_at(const char *name)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strcpy(un.sun_path, name);
	if (name[0] == '@')
		un.sun_path[0] = '\0';
	ck_assert_int_eq(
		bind(fd, (struct sockaddr *)&un,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				strlen(name))),
		0);
	setenv("NOTIFY_SOCKET", name, 1);
	return fd;
}

static void
must_hear(int fd, const char *text)
{
	char p[100] = "";

	notify_send(text);
	ck_assert_int_eq(recv(fd, p, sizeof(p), MSG_DONTWAIT), strlen(text));
	ck_assert_str_eq(p, text);
}

START_TEST(path)
{
	char dir[] = "/tmp/narwhal-notify.XXXXXX", name[80];
	long fds;
	int fd;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(name, sizeof(name), "%s/socket", dir);
	fd = listen_at(name);
	fds = fd_count();
	notify_init();
	ck_assert_ptr_null(getenv("NOTIFY_SOCKET"));
	must_hear(fd, "READY=1");
	must_hear(fd, "RELOADING=1\nMONOTONIC_USEC=5");
	ck_assert_int_eq(fd_count(), fds);
	/* Nobody there any more: nothing happens. */
	fd_close(&fd);
	notify_send("STOPPING=1");
	unlink(name);
	notify_send("STOPPING=1");
	rmdir(dir);
}
END_TEST

START_TEST(abstract)
{
	char name[80];
	int fd;

	snprintf(name, sizeof(name), "@narwhal-notify-%d", (int)getpid());
	fd = listen_at(name);
	notify_init();
	must_hear(fd, "READY=1");
	fd_close(&fd);
}
END_TEST

static void
must_have(int fd, const char *text)
{
	char p[100] = "";

	recv(fd, p, sizeof(p) - 1, MSG_DONTWAIT);
	ck_assert_str_eq(p, text);
}

/* Make the queue full of what a test does not look at. */
static int
fill(int fd)
{
	int other = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0), n = 0;
	struct sockaddr_un un;
	socklen_t len = sizeof(un);

	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&un, &len), 0);
	while (sendto(other, "x", 1, 0, (struct sockaddr *)&un, len) == 1)
		n++;
	fd_close(&other);
	return n;
}

/* The supervisor is busy: what it missed it is told later, in order. */
START_TEST(full_queue)
{
	char name[80];
	int fd, n;

	snprintf(name, sizeof(name), "@narwhal-notify-%d", (int)getpid());
	fd = listen_at(name);
	notify_init();
	n = fill(fd);
	notify_send("RELOADING=1\nMONOTONIC_USEC=5");
	notify_send("STATUS=a");
	notify_send("STATUS=b");
	notify_send("READY=1");
	ck_assert_int_eq(notify_due(1000), 101000);
	must_have(fd, "x"); /* there is room for one */
	ck_assert_int_eq(notify_due(2000), 102000);
	while (--n > 0)
		must_have(fd, "x");
	notify_send("STOPPING=1");
	ck_assert_int_eq(notify_due(3000), CLOCK_NEVER);
	must_have(fd, "RELOADING=1\nMONOTONIC_USEC=5");
	must_have(fd, "STATUS=b");
	must_have(fd, "READY=1");
	must_have(fd, "STOPPING=1");
	must_have(fd, "");
	fd_close(&fd);
}
END_TEST

/* There is an end to what is kept; the last words are what counts. */
START_TEST(full_for_long)
{
	char name[80], p[100];
	int fd, n, kept = 0;
	int64_t at;

	snprintf(name, sizeof(name), "@narwhal-notify-%d", (int)getpid());
	fd = listen_at(name);
	notify_init();
	n = fill(fd);
	for (int i = 0; i < 1000; i++) {
		notify_send("RELOADING=1");
		notify_send("READY=1");
	}
	while (n-- > 0)
		must_have(fd, "x");
	do {
		at = notify_due(0);
		while (memset(p, 0, sizeof(p)),
			recv(fd, p, sizeof(p) - 1, MSG_DONTWAIT) > 0)
			ck_assert_str_eq(
				p, kept++ % 2 ? "READY=1" : "RELOADING=1");
	} while (at != CLOCK_NEVER);
	ck_assert_int_gt(kept, 0);
	ck_assert_int_lt(kept, 100);
	ck_assert_int_eq(kept % 2, 0);
	fd_close(&fd);
}
END_TEST

START_TEST(no_socket)
{
	char name[200];

	unsetenv("NOTIFY_SOCKET");
	notify_init();
	notify_send("READY=1");
	memset(name, 'x', sizeof(name));
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	setenv("NOTIFY_SOCKET", name, 1);
	notify_init();
	notify_send("READY=1");
	ck_assert_ptr_null(getenv("NOTIFY_SOCKET"));
	setenv("NOTIFY_SOCKET", "relative", 1);
	notify_init();
	notify_send("READY=1");
	ck_assert_int_eq(access("relative", F_OK), -1);
}
END_TEST

START_TEST(watchdog)
{
	char name[80], p[40] = "";
	int fd;

	snprintf(name, sizeof(name), "@narwhal-watchdog-%d", (int)getpid());
	fd = listen_at(name);
	setenv("WATCHDOG_USEC", "3000000", 1);
	snprintf(p, sizeof(p), "%d", (int)getpid() + (_i ? 1 : 0));
	setenv("WATCHDOG_PID", p, 1);
	notify_init();
	ck_assert_ptr_null(getenv("WATCHDOG_USEC"));
	ck_assert_ptr_null(getenv("WATCHDOG_PID"));
	if (_i) { /* it is about another process */
		ck_assert_int_eq(notify_due(1000), CLOCK_NEVER);
		ck_assert_int_eq(recv(fd, p, sizeof(p), MSG_DONTWAIT), -1);
		fd_close(&fd);
		return;
	}
	ck_assert_int_eq(notify_due(1000), 1501000);
	ck_assert_int_eq(recv(fd, p, sizeof(p), MSG_DONTWAIT), 10);
	ck_assert_int_eq(memcmp(p, "WATCHDOG=1", 10), 0);
	ck_assert_int_eq(notify_due(1500999), 1501000);
	ck_assert_int_eq(recv(fd, p, sizeof(p), MSG_DONTWAIT), -1);
	ck_assert_int_eq(notify_due(1501000), 3001000);
	ck_assert_int_eq(recv(fd, p, sizeof(p), MSG_DONTWAIT), 10);
	fd_close(&fd);
}
END_TEST

Suite *
notify_suite(void)
{
	Suite *s = suite_create("notify");
	TCase *t = tcase_create("notify");

	tcase_add_test(t, path);
	tcase_add_test(t, abstract);
	tcase_add_test(t, full_queue);
	tcase_add_test(t, full_for_long);
	tcase_add_test(t, no_socket);
	tcase_add_loop_test(t, watchdog, 0, 2);
	suite_add_tcase(s, t);
	return s;
}
