/*
 * test_leash.c -- messages, descriptors, and what is not one of ours.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "proc/leash.h"

Suite *leash_suite(void);

static int up, down; /* the master's end, the worker's end */
static long fds_before;

static void
set_up(void)
{
	fds_before = fd_count();
	ck_assert_int_eq(leash_open(&up, &down), 0);
}

/* Nothing leaks, whatever came. */
static void
tear_down(void)
{
	fd_close(&up);
	fd_close(&down);
	ck_assert_int_eq(fd_count(), fds_before);
}

START_TEST(words)
{
	static const enum leash_word all[] = {LEASH_READY, LEASH_RETIRING,
		LEASH_RETIRE, LEASH_DRAIN, LEASH_LOOK};
	struct leash_message m;

	ck_assert_int_eq(leash_receive(up, &m), 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		m = (struct leash_message){
			all[i], UINT64_C(1) << 63 | i, -1, -1};
		ck_assert_int_eq(leash_send(down, &m), 0);
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		ck_assert_int_eq(leash_receive(up, &m), 1);
		ck_assert_int_eq(m.word, all[i]);
		ck_assert_uint_eq(m.mask, UINT64_C(1) << 63 | i);
		ck_assert_int_eq(m.error_fd, -1);
		ck_assert_int_eq(m.access_fd, -1);
	}
	ck_assert_int_eq(leash_receive(up, &m), 0);
}
END_TEST

/* A busy worker reads none of them: one is enough, and none with others. */
START_TEST(looks_do_not_pile_up)
{
	struct leash_message m = {LEASH_RETIRE, 0, -1, -1};

	for (int i = 0; i < 10000; i++)
		leash_look(down);
	ck_assert_int_eq(leash_send(down, &m), 0);
	ck_assert_int_eq(leash_receive(up, &m), 1);
	ck_assert_int_eq(m.word, LEASH_LOOK);
	leash_look(down);
	ck_assert_int_eq(leash_receive(up, &m), 1);
	ck_assert_int_eq(m.word, LEASH_RETIRE);
	ck_assert_int_eq(leash_receive(up, &m), 0);
	leash_look(down);
	ck_assert_int_eq(leash_receive(up, &m), 1);
	ck_assert_int_eq(m.word, LEASH_LOOK);
}
END_TEST

/* In each row: is there an error log, an access log? */
START_TEST(descriptors)
{
	int a[2], b[2];
	struct leash_message m = {.word = LEASH_LOGS};
	char c[2];

	ck_assert(pipe(a) == 0 && pipe(b) == 0);
	m.error_fd = _i & 1 ? a[1] : -1;
	m.access_fd = _i & 2 ? b[1] : -1;
	ck_assert_int_eq(leash_send(up, &m), 0);
	ck_assert_int_eq(leash_receive(down, &m), 1);
	ck_assert_int_eq(m.word, LEASH_LOGS);
	ck_assert_int_eq(m.error_fd != -1, (_i & 1) != 0);
	ck_assert_int_eq(m.access_fd != -1, (_i & 2) != 0);
	if (_i & 1) {
		ck_assert_int_eq(write(m.error_fd, "e", 1), 1);
		ck_assert_int_eq(read(a[0], c, 2), 1);
		ck_assert_int_eq(
			fcntl(m.error_fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	}
	if (_i & 2) {
		ck_assert_int_eq(write(m.access_fd, "a", 1), 1);
		ck_assert_int_eq(read(b[0], c, 2), 1);
	}
	fd_close(&m.error_fd);
	fd_close(&m.access_fd);
	for (int i = 0; i < 2; i++) {
		fd_close(&a[i]);
		fd_close(&b[i]);
	}
}
END_TEST

START_TEST(other_side_is_gone)
{
	struct leash_message m = {LEASH_READY, 0, -1, -1};

	ck_assert_int_eq(leash_send(down, &m), 0);
	fd_close(&down);
	/* Its last words are heard. */
	ck_assert_int_eq(leash_receive(up, &m), 1);
	ck_assert_int_eq(m.word, LEASH_READY);
	ck_assert_int_eq(leash_receive(up, &m), 1);
	ck_assert_int_eq(m.word, LEASH_EOF);
	ck_assert_int_eq(leash_send(up, &m), -1);
	ck_assert_int_eq(errno, EPIPE);
}
END_TEST

/* It left without having read what was sent: the kernel says ECONNRESET. */
START_TEST(gone_with_unread_messages)
{
	struct leash_message m = {LEASH_RETIRE, 0, -1, -1};

	ck_assert_int_eq(leash_send(up, &m), 0);
	fd_close(&down);
	if (_i) {
		ck_assert_int_eq(leash_send(up, &m), -1);
		ck_assert_int_eq(errno, EPIPE);
	}
	ck_assert_int_eq(leash_receive(up, &m), 1);
	ck_assert_int_eq(m.word, LEASH_EOF);
}
END_TEST

START_TEST(not_ours)
{
	struct leash_message m;
	char junk[200];

	memset(junk, 0x5a, sizeof(junk));
	for (size_t n = 1; n < sizeof(junk); n++) {
		ck_assert_int_eq(send(down, junk, n, 0), n);
		ck_assert_int_eq(leash_receive(up, &m), -1);
		ck_assert_int_eq(errno, EPROTO);
	}
	/* What comes behind is heard. */
	m = (struct leash_message){LEASH_READY, 0, -1, -1};
	ck_assert_int_eq(leash_send(down, &m), 0);
	ck_assert_int_eq(leash_receive(up, &m), 1);
}
END_TEST

/* More descriptors than anybody sends; tear_down() counts them. */
START_TEST(unasked_descriptors)
{
	char junk[24] = {0};
	struct iovec iov = {junk, sizeof(junk)};
	char control[CMSG_SPACE(5 * sizeof(int))] = {0};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *cm = CMSG_FIRSTHDR(&msg);
	int fds[5] = {0, 1, 2, 0, 1};
	struct leash_message m;

	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(cm), fds, sizeof(fds));
	ck_assert_int_eq(sendmsg(down, &msg, 0), sizeof(junk));
	ck_assert_int_eq(leash_receive(up, &m), -1);
	ck_assert_int_eq(errno, EPROTO);
}
END_TEST

START_TEST(never_blocks)
{
	struct leash_message m = {LEASH_RETIRE, 0, -1, -1};
	int n = 0;

	while (leash_send(up, &m) == 0)
		ck_assert_int_lt(n++, 1000000);
	ck_assert_int_eq(errno, EAGAIN);
}
END_TEST

Suite *
leash_suite(void)
{
	Suite *s = suite_create("leash");
	TCase *t = tcase_create("leash");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, words);
	tcase_add_test(t, looks_do_not_pile_up);
	tcase_add_loop_test(t, descriptors, 0, 4);
	tcase_add_test(t, other_side_is_gone);
	tcase_add_loop_test(t, gone_with_unread_messages, 0, 2);
	tcase_add_test(t, not_ours);
	tcase_add_test(t, unasked_descriptors);
	tcase_add_test(t, never_blocks);
	suite_add_tcase(s, t);
	return s;
}
