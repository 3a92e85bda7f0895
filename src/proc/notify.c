/*
 * notify.c -- datagrams to the supervisor that set NOTIFY_SOCKET.
 *
 * A socket is made for each message, so that there is none a worker could
 * inherit.  The supervisor's trouble is never ours: nothing here waits, and
 * what finds its queue full is kept for later.
 */
#include "proc/notify.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"

#define TEXT_MAX 128
#define WAITING_MAX 16
#define RETRY_US 100000

static struct sockaddr_un to;
static socklen_t to_len; /* 0: nobody to tell */
static int64_t watchdog_us; /* from one message to the next; 0: none */
static int64_t watchdog_at;
static char waiting[WAITING_MAX][TEXT_MAX]; /* the oldest first */
static int nwaiting;

static void
read_watchdog(void)
{
	const char *usec = getenv("WATCHDOG_USEC"),
		   *pid = getenv("WATCHDOG_PID");
	uint64_t us = 0, p = (uint64_t)getpid();

	watchdog_us = watchdog_at = 0;
	if (usec != NULL && str_to_u64(str_of(usec), &us) == 0 &&
		(pid == NULL || str_to_u64(str_of(pid), &p) == 0) &&
		p == (uint64_t)getpid() && us <= INT64_MAX)
		watchdog_us = (int64_t)us / 2;
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void
notify_init(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t n = path == NULL ? 0 : strlen(path);

	to_len = 0;
	nwaiting = 0;
	if (n > 1 && n < sizeof(to.sun_path) &&
		(path[0] == '/' || path[0] == '@')) {
		memset(&to, 0, sizeof(to));
		to.sun_family = AF_UNIX;
		memcpy(to.sun_path, path, n);
		to_len =
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
		/* An abstract name begins with a NUL. */
		if (path[0] == '@')
			to.sun_path[0] = '\0';
	}
	unsetenv("NOTIFY_SOCKET");
	read_watchdog();
}

/* Returns false if it is worth to try again. */
static bool
send_now(const char *text)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ssize_t n = -1;

	if (fd != -1)
		n = sendto(fd, text, strlen(text), MSG_NOSIGNAL,
			(const struct sockaddr *)&to, to_len);
	fd_close(&fd);
	return n != -1 ||
		(errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM &&
			errno != EMFILE && errno != ENFILE);
}

static void
drop_oldest(int n)
{
	nwaiting -= n;
	memmove(waiting, waiting + n, (size_t)nwaiting * TEXT_MAX);
}

static void
send_waiting(void)
{
	int n = 0;

	while (n < nwaiting && send_now(waiting[n]))
		n++;
	drop_oldest(n);
}

/* Later words overrule earlier ones, so it is the oldest that may be lost. */
static void
keep(const char *text)
{
	size_t key = strcspn(text, "=") + 1;

	if (nwaiting > 0 && strncmp(waiting[nwaiting - 1], text, key) == 0)
		nwaiting--;
	else if (nwaiting == WAITING_MAX)
		drop_oldest(1);
	snprintf(waiting[nwaiting++], TEXT_MAX, "%s", text);
}

void
notify_send(const char *text)
{
	if (to_len == 0)
		return;
	send_waiting();
	if (nwaiting > 0 || !send_now(text))
		keep(text);
}

int64_t
notify_due(int64_t now)
{
	int64_t at = CLOCK_NEVER;

	if (to_len == 0)
		return CLOCK_NEVER;
	send_waiting();
	if (nwaiting > 0)
		at = now + RETRY_US;
	if (watchdog_us == 0)
		return at;
	if (now >= watchdog_at) {
		(void)send_now("WATCHDOG=1");
		watchdog_at = now + watchdog_us;
	}
	return watchdog_at < at ? watchdog_at : at;
}
