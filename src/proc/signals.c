/*
 * signals.c -- flags, masks and handlers: all of narwhal's signal handling.
 *
 * What a signal means is for the master and the worker to say; here it becomes
 * a flag, or nothing.
 *
 * The handled set is one for both sides of the fork.  It is blocked in the
 * master from signals_master() on, so a child is born with it blocked, and a
 * signal that reaches the child before its handlers are in place stays
 * pending until signals_worker() opens the mask.
 */
#include "proc/signals.h"

#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static const int handled[] = {SIGHUP, SIGTERM, SIGINT, SIGQUIT, SIGTTIN,
	SIGTTOU, SIGUSR1, SIGUSR2, SIGWINCH, SIGCHLD, SIGPIPE};

#define HANDLED_LEN (sizeof(handled) / sizeof(handled[0]))

static volatile sig_atomic_t raised[NSIG];
static pthread_t main_thread;
static sigset_t open_mask; /* empty */

static void
raise_flag(int sig)
{
	raised[sig] = 1;
}

/*
 * Threads of an application have a normal mask too, and the kernel may choose
 * any of them; the one that waits is the main thread, so it must be the one
 * that is interrupted.
 */
static void
raise_flag_in_main(int sig)
{
	raised[sig] = 1;
	if (!pthread_equal(pthread_self(), main_thread))
		pthread_kill(main_thread, sig);
}

static void
leave_at_once(int sig)
{
	(void)sig;
	_exit(0);
}

static void
do_nothing(int sig)
{
	(void)sig;
}

static void
install(int sig, void (*handler)(int))
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};

	/* An empty sa_mask: one wait lets in all that are pending. */
	sigemptyset(&sa.sa_mask);
	sigaction(sig, &sa, NULL);
}

/* Made once: a worker asks for it round each sleep. */
static const sigset_t *
handled_set(void)
{
	static sigset_t set;
	static bool made;

	if (!made) {
		sigemptyset(&set);
		for (size_t i = 0; i < HANDLED_LEN; i++)
			sigaddset(&set, handled[i]);
		made = true;
	}
	return &set;
}

/*
 * Faults are nobody's business here: their handlers, if any, are a
 * sanitizer's, and we never set one.
 */
static bool
is_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE ||
		sig == SIGILL || sig == SIGTRAP;
}

static void
reset_dispositions(void)
{
	struct sigaction sa = {.sa_handler = SIG_DFL};

	/* KILL, STOP and the C library's own two refuse; that is fine. */
	for (int sig = 1; sig < NSIG; sig++)
		if (!is_fault(sig))
			sigaction(sig, &sa, NULL);
}

void
signals_master(void)
{
	sigemptyset(&open_mask);
	main_thread = pthread_self();
	signals_hold();
	for (size_t i = 0; i < HANDLED_LEN; i++)
		install(handled[i], raise_flag);
	install(SIGPIPE, do_nothing);
}

void
signals_worker(void)
{
	static const int ignored[] = {SIGHUP, SIGINT, SIGUSR1, SIGUSR2,
		SIGWINCH, SIGTTIN, SIGTTOU, SIGPIPE};

	sigemptyset(&open_mask);
	main_thread = pthread_self();
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		install(ignored[i], do_nothing);
	install(SIGTERM, raise_flag_in_main);
	install(SIGQUIT, leave_at_once);
	pthread_sigmask(SIG_SETMASK, &open_mask, NULL);
}

void
signals_follow_master(void)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
}

void
signals_forget(void)
{
	for (int sig = 0; sig < NSIG; sig++)
		raised[sig] = 0;
	signals_hold();
	reset_dispositions();
}

void
signals_leave(void)
{
	sigset_t none;

	sigemptyset(&none);
	reset_dispositions();
	pthread_sigmask(SIG_SETMASK, &none, NULL);
}

bool
signals_take(int sig)
{
	/* Cleared before it is acted upon: a later one counts again. */
	if (!raised[sig])
		return false;
	raised[sig] = 0;
	return true;
}

bool
signals_pending(int sig)
{
	return raised[sig];
}

void
signals_hold(void)
{
	pthread_sigmask(SIG_BLOCK, handled_set(), NULL);
}

void
signals_release(void)
{
	pthread_sigmask(SIG_UNBLOCK, handled_set(), NULL);
}

const sigset_t *
signals_wait_mask(void)
{
	return &open_mask;
}

int
signals_wait(struct pollfd *p, int n, int timeout_ms)
{
	struct timespec ts = {.tv_sec = timeout_ms / 1000,
		.tv_nsec = (long)(timeout_ms % 1000) * 1000000};

	return ppoll(p, (nfds_t)n, timeout_ms < 0 ? NULL : &ts, &open_mask);
}
