/*
 * pidfile.c -- lock, write, replace and remove a pid file.
 *
 * The lock is that of an open file description: other than a process's it
 * survives the forks of a daemon, and nobody who may only read the file can
 * take it.  It goes with its last descriptor, so a server that was killed has
 * left a file nobody holds.
 *
 * Always: a file is locked before it appears under its name, and is complete
 * by then.  No number from a file is ever used.
 */
#include "proc/pidfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"

#define TRIES 100

static int
lock(int fd)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_OFD_SETLK, &l) == 0)
		return 0;
	if (errno == EAGAIN || errno == EACCES)
		errno = EBUSY;
	return -1;
}

/* Is the open file the one that has this name? */
static bool
is_named(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && lstat(path, &b) == 0 &&
		a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* What the file says, in one line. */
static void
read_text(int fd, char *text)
{
	ssize_t n = pread(fd, text, PIDFILE_TEXT_MAX - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

/*
 * The file that is there, locked; -1 with ENOENT if there is none, or EAGAIN
 * if it has just been replaced.
 */
static int
lock_old(const char *path)
{
	int fd = open(
		path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd == -1)
		return -1;
	errno = EEXIST;
	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) || lock(fd) == -1)
		goto fail;
	errno = EAGAIN;
	if (is_named(fd, path))
		return fd;
fail:
	fd_close(&fd);
	return -1;
}

/* A new file under the name tmp, locked and written. */
static int
make_new(const char *tmp, pid_t pid)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%d\n", (int)pid);
	int fd = open(tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd == -1)
		return -1;
	/* Whoever may read it, only its owner may write and so lock it. */
	if (lock(fd) == 0 && io_write_all(fd, text, (size_t)n) == 0 &&
		fchmod(fd, 0644) == 0)
		return fd;
	unlink(tmp);
	fd_close(&fd);
	return -1;
}

/* EEXIST: somebody was faster. */
static int
put_if_none(const char *tmp, const char *path)
{
	int r = renameat2(AT_FDCWD, tmp, AT_FDCWD, path, RENAME_NOREPLACE);

	/* Not every file system knows the flag. */
	return r == -1 && errno == EINVAL ? link(tmp, path) : r;
}

/*
 * Take the name.  While we hold the lock of an old file nobody else replaces
 * it.
 */
static int
take_name(const char *tmp, const char *path, char *text)
{
	int old = lock_old(path), r = -1;

	if (old != -1) {
		read_text(old, text);
		r = rename(tmp, path) == -1 ? -1 : 1;
	} else if (errno == ENOENT) {
		r = put_if_none(tmp, path);
		if (r == -1 && errno == EEXIST)
			errno = EAGAIN;
	}
	fd_close(&old);
	return r;
}

static int
take_name_patiently(const char *tmp, const char *path, char *text)
{
	int r = -1;

	errno = EAGAIN;
	for (int i = 0; r == -1 && errno == EAGAIN && i < TRIES; i++)
		r = take_name(tmp, path, text);
	if (r == -1 && errno == EAGAIN)
		errno = EBUSY;
	return r;
}

/* What the file says is for the operator, and plays no part in what is done. */
static void
describe(const char *path, char *text)
{
	char number[PIDFILE_TEXT_MAX] = "";
	int error = errno;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd != -1)
		read_text(fd, number);
	fd_close(&fd);
	if (error == EBUSY)
		snprintf(text, PIDFILE_TEXT_MAX,
			"A running server holds it (it says '%.20s')", number);
	else if (error == EEXIST || error == ELOOP)
		snprintf(text, PIDFILE_TEXT_MAX, "Not a regular file");
	else
		snprintf(text, PIDFILE_TEXT_MAX, "%s", strerror(error));
	errno = error;
}

/* Make the file beside its place, then put it there. */
static int
open_at(struct pidfile *p, const char *tmp, char *text)
{
	int r, saved;

	/* Left by a process that had our number and was killed just here. */
	if (unlink(tmp) == -1 && errno != ENOENT)
		return -1;
	p->fd = make_new(tmp, p->pid);
	if (p->fd == -1)
		return -1;
	r = take_name_patiently(tmp, p->path, text);
	if (r == -1)
		fd_close(&p->fd);
	saved = errno;
	unlink(tmp);
	errno = saved;
	return r;
}

int
pidfile_open(struct pidfile *p, const char *path, char *text)
{
	char *tmp;
	int r = -1;

	*p = (struct pidfile){path, -1, getpid()};
	*text = '\0';
	if (asprintf(&tmp, "%s.%d", path, (int)p->pid) == -1)
		tmp = NULL;
	else
		r = open_at(p, tmp, text);
	if (r == -1)
		describe(path, text);
	free(tmp);
	return r;
}

bool
pidfile_serves(const struct pidfile *p, const char *path)
{
	return p->fd != -1 && strcmp(p->path, path) == 0 &&
		is_named(p->fd, path);
}

static bool
says_our_id(const struct pidfile *p)
{
	char text[PIDFILE_TEXT_MAX];

	read_text(p->fd, text);
	return atol(text) == (long)p->pid;
}

void
pidfile_close(struct pidfile *p)
{
	if (p->fd != -1 && is_named(p->fd, p->path) && says_our_id(p))
		unlink(p->path);
	fd_close(&p->fd);
}

void
pidfile_forget(struct pidfile *p)
{
	fd_close(&p->fd);
}
