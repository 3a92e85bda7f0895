/*
 * test_logfile.c -- logs, and what somebody may have put in their place.
 *
 * What only root refuses is skipped for others, who are told.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/logfile.h"

Suite *logfile_suite(void);

#define SOMEBODY 4242

static char folder[40];
static const char *why;

static void
setup(void)
{
	strcpy(folder, "/tmp/narwhal-logfile-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	ck_assert_int_eq(mkdir("theirs", 0755), 0);
	why = "";
}

static void
teardown(void)
{
	char command[80];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(system(command), 0);
}

/* Open and write a byte; the size of `file` tells where that went. */
static void
must_reach(const char *path, const char *file)
{
	struct stat before = {0}, after;
	int fd;

	stat(file, &before);
	ck_assert_msg(logfile_check(path, &why) == 0, "%s: %s", path, why);
	ck_assert_int_eq(stat(file, &after), before.st_nlink ? 0 : -1);
	fd = logfile_open(path, 0644, &why);
	ck_assert_msg(fd != -1, "%s: %s", path, why);
	ck_assert_int_eq(write(fd, "x", 1), 1);
	fd_close(&fd);
	ck_assert_int_eq(stat(file, &after), 0);
	ck_assert_int_eq(after.st_size, before.st_size + 1);
}

/* Found when it is opened only. */
static void
must_refuse_late(const char *path, const char *reason)
{
	ck_assert_msg(logfile_check(path, &why) == 0, "%s: %s", path, why);
	ck_assert_int_eq(logfile_open(path, 0644, &why), -1);
	ck_assert_msg(strstr(why, reason), "%s: %s", path, why);
}

static void
must_refuse(const char *path, const char *reason)
{
	ck_assert_int_eq(logfile_check(path, &why), -1);
	ck_assert_msg(strstr(why, reason) || strstr(why, "Neither a file"),
		"%s: %s", path, why);
	ck_assert_int_eq(logfile_open(path, 0644, &why), -1);
	ck_assert_msg(strstr(why, reason), "%s: %s", path, why);
}

START_TEST(appended_to)
{
	struct stat st;
	mode_t mask = umask(0);
	int fd = logfile_open("log", 0640, &why);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	ck_assert_int_eq(write(fd, "ab", 2), 2);
	fd_close(&fd);
	umask(mask);
	must_reach("log", "log");
	must_reach("./theirs/..//log", "log");
	must_reach("theirs/log", "theirs/log");
	ck_assert_int_eq(stat("log", &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0640);
	ck_assert_int_eq(st.st_size, 4);
}
END_TEST

START_TEST(absolute)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/log", folder);
	must_reach(path, "log");
}
END_TEST

START_TEST(links_of_ours)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/theirs", folder);
	ck_assert_int_eq(symlink("file", "link"), 0);
	must_reach("link", "file"); /* dangling at first */
	must_reach("link", "file");
	ck_assert_int_eq(symlink(path, "way"), 0);
	ck_assert_int_eq(symlink("way/log", "second"), 0);
	must_reach("second", "theirs/log");
	must_reach("way/../theirs/log", "theirs/log");
	ck_assert_int_eq(symlink("round", "round"), 0);
	must_refuse("round", "ink");
}
END_TEST

