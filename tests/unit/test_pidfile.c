/*
 * test_pidfile.c -- who holds a pid file, and when it goes.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "proc/pidfile.h"

Suite *pidfile_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))

static char folder[40], path[60], text[PIDFILE_TEXT_MAX];
static struct pidfile p;

static void
setup(void)
{
	strcpy(folder, "/tmp/narwhal-pidfile-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/pid", folder);
	p.fd = -1;
}

/* Nothing else was left behind: the folder is empty by now. */
static void
teardown(void)
{
	pidfile_close(&p);
	ck_assert_int_eq(rmdir(folder), 0);
}

static void
put(const char *content)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(content, f);
	fclose(f);
}

static void
must_say(long pid)
{
	char said[40] = "", expected[40];
	FILE *f = fopen(path, "r");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_gt(fread(said, 1, sizeof(said) - 1, f), 0);
	fclose(f);
	snprintf(expected, sizeof(expected), "%ld\n", pid);
	ck_assert_str_eq(said, expected);
}

static ino_t
inode(void)
{
	struct stat st;

	ck_assert_int_eq(lstat(path, &st), 0);
	return st.st_ino;
}

START_TEST(taken_and_removed)
{
	struct stat st;
	mode_t mask = umask(077);

	ck_assert_int_eq(pidfile_open(&p, path, text), 0);
	umask(mask);
	must_say(getpid());
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0644);
	ck_assert_int_eq(fcntl(p.fd, F_GETFD), FD_CLOEXEC);
	ck_assert(pidfile_serves(&p, path));
	ck_assert(!pidfile_serves(&p, folder));
	pidfile_close(&p);
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_assert(!pidfile_serves(&p, path));
	pidfile_close(&p);
}
END_TEST

static const char *const stale[] = {"1\n", "", "abc\n", "-1\n", "999999999\n",
	"12345   \n", "0", "\n\n\n", "99999999999999999999999999", "1\n2\n3\n"};

/* The last row is our own number, as after a restart of a container. */
START_TEST(stale_ones_are_replaced)
{
	char own[20];
	ino_t old;

	snprintf(own, sizeof(own), "%d\n", (int)getpid());
	put(_i < N(stale) ? stale[_i] : own);
	old = inode();
	ck_assert_msg(pidfile_open(&p, path, text) == 1, "%s", text);
	ck_assert_ptr_null(strchr(text, '\n'));
	if (_i == 5)
		ck_assert_str_eq(text, "12345   ");
	must_say(getpid());
	ck_assert_uint_ne(inode(), old);
	pidfile_close(&p);
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

START_TEST(held)
{
	struct pidfile other;
	char expected[100];

	ck_assert_int_eq(pidfile_open(&p, path, text), 0);
	ck_assert_int_eq(pidfile_open(&other, path, text), -1);
	ck_assert_int_eq(errno, EBUSY);
	snprintf(expected, sizeof(expected),
		"A running server holds it (it says '%d')", (int)getpid());
	ck_assert_str_eq(text, expected);
	ck_assert_int_eq(other.fd, -1);
	/* Whatever is written into it. */
	put("abc");
	ck_assert_int_eq(pidfile_open(&other, path, text), -1);
	ck_assert_int_eq(errno, EBUSY);
	pidfile_close(&other);
	ck_assert(pidfile_serves(&p, path));
	pidfile_close(&p);
	unlink(path); /* it was no longer ours to remove */
}
END_TEST

/* A file with another text, or another file, belongs to somebody else. */
START_TEST(not_ours_any_more)
{
	ino_t other;

	ck_assert_int_eq(pidfile_open(&p, path, text), 0);
	put("1\n");
	pidfile_close(&p);
	must_say(1);
	unlink(path);
	ck_assert_int_eq(pidfile_open(&p, path, text), 0);
	unlink(path);
	ck_assert(!pidfile_serves(&p, path));
	put("1\n");
	other = inode();
	ck_assert(!pidfile_serves(&p, path));
	pidfile_close(&p);
	ck_assert_uint_eq(inode(), other);
	unlink(path);
}
END_TEST

/* A child that lives on has no share in the lock. */
START_TEST(forgotten_in_a_child)
{
	struct pidfile second;
	int go[2], done[2], status;
	char c = 0;
	pid_t pid;

	ck_assert_int_eq(pipe(go), 0);
	ck_assert_int_eq(pipe(done), 0);
	ck_assert_int_eq(pidfile_open(&p, path, text), 0);
	pid = fork();
	if (pid == 0) {
		pidfile_forget(&p);
		close(go[1]);
		_exit(write(done[1], &c, 1) == 1 && read(go[0], &c, 1) == 0 &&
			access(path, F_OK) == -1);
	}
	ck_assert_int_eq(read(done[0], &c, 1), 1);
	fd_close(&p.fd); /* as if we had been killed */
	ck_assert_int_eq(pidfile_open(&second, path, text), 1);
	pidfile_close(&second);
	close(go[1]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 1 << 8);
}
END_TEST

START_TEST(no_place_for_it)
{
	char name[100];

	snprintf(name, sizeof(name), "%s/none/pid", folder);
	ck_assert_int_eq(pidfile_open(&p, name, text), -1);
	ck_assert_str_eq(text, strerror(ENOENT));
	ck_assert_int_eq(symlink("/dev/null", path), 0);
	ck_assert_int_eq(pidfile_open(&p, path, text), -1);
	ck_assert_str_eq(text, "Not a regular file");
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(pidfile_open(&p, path, text), -1);
	ck_assert_str_eq(text, "Not a regular file");
	unlink(path);
}
END_TEST

/* In a child: take it, say so, hold it until told to end. */
static int
contend(int told, int say)
{
	struct pidfile mine;
	char why[PIDFILE_TEXT_MAX], c;
	int r;

	if (read(told, &c, 1) != 0) /* they all begin at its EOF */
		_exit(2);
	r = pidfile_open(&mine, path, why);
	c = r == -1 ? (errno == EBUSY ? 'l' : 'e') : 'w';
	if (write(say, &c, 1) != 1)
		_exit(2);
	pause();
	_exit(0);
}

/* Of many that begin at a time one wins, be there an old file or not. */
START_TEST(one_wins)
{
	int told[2], say[2], wins = 0;
	pid_t pids[8];
	char c;

	if (_i % 2)
		put("999999999\n");
	ck_assert_int_eq(pipe(told), 0);
	ck_assert_int_eq(pipe(say), 0);
	for (int i = 0; i < N(pids); i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			close(told[1]);
			contend(told[0], say[1]);
		}
	}
	close(told[1]);
	for (int i = 0; i < N(pids); i++) {
		ck_assert_int_eq(read(say[0], &c, 1), 1);
		ck_assert_int_ne(c, 'e');
		wins += c == 'w';
	}
	for (int i = 0; i < N(pids); i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	ck_assert_int_eq(wins, 1);
	ck_assert_int_eq(pidfile_open(&p, path, text), 1);
}
END_TEST

Suite *
pidfile_suite(void)
{
	Suite *s = suite_create("pidfile");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, taken_and_removed);
	tcase_add_loop_test(tc, stale_ones_are_replaced, 0, N(stale) + 1);
	tcase_add_test(tc, held);
	tcase_add_test(tc, not_ours_any_more);
	tcase_add_test(tc, forgotten_in_a_child);
	tcase_add_test(tc, no_place_for_it);
	tcase_add_loop_test(tc, one_wins, 0, 20);
	suite_add_tcase(s, tc);
	return s;
}
