/*
 * test_listener.c -- sockets on addresses of the loopback.
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "proc/listener.h"

Suite *listener_suite(void);

static struct arena arena;
static char dir[40], path[80]; /* a folder, unix:PATH in it */
static char why[LISTENER_WHY_MAX];
static const struct listener_options usual = {.backlog = 16, .unix_mode = 0660};

static void
set_up(void)
{
	ck_assert_int_eq(arena_init(&arena, 4096), 0);
	strcpy(dir, "/tmp/narwhal-listener.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "unix:%s/s", dir);
}

static void
tear_down(void)
{
	unlink(path + 5);
	ck_assert_int_eq(rmdir(dir), 0);
	arena_done(&arena);
}

static struct addr
address(const char *text)
{
	const char *reason = NULL;
	struct addr a;

	ck_assert_msg(addr_read(str_of(text), &arena, &a, 1, &reason) == 1,
		"%s", reason);
	return a;
}

static int
port_of(int fd)
{
	struct sockaddr_in in;
	socklen_t len = sizeof(in);

	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	return ntohs(in.sin_port);
}

static struct addr
with_port(const char *host, int port)
{
	char text[80];

	snprintf(text, sizeof(text), "%s:%d", host, port);
	return address(text);
}

static int
option(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	getsockopt(fd, level, name, &value, &len);
	return value;
}

/* A non-blocking socket on its way to a; errno of connect, 0 or EINPROGRESS. */
static int
begin_connect(const struct addr *a, int *ret_fd)
{
	*ret_fd = socket(a->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (connect(*ret_fd, (const struct sockaddr *)&a->sa, a->len) == 0)
		return 0;
	return errno;
}

static int
connect_to(const struct addr *a)
{
	int fd = socket(a->sa.ss_family, SOCK_STREAM, 0);

	ck_assert_int_eq(
		connect(fd, (const struct sockaddr *)&a->sa, a->len), 0);
	return fd;
}

static bool
has_waiting(const struct listener *l)
{
	int fd = accept(l->fd, NULL, NULL);
	bool had = fd != -1;

	fd_close(&fd);
	return had;
}

START_TEST(tcp)
{
	struct addr a = address("127.0.0.1:0");
	struct listener l;
	char text[40];
	int fd;

	ck_assert_int_eq(listener_open(&l, &a, &usual, why), 0);
	snprintf(text, sizeof(text), "127.0.0.1:%d", port_of(l.fd));
	ck_assert_str_eq(l.text, text);
	ck_assert(!l.inherited);
	ck_assert(fcntl(l.fd, F_GETFD) & FD_CLOEXEC);
	ck_assert(fcntl(l.fd, F_GETFL) & O_NONBLOCK);
	ck_assert_int_eq(option(l.fd, SOL_SOCKET, SO_ACCEPTCONN), 1);
	ck_assert_int_eq(option(l.fd, SOL_SOCKET, SO_REUSEADDR), 1);
	ck_assert_int_eq(option(l.fd, SOL_SOCKET, SO_REUSEPORT), 0);
	a = with_port("127.0.0.1", port_of(l.fd));
	fd = connect_to(&a);
	close(fd);
	fd = accept(l.fd, NULL, NULL);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
	close(fd);
	listener_close(&l, true);
	listener_close(&l, true);
	ck_assert_int_eq(l.fd, -1);
}
END_TEST

START_TEST(in_use)
{
	struct addr a = address("127.0.0.1:0");
	struct listener l, other;

	ck_assert_int_eq(listener_open(&l, &a, &usual, why), 0);
	a = with_port("127.0.0.1", port_of(l.fd));
	ck_assert_int_eq(listener_open(&other, &a, &usual, why), -1);
	ck_assert_int_eq(errno, EADDRINUSE);
	ck_assert_str_eq(why, "Address already in use");
	ck_assert_int_eq(other.fd, -1);
	listener_close(&l, true);
	ck_assert_int_eq(listener_open(&other, &a, &usual, why), 0);
	listener_close(&other, true);
}
END_TEST

/* The address becomes free while it is tried again. */
START_TEST(patience)
{
	struct listener_options o = usual;
	struct addr a = address("127.0.0.1:0");
	struct listener l, other;
	pid_t pid;

	ck_assert_int_eq(listener_open(&l, &a, &usual, why), 0);
	a = with_port("127.0.0.1", port_of(l.fd));
	pid = fork();
	if (pid == 0) {
		poll(NULL, 0, 150);
		_exit(0);
	}
	listener_close(&l, true);
	o.patience_ms = 60000;
	ck_assert_int_eq(listener_open(&other, &a, &o, why), 0);
	listener_close(&other, true);
}
END_TEST

START_TEST(v4_and_v6_on_one_port)
{
	struct addr a = address("0.0.0.0:0");
	struct listener l4, l6;
	int probe = socket(AF_INET6, SOCK_STREAM, 0);

	if (probe == -1)
		return; /* a machine without IPv6 */
	close(probe);
	ck_assert_int_eq(listener_open(&l4, &a, &usual, why), 0);
	a = with_port("[::]", port_of(l4.fd));
	ck_assert_msg(listener_open(&l6, &a, &usual, why) == 0, "%s", why);
	ck_assert(!listener_overlaps(&l4, &a));
	listener_close(&l4, true);
	listener_close(&l6, true);
}
END_TEST

/* In each direction; and afterwards the address is nobody else's. */
START_TEST(overlap)
{
	static const char *const hosts[] = {"127.0.0.1", "0.0.0.0"};
	struct addr a = with_port(hosts[_i], 0), b, local;
	struct listener_options beside = usual;
	struct listener l, wide, stranger;
	int fd;

	ck_assert_int_eq(listener_open(&l, &a, &usual, why), 0);
	b = with_port(hosts[!_i], port_of(l.fd));
	local = with_port("127.0.0.1", port_of(l.fd));
	ck_assert(listener_overlaps(&l, &b));
	ck_assert_int_eq(listener_is_within(&l, &b), _i == 0);
	ck_assert_int_eq(listener_open(&wide, &b, &usual, why), -1);
	beside.overlap = true;
	ck_assert_int_eq(listener_open(&wide, &b, &beside, why), -1);
	listener_allow_overlap(&l, true);
	ck_assert_msg(listener_open(&wide, &b, &beside, why) == 0, "%s", why);
	listener_allow_overlap(&l, false);
	ck_assert_int_eq(option(l.fd, SOL_SOCKET, SO_REUSEPORT), 0);
	ck_assert_int_eq(option(wide.fd, SOL_SOCKET, SO_REUSEPORT), 0);
	ck_assert_int_eq(listener_open(&stranger, &local, &usual, why), -1);
	ck_assert_int_eq(errno, EADDRINUSE);
	/* The narrower one gets the connections as long as it is there. */
	fd = connect_to(&local);
	ck_assert(has_waiting(_i == 0 ? &l : &wide));
	close(fd);
	listener_close(&l, true);
	fd = connect_to(&local);
	ck_assert(has_waiting(&wide));
	close(fd);
	listener_close(&wide, true);
}
END_TEST

START_TEST(serves)
{
	struct addr a = address("127.0.0.1:0"), b;
	struct listener l;

	ck_assert_int_eq(listener_open(&l, &a, &usual, why), 0);
	ck_assert(listener_serves(&l, &a));
	b = with_port("127.0.0.1", port_of(l.fd));
	ck_assert(listener_serves(&l, &b));
	b = with_port("127.0.0.2", port_of(l.fd));
	ck_assert(!listener_serves(&l, &b));
	b = address(path);
	ck_assert(!listener_serves(&l, &b));
	b = address("fd:3");
	ck_assert(!listener_serves(&l, &b));
	listener_close(&l, true);
}
END_TEST

/* What was queued is still there; what comes later is not let in. */
START_TEST(shut_keeps_the_queue)
{
	struct addr a = address("127.0.0.1:0");
	struct listener l;
	struct pollfd p = {.events = POLLOUT};
	int early, late;

	ck_assert_int_eq(listener_open(&l, &a, &usual, why), 0);
	a = with_port("127.0.0.1", port_of(l.fd));
	early = connect_to(&a);
	listener_shut(&l);
	ck_assert_int_eq(begin_connect(&a, &late), EINPROGRESS);
	p.fd = late;
	ck_assert_int_eq(poll(&p, 1, 100), 0);
	ck_assert(has_waiting(&l));
	ck_assert(!has_waiting(&l));
	listener_close(&l, true);
	close(early);
	/* The next try of the kernel is refused. */
	ck_assert_int_eq(poll(&p, 1, 30000), 1);
	ck_assert_int_eq(option(late, SOL_SOCKET, SO_ERROR), ECONNREFUSED);
	close(late);
}
END_TEST

START_TEST(inherited)
{
	struct addr a = address("127.0.0.1:0");
	struct listener theirs, l;
	char text[80];

	ck_assert_int_eq(listener_open(&theirs, &a, &usual, why), 0);
	a = with_port("127.0.0.1", port_of(theirs.fd));
	snprintf(text, sizeof(text), "fd:%d", theirs.fd);
	fcntl(theirs.fd, F_SETFD, 0);
	fcntl(theirs.fd, F_SETFL, 0);
	struct addr f = address(text);

	ck_assert_int_eq(listener_open(&l, &f, &usual, why), 0);
	ck_assert(l.inherited);
	ck_assert_int_eq(l.fd, theirs.fd);
	ck_assert(fcntl(l.fd, F_GETFD) & FD_CLOEXEC);
	ck_assert(fcntl(l.fd, F_GETFL) & O_NONBLOCK);
	ck_assert_ptr_nonnull(strstr(l.text, "127.0.0.1:"));
	ck_assert(listener_serves(&l, &f));
	/* Others hold it too: it is not for us to shut. */
	listener_shut(&l);
	close(connect_to(&a));
	ck_assert(has_waiting(&theirs));
	listener_close(&l, true);
}
END_TEST

START_TEST(not_a_listener)
{
	struct listener l;
	char text[20];
	int fds[3], p[2];

	ck_assert_int_eq(pipe(p), 0);
	fds[0] = p[0];
	fds[1] = socket(AF_INET, SOCK_STREAM, 0); /* does not listen */
	fds[2] = socket(AF_INET, SOCK_DGRAM, 0);
	for (int i = 0; i < 3; i++) {
		struct addr a;

		snprintf(text, sizeof(text), "fd:%d", fds[i]);
		a = address(text);
		ck_assert_int_eq(listener_open(&l, &a, &usual, why), -1);
		ck_assert_str_eq(why, "Not a listening socket");
		ck_assert_int_eq(l.fd, -1);
		close(fds[i]);
	}
	close(p[1]);
	struct addr gone = address("fd:1000");

	ck_assert_int_eq(listener_open(&l, &gone, &usual, why), -1);
}
END_TEST

static mode_t
mode_of(const char *name)
{
	struct stat st;

	ck_assert_int_eq(lstat(name, &st), 0);
	return st.st_mode & 0777;
}

START_TEST(unix_path)
{
	struct addr a = address(path);
	struct listener_options o = usual;
	struct listener l;
	mode_t mask = umask(022);

	o.unix_mode = 0606;
	ck_assert_int_eq(listener_open(&l, &a, &o, why), 0);
	ck_assert_int_eq(umask(mask), 022);
	ck_assert_str_eq(l.text, path);
	ck_assert_int_eq(mode_of(path + 5), 0606);
	listener_set_unix(&l, &usual);
	ck_assert_int_eq(mode_of(path + 5), 0660);
	ck_assert(listener_serves(&l, &a));
	close(connect_to(&a));
	listener_close(&l, false);
	ck_assert_int_eq(access(path + 5, F_OK), 0);
	/* Nobody listens there any more: it is replaced. */
	ck_assert_msg(listener_open(&l, &a, &o, why) == 0, "%s", why);
	listener_close(&l, true);
	ck_assert_int_eq(access(path + 5, F_OK), -1);
}
END_TEST

static void
must_be_owned(uid_t uid, gid_t gid)
{
	struct stat st;

	ck_assert_int_eq(lstat(path + 5, &st), 0);
	ck_assert_uint_eq(st.st_uid, uid);
	ck_assert_uint_eq(st.st_gid, gid);
}

START_TEST(unix_path_owner)
{
	struct addr a = address(path);
	struct listener_options o = usual;
	struct listener l;
	uid_t uid = geteuid() == 0 ? 4242 : geteuid();
	gid_t gid = geteuid() == 0 ? 4343 : getegid();

	o.unix_owner = (struct account){true, uid, gid, NULL};
	ck_assert_msg(listener_open(&l, &a, &o, why) == 0, "%s", why);
	must_be_owned(uid, gid);
	ck_assert_int_eq(mode_of(path + 5), 0660);
	o.unix_owner.uid = geteuid();
	o.unix_owner.gid = getegid();
	listener_set_unix(&l, &o);
	must_be_owned(geteuid(), getegid());
	o.unix_owner = (struct account){.is_set = false, .uid = 4242};
	listener_set_unix(&l, &o);
	must_be_owned(geteuid(), getegid());
	listener_close(&l, true);
	/* Who may not give it away leaves nothing behind. */
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(4242), 0);
	o.unix_owner = (struct account){true, 4343, 4343, NULL};
	ck_assert_int_eq(listener_open(&l, &a, &o, why), -1);
	ck_assert_int_eq(access(path + 5, F_OK), -1);
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

/* In a child: bind when all do, then hold it until killed. */
static void
contend(int told, int say)
{
	struct addr a = address(path);
	struct listener l;
	char c;

	if (read(told, &c, 1) != 0)
		_exit(2);
	c = listener_open(&l, &a, &usual, why) == 0 ? 'w'
		: errno == EADDRINUSE		    ? 'l'
						    : 'e';
	if (write(say, &c, 1) != 1)
		_exit(2);
	pause();
	_exit(0);
}

/* Many that find a dead socket at a time do not take each other's for it. */
START_TEST(unix_path_one_wins)
{
	struct addr a = address(path);
	struct listener l;
	int told[2], say[2], wins = 0;
	pid_t pids[8];
	char c;

	if (_i % 2) {
		ck_assert_int_eq(listener_open(&l, &a, &usual, why), 0);
		listener_close(&l, false);
	}
	ck_assert_int_eq(pipe(told), 0);
	ck_assert_int_eq(pipe(say), 0);
	for (int i = 0; i < 8; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			close(told[1]);
			contend(told[0], say[1]);
		}
	}
	close(told[1]);
	for (int i = 0; i < 8; i++) {
		ck_assert_int_eq(read(say[0], &c, 1), 1);
		ck_assert_int_ne(c, 'e');
		wins += c == 'w';
	}
	ck_assert_int_eq(wins, 1);
	close(connect_to(&a));
	for (int i = 0; i < 8; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}
END_TEST

START_TEST(unix_path_in_use)
{
	struct addr a = address(path);
	struct listener l, other;
	int waiting[40], n = 0;

	ck_assert_int_eq(listener_open(&l, &a, &usual, why), 0);
	ck_assert_int_eq(listener_open(&other, &a, &usual, why), -1);
	ck_assert_int_eq(errno, EADDRINUSE);
	ck_assert(has_waiting(&l));
	/* With a full queue it is as alive as before. */
	while (n < 40 && begin_connect(&a, &waiting[n]) == 0)
		n++;
	ck_assert_int_lt(n, 40);
	ck_assert_int_eq(listener_open(&other, &a, &usual, why), -1);
	ck_assert_int_eq(errno, EADDRINUSE);
	for (int i = 0; i <= n; i++)
		close(waiting[i]);
	listener_close(&l, true);
}
END_TEST

START_TEST(unix_path_is_a_file)
{
	struct addr a = address(path);
	struct listener l;
	int fd = open(path + 5, O_CREAT | O_WRONLY, 0600);

	close(fd);
	ck_assert_int_eq(listener_open(&l, &a, &usual, why), -1);
	ck_assert_int_eq(access(path + 5, F_OK), 0);
	unlink(path + 5);
}
END_TEST

/* Somebody else has put theirs there: it is not ours to remove. */
START_TEST(unix_path_replaced)
{
	struct addr a = address(path);
	struct listener l, other;
	const struct listener_options private = {
		.backlog = 16, .unix_mode = 0600};

	ck_assert_int_eq(listener_open(&l, &a, &usual, why), 0);
	unlink(path + 5);
	ck_assert(!listener_serves(&l, &a));
	ck_assert_int_eq(listener_open(&other, &a, &usual, why), 0);
	listener_set_unix(&l, &private);
	ck_assert_int_eq(mode_of(path + 5), 0660);
	listener_close(&l, true);
	ck_assert_int_eq(access(path + 5, F_OK), 0);
	ck_assert(listener_serves(&other, &a));
	listener_shut(&other);
	ck_assert_int_eq(access(path + 5, F_OK), -1);
	listener_close(&other, true);
}
END_TEST

Suite *
listener_suite(void)
{
	Suite *s = suite_create("listener");
	TCase *t = tcase_create("listener");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, tcp);
	tcase_add_test(t, in_use);
	tcase_add_test(t, patience);
	tcase_add_test(t, v4_and_v6_on_one_port);
	tcase_add_loop_test(t, overlap, 0, 2);
	tcase_add_test(t, serves);
	tcase_add_test(t, shut_keeps_the_queue);
	tcase_add_test(t, inherited);
	tcase_add_test(t, not_a_listener);
	tcase_add_test(t, unix_path);
	tcase_add_test(t, unix_path_owner);
	tcase_add_loop_test(t, unix_path_one_wins, 0, 20);
	tcase_add_test(t, unix_path_in_use);
	tcase_add_test(t, unix_path_is_a_file);
	tcase_add_test(t, unix_path_replaced);
	suite_add_tcase(s, t);
	return s;
}
