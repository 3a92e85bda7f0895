/*
 * fd.h -- small helpers for descriptors.
 */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <stdbool.h>

/* Close *fd unless it is -1, set it to -1, leave errno as it was. */
void fd_close(int *fd);

int fd_set_nonblock(int fd, bool on); /* -1 with errno */
int fd_set_cloexec(int fd, bool on); /* -1 with errno */

/*
 * Open /dev/null in the place of each standard descriptor that is closed, or
 * some socket would get its number and what is printed there.  -1 with errno.
 */
int fd_fill_standard(void);

/* Raise the soft descriptor limit to the hard one; returns the limit. */
long fd_raise_limit(void);

/* How many descriptors this process has open now (from /proc/self/fd), or -1. */
long fd_count(void);

/* Bytes that have come and were not read; 0 if n/a. */
int fd_unread(int fd);

/* Bytes the kernel holds and a socket's peer has not acknowledged; 0 if n/a. */
int fd_unsent(int fd);

#endif
