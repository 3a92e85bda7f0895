/*
 * io.c -- system calls that may be interrupted or cut short.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/io.h"

/* For a reader that does not read. */
#define PATIENCE_US 100000

#define AGAIN(n, call)                                                         \
	do                                                                     \
		(n) = (call);                                                  \
	while ((n) == -1 && errno == EINTR)

ssize_t
io_read(int fd, void *p, size_t n)
{
	ssize_t got;

	AGAIN(got, read(fd, p, n));
	return got;
}

ssize_t
io_write(int fd, const void *p, size_t n)
{
	ssize_t put;

	AGAIN(put, write(fd, p, n));
	return put;
}

ssize_t
io_recvmsg(int fd, struct msghdr *m, int flags)
{
	ssize_t got;

	AGAIN(got, recvmsg(fd, m, flags));
	return got;
}

ssize_t
io_sendmsg(int fd, const struct msghdr *m, int flags)
{
	ssize_t put;

	AGAIN(put, sendmsg(fd, m, flags));
	return put;
}

ssize_t
io_recvv(int fd, const struct iovec *iov, int n, int flags)
{
	struct msghdr m = {
		.msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)n};
	ssize_t got;

	if (n > 1)
		return io_recvmsg(fd, &m, flags);
	/* the cheaper call */
	AGAIN(got, recv(fd, iov->iov_base, iov->iov_len, flags));
	return got;
}

ssize_t
io_sendv(int fd, const struct iovec *iov, int n, int flags)
{
	struct msghdr m = {
		.msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)n};

	return io_sendmsg(fd, &m, flags);
}

ssize_t
io_sendfile(int out_fd, int in_fd, off_t *off, size_t n)
{
	ssize_t put;

	AGAIN(put, sendfile(out_fd, in_fd, off, n));
	return put;
}

int
io_accept(int fd, struct sockaddr *sa, socklen_t *len, int flags)
{
	int got;

	AGAIN(got, accept4(fd, sa, len, flags));
	return got;
}

pid_t
io_waitpid(pid_t pid, int *ret_status, int options)
{
	pid_t got;

	AGAIN(got, waitpid(pid, ret_status, options));
	return got;
}

/* May it be asked to take a line of any length without waiting? */
static bool
takes_any_length(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	return (flags != -1 && flags & O_NONBLOCK) ||
		(fstat(fd, &st) == 0 && S_ISREG(st.st_mode));
}

/* One write, if there is room for it before end_us. */
static ssize_t
write_piece(int fd, const void *p, size_t n, int64_t end_us)
{
	struct pollfd w = {.fd = fd, .events = POLLOUT};
	int ready;

	AGAIN(ready, poll(&w, 1, clock_poll_ms(clock_us(), end_us)));
	if (ready == 0)
		errno = EAGAIN;
	return ready > 0 ? io_write(fd, p, n) : -1;
}

int
io_write_line(int fd, const void *p, size_t n, struct io_reader *r)
{
	int64_t end_us = r->stuck ? 0 : clock_us() + PATIENCE_US;
	size_t put = 0, most = n, rest;
	ssize_t wrote = 1;

	/* POLLOUT promises room for so much in a pipe, and no more. */
	if (n > PIPE_BUF && !takes_any_length(fd))
		most = PIPE_BUF;
	if (r->cut)
		wrote = write_piece(fd, "\n", 1, end_us);
	while (wrote > 0 && put < n) {
		r->cut = false;
		rest = n - put;
		wrote = write_piece(fd, (const char *)p + put,
			rest < most ? rest : most, end_us);
		if (wrote > 0)
			put += (size_t)wrote;
	}
	r->stuck = wrote == -1 && errno == EAGAIN;
	r->cut = r->cut || (put > 0 && put < n);
	return put == n ? 0 : -1;
}

int
io_write_all(int fd, const void *p, size_t n)
{
	const char *q = p;
	ssize_t put;

	while (n) {
		put = io_write(fd, q, n);
		if (put == -1)
			return -1;
		q += put;
		n -= (size_t)put;
	}
	return 0;
}

/* Make room for more in *p; at most max and the one byte that is too much. */
static int
grow(char **p, size_t *cap, size_t max)
{
	size_t want = *cap ? *cap * 2 : 4096;
	char *q;

	if (want > max + 1)
		want = max + 1;
	q = realloc(*p, want + 1);
	if (!q)
		return -1;
	*p = q;
	*cap = want;
	return 0;
}

/* Until EOF: the size is not asked, so that pipes and /dev/stdin work too. */
static char *
read_to_end(int fd, size_t max, size_t *ret_len)
{
	size_t len = 0, cap = 0;
	char *p = NULL;
	ssize_t got;

	do {
		if (len == cap && grow(&p, &cap, max) == -1)
			goto fail;
		got = io_read(fd, p + len, cap - len);
		if (got == -1)
			goto fail;
		len += (size_t)got;
		if (len > max) {
			errno = EFBIG;
			goto fail;
		}
	} while (got);
	p[len] = '\0';
	*ret_len = len;
	return p;
fail:
	free(p);
	return NULL;
}

char *
io_read_file(const char *path, size_t max, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char *p;

	if (fd == -1)
		return NULL;
	p = read_to_end(fd, max, ret_len);
	fd_close(&fd);
	return p;
}
