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

#include "base/fd.h"

static struct sockaddr_un to;
static socklen_t to_len; /* 0: nobody to tell */

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
