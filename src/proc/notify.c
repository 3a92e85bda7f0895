/*
 * notify.c -- datagrams to the supervisor that set NOTIFY_SOCKET.
 *
 * A socket is made for each message, so that there is none a worker could
 * inherit.  The supervisor's trouble is never ours: errors are ignored and
 * nothing waits.
 */
#include "proc/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"

static struct sockaddr_un to;
static socklen_t to_len; /* 0: nobody to tell */
static int64_t watchdog_us; /* from one message to the next; 0: none */
static int64_t watchdog_at;

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

int64_t
notify_watchdog(int64_t now)
{
	if (watchdog_us == 0 || to_len == 0)
		return CLOCK_NEVER;
	if (now >= watchdog_at) {
		notify_send("WATCHDOG=1");
		watchdog_at = now + watchdog_us;
	}
	return watchdog_at;
}

void
notify_send(const char *text)
{
	int fd;

	if (to_len == 0)
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return;
	(void)!sendto(fd, text, strlen(text), MSG_NOSIGNAL,
		(const struct sockaddr *)&to, to_len);
	fd_close(&fd);
}
