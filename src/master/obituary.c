/*
 * obituary.c -- say of what a worker died, or why it must.
 *
 * Only words: what follows from a death is decided in pool.c.  All that comes
 * from the board was written by somebody we do not trust; the log escapes it.
 */
#include "master/obituary.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/log.h"

#define CAUSE_MAX 128
#define HAND_MAX 384

static double
seconds(int64_t us)
{
	return (double)us / 1e6;
}

static bool
is_ours(const struct pool_slot *s, int sig)
{
	return (sig == SIGKILL && s->killed) ||
		(sig == SIGABRT && s->abort_at != 0) ||
		(sig == SIGQUIT && s->quit_at != 0);
}

/* Signals a process brings upon itself. */
static bool
is_own_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE ||
		sig == SIGILL || sig == SIGABRT || sig == SIGTRAP ||
		sig == SIGSYS || sig == SIGXCPU || sig == SIGXFSZ;
}

bool
obituary_is_from_outside(const struct pool_slot *s, int status)
{
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	return sig != 0 && !is_own_fault(sig) && !is_ours(s, sig);
}

static void
describe_cause(const struct pool_slot *s, int status, char *p)
{
	int sig = WTERMSIG(status);
	const char *name;

	if (!WIFSIGNALED(status)) {
		snprintf(p, CAUSE_MAX, "exit %d", WEXITSTATUS(status));
		return;
	}
	name = sigdescr_np(sig);
	snprintf(p, CAUSE_MAX, "signal %d (%s%s), %s", sig,
		name != NULL ? name : "unknown",
		WCOREDUMP(status) ? ", core dumped" : "",
		is_ours(s, sig) ? "sent by the master"
				: "not sent by the master");
}

/* "; in hand: GET /x from 127.0.0.1 for 2.5 s", or nothing. */
static void
describe_request(const struct board_slot *board, int64_t now, char *p)
{
	struct board_request r;

	p[0] = '\0';
	if (!board_read_request(board, now, &r))
		return;
	snprintf(p, HAND_MAX, "; in hand: %s %s from %s for %.1f s", r.method,
		r.target, r.peer[0] != '\0' ? r.peer : "a unix socket",
		(double)r.seconds_x1000 / 1e3);
}

static void
say(bool good, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void
say(bool good, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_at(good ? LOG_INFO : LOG_ERROR, fmt, ap);
	va_end(ap);
}

void
obituary_write(const struct pool_slot *s, int i, const struct board_slot *board,
	int status, bool expected, int64_t now)
{
	char cause[CAUSE_MAX], hand[HAND_MAX];
	bool good;

	describe_cause(s, status, cause);
	describe_request(board, now, hand);
	/* An application that calls exit(0) has lost its client's request. */
	good = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !hand[0];
	say(good || expected,
		"worker %d (slot %d, generation %llu) %s after %.1f s%s: %s%s",
		(int)s->pid, i, (unsigned long long)s->generation,
		good ? "left" : "died", seconds(now - s->born_at),
		s->ready_at == 0 ? ", before it was ready" : "", cause, hand);
}

void
obituary_overdue(const struct pool_slot *s, const struct board_slot *board,
	int64_t timeout_ms, int64_t now)
{
	char hand[HAND_MAX];

	describe_request(board, now, hand);
	log_error("worker %d has used up timeout (%.1f s of the application's "
		  "time) and is aborted%s",
		(int)s->pid, (double)timeout_ms / 1e3, hand);
}

void
obituary_late(const struct pool_slot *s, const struct board_slot *board,
	int sig, int64_t now)
{
	char hand[HAND_MAX];

	describe_request(board, now, hand);
	log_warning("worker %d has not left in time and gets signal %d (%s)%s",
		(int)s->pid, sig, sigdescr_np(sig), hand);
}
