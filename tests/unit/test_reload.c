/*
 * test_reload.c -- a reload from its beginning to its end, without a process.
 *
 * Files and sockets are real; workers are numbers the test reports to the
 * pool, so that each step can be looked at.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/io.h"
#include "base/log.h"
#include "master/reload.h"
#include "worker/access.h"

Suite *reload_suite(void);

static struct master m;
static struct conf_args args;
static char dir[40], ini[80], log_path[80];
static int real_stderr;
static pid_t next_pid;

static void
write_ini(const char *text)
{
	FILE *f = fopen(ini, "w");

	ck_assert_ptr_nonnull(f);
	fprintf(f, "[app]\napp = so:hello\n%s", text);
	fclose(f);
}

static bool
has_logged(const char *text)
{
	size_t n;
	char *p = io_read_file(log_path, 1 << 20, &n);
	bool found = p != NULL && strstr(p, text) != NULL;

	free(p);
	return found;
}

static int64_t
never_runs_out(void *arg, int slot)
{
	(void)arg;
	(void)slot;
	return 0;
}

/* Do on paper what the pool says; returns the slot it spawned into last. */
static int
perform(void)
{
	int slot = -1;

	for (;;) {
		int64_t now = clock_us();
		struct pool_action a =
			pool_next(&m.pool, now, never_runs_out, NULL);

		if (a.act == POOL_SPAWN) {
			board_clear(&m.board, a.slot);
			pool_spawned(&m.pool, a.slot, next_pid++, -1,
				a.generation, now);
			slot = a.slot;
		} else if (a.act == POOL_RETIRE) {
			pool_retired(&m.pool, a.slot, now);
		} else if (a.act == POOL_KILL) {
			pool_killed(&m.pool, a.slot);
		} else {
			return slot;
		}
	}
}

