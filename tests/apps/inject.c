/*
 * inject.c -- no application: preloaded, it lets the n-th of some call fail.
 *
 * INJECT is CALL:WHAT:N; the CALL `watch` is the epoll_ctl() of a listener, WHAT
 * is the name of an errno, or short for a transfer of one byte.  Counting begins
 * with a process's first accept4(), so that only workers are met, and nothing of
 * their boot.  When it has come to that, standard error has a line `inject: met`.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void *__libc_malloc(size_t n);
EXPORT void *__libc_realloc(void *p, size_t n);

static char call[32], what[32];
static int nth, count;
static bool armed;

__attribute__((constructor)) static void
read_order(void)
{
	const char *v = getenv("INJECT");

	if (!v || sscanf(v, "%31[^:]:%31[^:]:%d", call, what, &nth) != 3)
		nth = 0;
}

static bool
is_met(const char *name)
{
	static const char line[] = "inject: met\n";

	if (!armed || !nth || strcmp(name, call) != 0 || ++count != nth)
		return false;
	return write(STDERR_FILENO, line, sizeof(line) - 1) > 0;
}

static bool
is_short(void)
{
	return strcmp(what, "short") == 0;
}

static int
fail(void)
{
	errno = strcmp(what, "EINTR") == 0    ? EINTR
		: strcmp(what, "ENFILE") == 0 ? ENFILE
		: strcmp(what, "EMFILE") == 0 ? EMFILE
					      : ENOMEM;
	return -1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

EXPORT int
accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags)
{
	armed = true;
	return is_met("accept4") ? fail() : REAL(accept4)(fd, sa, len, flags);
}

EXPORT ssize_t
recv(int fd, void *p, size_t n, int flags)
{
	if (!is_met("recv"))
		return REAL(recv)(fd, p, n, flags);
	return is_short() ? REAL(recv)(fd, p, 1, flags) : fail();
}

EXPORT ssize_t
sendmsg(int fd, const struct msghdr *m, int flags)
{
	if (!is_met("sendmsg"))
		return REAL(sendmsg)(fd, m, flags);
	return is_short() ? send(fd, m->msg_iov[0].iov_base, 1, flags) : fail();
}

EXPORT ssize_t
sendfile(int out, int in, off_t *off, size_t n)
{
	if (!is_met("sendfile"))
		return REAL(sendfile)(out, in, off, n);
	return is_short() ? REAL(sendfile)(out, in, off, 1) : fail();
}

EXPORT int
poll(struct pollfd *p, nfds_t n, int ms)
{
	return is_met("poll") ? fail() : REAL(poll)(p, n, ms);
}

EXPORT int
epoll_wait(int fd, struct epoll_event *e, int n, int ms)
{
	return is_met("epoll_wait") ? fail() : REAL(epoll_wait)(fd, e, n, ms);
}

EXPORT int
epoll_pwait(int fd, struct epoll_event *e, int n, int ms, const sigset_t *set)
{
	return is_met("epoll_wait") ? fail()
				    : REAL(epoll_pwait)(fd, e, n, ms, set);
}

EXPORT int
epoll_ctl(int fd, int op, int of, struct epoll_event *e)
{
	bool add = op == EPOLL_CTL_ADD;

	if (add &&
		(is_met("epoll_ctl") ||
			(e->events & EPOLLEXCLUSIVE && is_met("watch"))))
		return fail();
	return REAL(epoll_ctl)(fd, op, of, e);
}

EXPORT void *
malloc(size_t n)
{
	if (is_met("malloc")) {
		fail();
		return NULL;
	}
	return __libc_malloc(n);
}

EXPORT void *
realloc(void *p, size_t n)
{
	if (is_met("malloc")) {
		fail();
		return NULL;
	}
	return __libc_realloc(p, n);
}
