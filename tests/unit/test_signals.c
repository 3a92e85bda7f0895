/*
 * test_signals.c -- flags and masks, and a child between fork and handlers.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/signals.h"

Suite *signals_suite(void);

static bool
is_blocked(int sig)
{
	sigset_t set;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	return sigismember(&set, sig) == 1;
}

static bool
is_default(int sig)
{
	struct sigaction sa;

	sigaction(sig, NULL, &sa);
	return sa.sa_handler == SIG_DFL;
}

START_TEST(flags)
{
	signals_master();
	ck_assert(is_blocked(SIGTERM) && is_blocked(SIGCHLD));
	raise(SIGTERM);
	raise(SIGHUP);
	ck_assert(!signals_pending(SIGTERM));
	/* One look lets both in; a second one finds nothing. */
	ck_assert_int_eq(signals_wait(NULL, 0, 0), -1);
	ck_assert_int_eq(errno, EINTR);
	ck_assert(is_blocked(SIGTERM));
	ck_assert(signals_pending(SIGTERM));
	ck_assert(signals_take(SIGTERM) && !signals_take(SIGTERM));
	ck_assert(signals_take(SIGHUP));
	ck_assert(!signals_take(SIGINT));
	ck_assert_int_eq(signals_wait(NULL, 0, 0), 0);
}
END_TEST

START_TEST(wait_is_interrupted)
{
	int fds[2];
	struct pollfd p = {.events = POLLIN};

	signals_master();
	ck_assert_int_eq(pipe(fds), 0);
	p.fd = fds[0];
	raise(SIGCHLD);
	ck_assert_int_eq(signals_wait(&p, 1, -1), -1);
	ck_assert(signals_take(SIGCHLD));
	ck_assert_int_eq(write(fds[1], "x", 1), 1);
	ck_assert_int_eq(signals_wait(&p, 1, -1), 1);
	close(fds[0]);
	close(fds[1]);
}
END_TEST

START_TEST(broken_pipe_is_no_death)
{
	int fds[2];

	signals_master();
	ck_assert_int_eq(pipe(fds), 0);
	close(fds[0]);
	ck_assert_int_eq(write(fds[1], "x", 1), -1);
	signals_wait(NULL, 0, 0);
	close(fds[1]);
}
END_TEST

/* What becomes of a child that gets `sig` before it has handlers. */
static int
status_after(int sig, void (*then)(void))
{
	int ready[2], go[2], status;
	char c;
	pid_t pid;

	ck_assert(pipe(ready) == 0 && pipe(go) == 0);
	signals_master();
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		signals_forget();
		(void)!write(ready[1], "x", 1);
		(void)!read(go[0], &c, 1);
		signals_worker();
		then();
		_exit(99);
	}
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	kill(pid, sig);
	close(go[1]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	close(ready[0]);
	close(ready[1]);
	close(go[0]);
	return status;
}

static void
exit_if_term(void)
{
	if (signals_pending(SIGTERM))
		_exit(7);
}

START_TEST(nothing_is_lost_after_fork)
{
	int status = status_after(SIGTERM, exit_if_term);

	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	/* QUIT leaves as soon as the mask opens. */
	status = status_after(SIGQUIT, exit_if_term);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	status = status_after(SIGHUP, exit_if_term);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 99);
}
END_TEST

/* Dies of the first signal that is not dealt with as signals.h says. */
static void
try_all(void)
{
	static const int ignored[] = {SIGHUP, SIGINT, SIGUSR1, SIGUSR2,
		SIGWINCH, SIGTTIN, SIGTTOU, SIGPIPE};

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
		if (is_blocked(ignored[i]) || is_default(ignored[i]))
			_exit(1);
		raise(ignored[i]);
	}
	if (!is_default(SIGCHLD) || !is_default(SIGABRT))
		_exit(2);
	signals_hold();
	raise(SIGTERM);
	if (signals_pending(SIGTERM))
		_exit(3);
	signals_release();
	if (!signals_take(SIGTERM))
		_exit(4);
	signals_leave();
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		if (!is_default(ignored[i]))
			_exit(5);
	_exit(is_default(SIGTERM) && is_default(SIGQUIT) ? 42 : 6);
}

START_TEST(worker)
{
	int status = status_after(SIGUSR1, try_all);

	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 42);
}
END_TEST

START_TEST(forget_drops_flags)
{
	signals_master();
	raise(SIGTERM);
	signals_wait(NULL, 0, 0);
	ck_assert(signals_pending(SIGTERM));
	signals_forget();
	ck_assert(!signals_pending(SIGTERM));
	ck_assert(is_default(SIGTERM) && is_default(SIGHUP));
	ck_assert(is_blocked(SIGTERM));
}
END_TEST

static void *
raise_in_thread(void *arg)
{
	(void)arg;
	pthread_kill(pthread_self(), SIGTERM);
	return NULL;
}

/* The kernel chose another thread, but the main one is the one that waits. */
START_TEST(main_thread_is_interrupted)
{
	pthread_t t;

	signals_worker();
	signals_hold();
	/* The thread's mask is its own; it is opened like an application's. */
	signals_release();
	ck_assert_int_eq(pthread_create(&t, NULL, raise_in_thread, NULL), 0);
	signals_hold();
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	if (!signals_pending(SIGTERM))
		ck_assert_int_eq(signals_wait(NULL, 0, 10000), -1);
	ck_assert(signals_take(SIGTERM));
	signals_release();
}
END_TEST

Suite *
signals_suite(void)
{
	Suite *s = suite_create("signals");
	TCase *t = tcase_create("signals");

	tcase_add_test(t, flags);
	tcase_add_test(t, wait_is_interrupted);
	tcase_add_test(t, broken_pipe_is_no_death);
	tcase_add_test(t, nothing_is_lost_after_fork);
	tcase_add_test(t, worker);
	tcase_add_test(t, forget_drops_flags);
	tcase_add_test(t, main_thread_is_interrupted);
	suite_add_tcase(s, t);
	return s;
}