static void
set_up(void)
{
	int fd;

	strcpy(dir, "/tmp/narwhal-reload.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(ini, sizeof(ini), "%s/narwhal.ini", dir);
	snprintf(log_path, sizeof(log_path), "%s/log", dir);
	args = (struct conf_args){
		.path = ini, .path_given = true, .check_format = access_check};
	/* So that the log `-` is a file that can be looked into. */
	real_stderr = dup(2);
	fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	dup2(fd, 2);
	fd_close(&fd);
}

static void
let_go(struct generation *g)
{
	generation_close(g, NULL);
	generation_free(g);
}

static void
tear_down(void)
{
	struct generation *next;
	char command[100];

	log_set_fd(2);
	if (m.trial != NULL) {
		generation_close(m.trial, m.current);
		generation_free(m.trial);
	}
	let_go(m.current);
	for (struct generation *g = m.old; g != NULL; g = next) {
		next = g->next;
		generation_free(
			g); /* what it had open is closed or m.current's */
	}
	board_close(&m.board);
	dup2(real_stderr, 2);
	fd_close(&real_stderr);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	ck_assert_int_eq(system(command), 0);
}

/* One worker of generation 1 serves what the text says. */
static void
serve(const char *text)
{
	struct buf errors;

	buf_init(&errors);
	write_ini(text);
	memset(&m, 0, sizeof(m));
	m.args = &args;
	ck_assert_int_eq(board_open(&m.board, POOL_SLOTS_MAX), 0);
	m.current = generation_load(&args, ++m.last_number, &errors, NULL);
	ck_assert_msg(m.current != NULL, "%s", buf_z(&errors));
	ck_assert_msg(generation_open(m.current, NULL, 0, &errors) == 0, "%s",
		buf_z(&errors));
	log_set_fd(m.current->error_fd);
	pool_init(&m.pool, m.current->conf->workers, 1, 1000000);
	pool_ready(&m.pool, perform(), clock_us());
	buf_done(&errors);
}

static int
port_of(const struct listener *l)
{
	struct sockaddr_in in;
	socklen_t len = sizeof(in);

	ck_assert_int_eq(getsockname(l->fd, (struct sockaddr *)&in, &len), 0);
	return ntohs(in.sin_port);
}

/* A reload whose trial worker gets ready. */
static void
reload_well(const char *text)
{
	uint64_t number = m.last_number;

	write_ini(text);
	reload_begin(&m);
	ck_assert_ptr_nonnull(m.trial);
	perform();
	pool_ready(&m.pool, pool_find_trial(&m.pool), clock_us());
	reload_heed(&m);
	ck_assert_ptr_null(m.trial);
	ck_assert_uint_eq(m.current->number, number + 1);
}

#define TWO "[server]\nbind = 127.0.0.1:0, 127.0.0.2:0\n"

START_TEST(commit)
{
	int kept, gone;

	serve(TWO);
	kept = m.current->listeners[1].fd;
	gone = m.current->listeners[0].fd;
	reload_well("[server]\nbind = 127.0.0.2:0, 127.0.0.3:0\n"
		    "workers = 3\n");
	ck_assert_int_eq(m.current->listeners[0].fd, kept);
	ck_assert_int_eq(m.pool.wanted, 3);
	ck_assert_uint_eq(m.old->number, 1);
	/* Its workers are to drain the first of their two. */
	ck_assert_uint_eq(m.old->removed, 1);
	ck_assert_int_eq(fcntl(gone, F_GETFD), -1);
	ck_assert_int_eq(m.old->error_fd, -1);
	ck_assert(has_logged("listening on 127.0.0.3:"));
	/* The old worker leaves, the others get ready: done. */
	ck_assert(!has_logged("reload done"));
	perform();
	for (int i = 0; i < 8; i++)
		if (m.pool.slots[i].generation == 2)
			pool_ready(&m.pool, i, clock_us());
	perform();
	reload_heed(&m);
	ck_assert(!has_logged("reload done"));
	pool_retiring(&m.pool, 0, clock_us());
	reload_heed(&m);
	ck_assert(has_logged("reload done: generation 2 serves"));
}
END_TEST

/* Older generations learn of what is removed later, each by its own bits. */
START_TEST(removed_over_generations)
{
	serve(TWO);
	reload_well("[server]\nbind = 127.0.0.2:0\n");
	reload_well("[server]\nbind = 127.0.0.3:0\n");
	ck_assert_uint_eq(m.old->number, 2);
	ck_assert_uint_eq(m.old->removed, 1);
	ck_assert_uint_eq(m.old->next->number, 1);
	ck_assert_uint_eq(m.old->next->removed, 3);
}
END_TEST

static const struct {
	const char *text;
	const char *says;
} refusals[] = {
	{"[server]\nwrokers = 4\n", "narwhal.ini:4: "},
	{"[server]\nworkers = 0\n[limits]\nrequest-line = x\n",
		"narwhal.ini:6: "},
	{"[log]\naccess-log-format = %(nonsense\n",
		"narwhal.ini:4: access-log-format: "},
	{"[log]\nerror-log = /no/such/folder/log\n", "/no/such/folder/log"},
	{"[server]\nbind = 127.0.0.3:0, fd:1000\n",
		"cannot bind 'fd:1000': Not a listening socket"},
};

START_TEST(refused)
{
	long fds;
	int fd;

	serve(TWO);
	fds = fd_count();
	fd = m.current->listeners[0].fd;
	write_ini(refusals[_i].text);
	reload_begin(&m);
	ck_assert_ptr_null(m.trial);
	ck_assert_int_eq(perform(), -1);
	ck_assert_uint_eq(m.current->number, 1);
	ck_assert_int_eq(m.current->listeners[0].fd, fd);
	ck_assert_msg(has_logged(refusals[_i].says), "%s", refusals[_i].says);
	ck_assert(has_logged("reload refused"));
	ck_assert_int_eq(fd_count(), fds);
	/* The next one has nothing to suffer from it. */
	reload_well(TWO);
}
END_TEST

START_TEST(trial_dies)
{
	struct pool_death d = {false, false, 4};
	long fds;
	int slot;

	serve(TWO);
	fds = fd_count();
	write_ini("[server]\nbind = 127.0.0.1:0, 127.0.0.3:0\n");
	reload_begin(&m);
	slot = perform();
	ck_assert_int_ne(slot, -1);
	pool_died(&m.pool, slot, &d, clock_us());
	reload_heed(&m);
	ck_assert_ptr_null(m.trial);
	ck_assert_int_eq(fd_count(), fds);
	ck_assert(has_logged("reload refused: its first worker"));
	ck_assert_int_eq(pool_count(&m.pool, POOL_SERVING, 1), 1);
}
END_TEST

START_TEST(another_hup)
{
	serve(TWO);
	reload_begin(&m);
	perform();
	reload_begin(&m);
	ck_assert_uint_eq(m.trial->number, 3);
	ck_assert(has_logged("generation 2 is dropped: another SIGHUP"));
	pool_ready(&m.pool, perform(), clock_us());
	reload_heed(&m);
	ck_assert_uint_eq(m.current->number, 3);
}
END_TEST

/* It has begun to serve although we have not heard of it: it stays. */
START_TEST(another_hup_too_late)
{
	serve(TWO);
	reload_begin(&m);
	ck_assert(board_begin(&m.board.slots[perform()]));
	reload_begin(&m);
	ck_assert_uint_eq(m.current->number, 2);
	ck_assert_uint_eq(m.trial->number, 3);
	ck_assert(!has_logged("dropped"));
	/* And one that has not never will. */
	ck_assert_int_ne(perform(), -1);
	reload_cancel(&m, "test");
	ck_assert(
		!board_begin(&m.board.slots[pool_find(&m.pool, next_pid - 1)]));
}
END_TEST

START_TEST(count_by_signal_is_kept)
{
	serve(TWO "workers = 2\n");
	pool_set_wanted(&m.pool, 5);
	reload_well(TWO "workers = 2\n");
	ck_assert_int_eq(m.pool.wanted, 5);
	reload_well(TWO "workers = 3\n");
	ck_assert_int_eq(m.pool.wanted, 3);
}
END_TEST

/* 127.0.0.1:PORT to 0.0.0.0:PORT, and back. */
START_TEST(overlap)
{
	char text[80];
	int port, narrow;

	serve("[server]\nbind = 127.0.0.1:0\n");
	port = port_of(&m.current->listeners[0]);
	narrow = m.current->listeners[0].fd;
	snprintf(text, sizeof(text), "[server]\nbind = 0.0.0.0:%d\n", port);
	reload_well(text);
	/* The narrower one serves on: its queue cannot move. */
	ck_assert_uint_eq(m.current->nlisteners, 2);
	ck_assert_int_eq(m.current->listeners[1].fd, narrow);
	ck_assert_uint_eq(m.old->removed, 0);
	reload_well(text);
	ck_assert_uint_eq(m.current->nlisteners, 2);
	snprintf(text, sizeof(text), "[server]\nbind = 127.0.0.1:%d\n", port);
	reload_well(text);
	ck_assert_uint_eq(m.current->nlisteners, 1);
	ck_assert_int_eq(m.current->listeners[0].fd, narrow);
	ck_assert_uint_eq(m.old->removed, 1);
}
END_TEST

START_TEST(kept_ones_are_adjusted)
{
	char text[200], path[80];
	struct stat st;
	ino_t inode;

	snprintf(path, sizeof(path), "%s/s", dir);
	snprintf(text, sizeof(text), "[server]\nbind = unix:%s\n", path);
	serve(text);
	ck_assert_int_eq(stat(path, &st), 0);
	inode = st.st_ino;
	ck_assert_uint_eq(st.st_mode & 0777, 0660);
	strcat(text, "unix-socket-mode = 0606\n");
	reload_well(text);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0606);
	ck_assert_uint_eq(st.st_ino, inode);
	reload_well(TWO);
	ck_assert_int_eq(stat(path, &st), -1);
}
END_TEST

