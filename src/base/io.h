/*
 * io.h -- system calls that may be interrupted or cut short.
 *
 * The one place that knows about EINTR.  But for io_write_line,
 * nothing here waits for longer than the system call itself does.
 */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

/* As the calls they are named after, but EINTR starts them again. */
ssize_t io_read(int fd, void *p, size_t n);
ssize_t io_write(int fd, const void *p, size_t n);
ssize_t io_recvv(int fd, const struct iovec *iov, int n, int flags);
ssize_t io_sendv(int fd, const struct iovec *iov, int n, int flags);
ssize_t io_recvmsg(int fd, struct msghdr *m, int flags);
ssize_t io_sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t io_sendfile(int out_fd, int in_fd, off_t *off, size_t n);
int io_accept(int fd, struct sockaddr *sa, socklen_t *len, int flags);
pid_t io_waitpid(pid_t pid, int *ret_status, int options);

/* What is known of the one who reads a log, besides { 0 } at first. */
struct io_reader {
	bool stuck; /* has stopped reading: lines are lost */
	bool cut; /* has the beginning of a line, and will not get its end */
};

/*
 * A line for a reader who may have stopped reading (a pipe that is full, a
 * terminal on hold).  The first time it has a little patience, from then on
 * none until there is room again; what finds no room is dropped.  One write
 * if the line is not longer than PIPE_BUF, or fd is a file or O_NONBLOCK.
 * Returns 0, or -1 if the line was lost or cut, EAGAIN for want of room.
 */
int io_write_line(int fd, const void *p, size_t n, struct io_reader *r);

/* All of it, blocking descriptors only; -1 with errno. */
int io_write_all(int fd, const void *p, size_t n);

/*
 * The whole file into a malloc'ed, NUL-terminated buffer the caller frees; its
 * length without the NUL in *ret_len.  NULL with errno (EFBIG beyond max).
 */
char *io_read_file(const char *path, size_t max, size_t *ret_len);

#endif
