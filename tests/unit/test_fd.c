/*
 * test_fd.c -- small helpers for descriptors.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

Suite *fd_suite(void);

START_TEST(closing)
{
	int fd = dup(0), copy = fd;

	errno = EDOM;
	fd_close(&fd);
	ck_assert_int_eq(fd, -1);
	ck_assert_int_eq(fcntl(copy, F_GETFD), -1);
	errno = EDOM;
	fd_close(&fd);
	ck_assert_int_eq(errno, EDOM);
	/* errno stays even when close(2) fails */
	fd = copy;
	fd_close(&fd);
	ck_assert_int_eq(errno, EDOM);
}
END_TEST

START_TEST(flags)
{
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(fd_set_nonblock(fds[0], true), 0);
	ck_assert(fcntl(fds[0], F_GETFL) & O_NONBLOCK);
	ck_assert_int_eq(fd_set_nonblock(fds[0], false), 0);
	ck_assert(!(fcntl(fds[0], F_GETFL) & O_NONBLOCK));
	ck_assert_int_eq(fd_set_cloexec(fds[0], true), 0);
	ck_assert_int_eq(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fd_set_cloexec(fds[0], false), 0);
	ck_assert_int_eq(fcntl(fds[0], F_GETFD), 0);
	close(fds[0]);
	ck_assert_int_eq(fd_set_cloexec(fds[0], true), -1);
	ck_assert_int_eq(errno, EBADF);
	close(fds[1]);
}
END_TEST

START_TEST(counting)
{
	long before = fd_count();
	int fd = dup(0);

	ck_assert_int_gt(before, 0);
	ck_assert_int_eq(fd_count(), before + 1);
	close(fd);
	ck_assert_int_eq(fd_count(), before);
}
END_TEST

START_TEST(raising_the_limit)
{
	struct rlimit r;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &r), 0);
	r.rlim_cur = 64;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &r), 0);
	ck_assert_int_eq(fd_raise_limit(), (long)r.rlim_max);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &r), 0);
	ck_assert_uint_eq(r.rlim_cur, r.rlim_max);
}
END_TEST

/* In a child without them, as some starters leave theirs. */
START_TEST(filling_the_standard_ones)
{
	int status, fd;
	pid_t pid = fork();

	if (pid == 0) {
		close(0);
		close(2);
		if (fd_fill_standard() == -1 || fcntl(0, F_GETFD) != 0 ||
			fcntl(2, F_GETFD) != 0)
			_exit(1);
		fd = open("/dev/null", O_RDONLY);
		_exit(fd > 2 ? 0 : 2);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(unread_bytes)
{
	char p[8];
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	ck_assert_int_eq(fd_unread(fds[0]), 0);
	ck_assert_int_eq(write(fds[1], "abc", 3), 3);
	ck_assert_int_eq(fd_unread(fds[0]), 3);
	ck_assert_int_eq(read(fds[0], p, 2), 2);
	ck_assert_int_eq(fd_unread(fds[0]), 1);
	ck_assert_int_eq(fd_unread(-1), 0);
	close(fds[0]);
	close(fds[1]);
}
END_TEST

Suite *
fd_suite(void)
{
	Suite *s = suite_create("fd");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, closing);
	tcase_add_test(tc, flags);
	tcase_add_test(tc, counting);
	tcase_add_test(tc, raising_the_limit);
	tcase_add_test(tc, unread_bytes);
	tcase_add_test(tc, filling_the_standard_ones);
	suite_add_tcase(s, tc);
	return s;
}