START_TEST(logs_move)
{
	char text[300];
	struct stat st;
	long fds;

	serve(TWO);
	snprintf(text, sizeof(text),
		TWO "[log]\nerror-log = %s/e\naccess-log = %s/a\n", dir, dir);
	reload_well(text);
	ck_assert_int_eq(fstat(m.current->error_fd, &st), 0);
	ck_assert(S_ISREG(st.st_mode));
	ck_assert_int_ne(m.current->access_fd, -1);
	fds = fd_count();
	for (int i = 0; i < 20; i++)
		reload_well(text);
	ck_assert_int_eq(fd_count(), fds);
}
END_TEST

START_TEST(logs_are_reopened)
{
	char text[300], path[80], moved[80];
	struct stat before, after;
	int error_fd, access_fd, number;
	long fds;

	snprintf(path, sizeof(path), "%s/e", dir);
	snprintf(moved, sizeof(moved), "%s/e.1", dir);
	snprintf(text, sizeof(text), TWO "[log]\nerror-log = %s\n", path);
	serve(text);
	number = m.current->error_fd;
	fds = fd_count();
	ck_assert_int_eq(rename(path, moved), 0);
	generation_reopen_logs(m.current, &error_fd, &access_fd);
	ck_assert_int_eq(m.current->error_fd, number);
	ck_assert_int_eq(access_fd, -1);
	ck_assert_int_eq(fstat(number, &after), 0);
	ck_assert_int_eq(stat(path, &before), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	fd_close(&error_fd);
	ck_assert_int_eq(fd_count(), fds);
	/* One that cannot be opened stays as it is. */
	log_set_fd(2);
	ck_assert(unlink(path) == 0 && mkdir(path, 0700) == 0);
	generation_reopen_logs(m.current, &error_fd, &access_fd);
	ck_assert_int_eq(error_fd, -1);
	ck_assert_int_eq(fstat(number, &before), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	ck_assert(has_logged("cannot reopen"));
}
END_TEST

Suite *
reload_suite(void)
{
	Suite *s = suite_create("reload");
	TCase *t = tcase_create("reload");
	int n = sizeof(refusals) / sizeof(refusals[0]);

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, commit);
	tcase_add_test(t, removed_over_generations);
	tcase_add_loop_test(t, refused, 0, n);
	tcase_add_test(t, trial_dies);
	tcase_add_test(t, another_hup);
	tcase_add_test(t, another_hup_too_late);
	tcase_add_test(t, count_by_signal_is_kept);
	tcase_add_test(t, overlap);
	tcase_add_test(t, kept_ones_are_adjusted);
	tcase_add_test(t, logs_move);
	tcase_add_test(t, logs_are_reopened);
	suite_add_tcase(s, t);
	return s;
}
