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
#include <sys/stat.h>
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

START_TEST(a_log_is_appended_to)
{
	char folder[] = "/tmp/narwhal-fd-XXXXXX", path[64];
	struct stat st;
	int fd;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/log", folder);
	for (int i = 0; i < 2; i++) {
		fd = fd_open_append(path);
		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
		ck_assert_int_eq(write(fd, "ab", 2), 2);
		close(fd);
	}
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_size, 4);
	ck_assert_int_eq(fd_open_append(folder), -1);
	ck_assert_int_eq(errno, EISDIR);
	unlink(path);
	rmdir(folder);
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
	tcase_add_test(tc, a_log_is_appended_to);
	tcase_add_test(tc, unread_bytes);
	suite_add_tcase(s, tc);
	return s;
}