/* Such as /dev/stderr, which leads to /proc/self/fd/2. */
START_TEST(links_of_the_kernel)
{
	char path[80];
	int fd = open("file", O_CREAT | O_WRONLY, 0600), pipe_fds[2];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	must_reach(path, "file");
	ck_assert_int_eq(symlink(path, "link"), 0);
	must_reach("link", "file");
	fd_close(&fd);
	ck_assert_int_eq(pipe(pipe_fds), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", pipe_fds[1]);
	fd = logfile_open(path, 0644, &why);
	ck_assert_msg(fd != -1, "%s", why);
	fd_close(&fd);
	fd_close(&pipe_fds[0]);
	fd_close(&pipe_fds[1]);
}
END_TEST

/* Made by the user whom the folder belongs to, so that root should follow. */
START_TEST(links_of_others)
{
	if (geteuid() != 0) {
		fprintf(stderr, "skipped: links_of_others (not root)\n");
		return;
	}
	ck_assert_int_eq(symlink("/etc/nologin", "theirs/log"), 0);
	ck_assert_int_eq(lchown("theirs/log", SOMEBODY, SOMEBODY), 0);
	must_refuse("theirs/log", "belongs to another user");
	ck_assert_int_eq(access("/etc/nologin", F_OK), -1);
	ck_assert_int_eq(symlink("/etc", "theirs/way"), 0);
	ck_assert_int_eq(lchown("theirs/way", SOMEBODY, SOMEBODY), 0);
	must_refuse("theirs/way/nologin", "belongs to another user");
	ck_assert_int_eq(access("/etc/nologin", F_OK), -1);
	/* through one of root's as well */
	ck_assert_int_eq(symlink("theirs/log", "mine"), 0);
	must_refuse("mine", "belongs to another user");
	/* but a folder of theirs without such links is good */
	ck_assert_int_eq(chown("theirs", SOMEBODY, SOMEBODY), 0);
	must_reach("theirs/new", "theirs/new");
}
END_TEST

/* One name in a folder where others can make names, the other is root's. */
START_TEST(hard_links_of_others)
{
	static const struct {
		uid_t owner;
		mode_t mode;
	} open_folders[] = {{SOMEBODY, 0755}, {0, 0775}, {0, 01777}};
	struct stat st;
	int reader;

	if (geteuid() != 0) {
		fprintf(stderr, "skipped: hard_links_of_others (not root)\n");
		return;
	}
	must_reach("mine", "mine");
	ck_assert_int_eq(link("mine", "theirs/log"), 0);
	must_reach("theirs/log", "mine"); /* who but root made it? */
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(chown("theirs", open_folders[i].owner, 0), 0);
		ck_assert_int_eq(chmod("theirs", open_folders[i].mode), 0);
		must_refuse("theirs/log", "other names");
		must_reach("mine", "mine");
		must_reach("theirs/new", "theirs/new");
	}
	ck_assert_int_eq(stat("mine", &st), 0);
	ck_assert_int_eq(st.st_size, 5);
	ck_assert_int_eq(unlink("mine"), 0);
	must_reach("theirs/log", "theirs/log");
	ck_assert_int_eq(mkfifo("pipe", 0600), 0);
	ck_assert_int_eq(link("pipe", "theirs/pipe"), 0);
	reader = open("pipe", O_RDONLY | O_NONBLOCK);
	must_refuse("theirs/pipe", "other names");
	fd_close(&reader);
}
END_TEST

START_TEST(pipes)
{
	char c = 0;
	int r, w;

	ck_assert_int_eq(mkfifo("pipe", 0600), 0);
	must_refuse_late("pipe", "nobody reads");
	r = open("pipe", O_RDONLY | O_NONBLOCK);
	w = logfile_open("pipe", 0644, &why);
	ck_assert_msg(w != -1, "%s", why);
	ck_assert_int_eq(fcntl(w, F_GETFL) & O_NONBLOCK, 0);
	ck_assert_int_eq(write(w, "x", 1), 1);
	ck_assert_int_eq(read(r, &c, 1), 1);
	fd_close(&r);
	fd_close(&w);
}
END_TEST

START_TEST(no_logs)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "socket"};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	must_refuse("socket", "a socket");
	fd_close(&fd);
	must_refuse("theirs", strerror(EISDIR));
	must_refuse_late("missing/log", strerror(ENOENT));
	must_refuse("socket/log", strerror(ENOTDIR));
	must_refuse_late("theirs/", "");
	must_refuse_late("", strerror(ENOENT));
}
END_TEST

START_TEST(devices)
{
	int fd = logfile_open("/dev/null", 0644, &why);

	ck_assert_msg(fd != -1, "%s", why);
	fd_close(&fd);
}
END_TEST

START_TEST(too_long)
{
	char path[5000];

	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	must_refuse(path, strerror(ENAMETOOLONG));
	memset(path, '/', sizeof(path) - 1);
	must_refuse(path, strerror(ENAMETOOLONG));
}
END_TEST

Suite *
logfile_suite(void)
{
	Suite *s = suite_create("logfile");
	TCase *tc = tcase_create("all");

	tcase_set_tags(tc, "spoils"); /* the current directory */
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, appended_to);
	tcase_add_test(tc, absolute);
	tcase_add_test(tc, links_of_ours);
	tcase_add_test(tc, links_of_the_kernel);
	tcase_add_test(tc, links_of_others);
	tcase_add_test(tc, hard_links_of_others);
	tcase_add_test(tc, pipes);
	tcase_add_test(tc, no_logs);
	tcase_add_test(tc, devices);
	tcase_add_test(tc, too_long);
	suite_add_tcase(s, tc);
	return s;
}
