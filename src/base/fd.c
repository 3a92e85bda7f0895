/*
 * fd.c -- small helpers for descriptors.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"

void
fd_close(int *fd)
{
	int saved = errno;

	/* Not again on EINTR: Linux has freed the number by then. */
	if (*fd != -1)
		close(*fd);
	*fd = -1;
	errno = saved;
}

static int
set_flag(int fd, int get, int set, int flag, bool on)
{
	int old, flags = fcntl(fd, get);

	if (flags == -1)
		return -1;
	old = flags;
	flags = on ? flags | flag : flags & ~flag;
	return flags == old ? 0 : fcntl(fd, set, flags);
}

int
fd_set_nonblock(int fd, bool on)
{
	return set_flag(fd, F_GETFL, F_SETFL, O_NONBLOCK, on);
}

int
fd_set_cloexec(int fd, bool on)
{
	return set_flag(fd, F_GETFD, F_SETFD, FD_CLOEXEC, on);
}

int
fd_fill_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd == -1)
		return -1;
	fd_close(&fd);
	return 0;
}

long
fd_raise_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == -1)
		return sysconf(_SC_OPEN_MAX);
	if (r.rlim_cur != r.rlim_max) {
		rlim_t old = r.rlim_cur;

		r.rlim_cur = r.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &r) == -1)
			r.rlim_cur = old;
	}
	return r.rlim_cur > LONG_MAX ? LONG_MAX : (long)r.rlim_cur;
}

long
fd_count(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	long n = 0;

	if (!d)
		return -1;
	/* readdir(3) of a folder of one's own is safe */
	/* cppcheck-suppress readdirCalled */
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n - 1; /* the folder's own */
}

int
fd_unread(int fd)
{
	int n;

	return ioctl(fd, FIONREAD, &n) == -1 ? 0 : n;
}

int
fd_unsent(int fd)
{
	int n;

	return ioctl(fd, SIOCOUTQ, &n) == -1 ? 0 : n;
}
