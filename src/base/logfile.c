/*
 * logfile.c -- open a log by a name that others may have tampered with.
 *
 * The folder of a log often belongs to the user whom the workers run as, and
 * root opens the file by its name, again at each USR1.  Who can put a link in
 * the place of the file, or of a folder on the way, could so let root append
 * what a client sends to any file.  Hence root goes the way step by step,
 * follows no link but its own and those of /proc, and takes a file that has
 * other names only where nobody else could have given it this one.
 */
#include "base/logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

/* Without O_NONBLOCK a pipe that nobody reads would hold us up. */
#define FLAGS                                                                  \
	(O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
#define STEP (O_PATH | O_NOFOLLOW | O_CLOEXEC)
#define LINKS_MAX 40

struct way {
	int dir; /* where we stand */
	char rest[PATH_MAX]; /* the way from there */
	int links; /* followed so far */
	mode_t mode;
	bool look; /* open and make nothing */
};

static int
stand_at(struct way *w, int fd)
{
	if (fd == -1)
		return -1;
	fd_close(&w->dir);
	w->dir = fd;
	return 0;
}

static int
set_rest(struct way *w, const char *path, const char *behind)
{
	char joined[PATH_MAX];
	int n = snprintf(joined, sizeof(joined), "%s%s%s", path,
		*behind ? "/" : "", behind);

	if ((size_t)n >= sizeof(joined)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(w->rest, joined, (size_t)n + 1);
	if (*path == '/')
		return stand_at(w, open("/", O_PATH | O_CLOEXEC));
	return 0;
}

/* Take the next name off the way.  Returns whether it is the last one. */
static bool
next_name(struct way *w, char *name)
{
	const char *p = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(p, "/");

	memcpy(name, p, n);
	name[n] = '\0';
	p += n;
	memmove(w->rest, p, strlen(p) + 1);
	return w->rest[0] == '\0';
}

static bool
is_procfs(int fd)
{
	struct statfs s;

	return fstatfs(fd, &s) == 0 && s.f_type == PROC_SUPER_MAGIC;
}

/* The way goes on where the link points to. */
static int
follow(struct way *w, int link, uid_t owner)
{
	char target[PATH_MAX];
	ssize_t n;

	errno = ELOOP;
	if (owner != 0 || ++w->links > LINKS_MAX)
		return -1;
	n = readlinkat(link, "", target, sizeof(target) - 1);
	if (n == -1)
		return -1;
	target[n] = '\0';
	return set_rest(w, target, w->rest + strspn(w->rest, "/"));
}

/* Go to name, be it a folder or a link. */
static int
step(struct way *w, const char *name)
{
	int fd = openat(w->dir, name, STEP);
	struct stat st;
	int r = -1;

	if (fd == -1 || fstat(fd, &st) == -1)
		goto out;
	if (S_ISLNK(st.st_mode) && is_procfs(fd)) {
		r = stand_at(w, openat(w->dir, name, O_PATH | O_CLOEXEC));
	} else if (S_ISLNK(st.st_mode)) {
		r = follow(w, fd, st.st_uid);
	} else {
		r = stand_at(w, fd);
		fd = -1;
	}
out:
	fd_close(&fd);
	return r;
}

/* Can nobody but root put a name into this folder? */
static bool
is_roots_alone(int dir)
{
	struct stat st;

	return fstat(dir, &st) == 0 && st.st_uid == 0 &&
		!(st.st_mode & (S_IWGRP | S_IWOTH));
}

/*
 * The name is looked at after the file was opened: whoever removes it in
 * between, so that the file has one name again, has removed this one.
 */
static bool
is_its_only_name(int dir, const char *name, int fd)
{
	struct stat st, now;

	return fstat(fd, &st) == 0 &&
		fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
		now.st_dev == st.st_dev && now.st_ino == st.st_ino &&
		now.st_nlink == 1;
}

static bool
is_link(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISLNK(st.st_mode);
}

/* ELOOP: it is a link.  EMLINK: a hard one that may have been planted. */
static int
open_last(const struct way *w, const char *name)
{
	int flags = w->look ? O_PATH | O_CLOEXEC : FLAGS;
	int fd, fault = 0;

	if (is_procfs(w->dir))
		return openat(w->dir, name, flags, w->mode);
	fd = openat(w->dir, name, flags | O_NOFOLLOW, w->mode);
	if (fd == -1)
		return -1;
	if (is_link(fd)) /* what O_PATH opens */
		fault = ELOOP;
	else if (!is_roots_alone(w->dir) && !is_its_only_name(w->dir, name, fd))
		fault = EMLINK;
	if (fault) {
		fd_close(&fd);
		errno = fault;
	}
	return fd;
}

static int
open_stepwise(const char *path, mode_t mode, bool look)
{
	struct way w = {.dir = -1, .mode = mode, .look = look};
	char name[PATH_MAX];
	int fd = -1;

	if (stand_at(&w, open(".", O_PATH | O_CLOEXEC)) == -1 ||
		set_rest(&w, path, "") == -1)
		goto out;
	do {
		if (!next_name(&w, name))
			continue;
		fd = open_last(&w, name);
		if (fd != -1 || errno != ELOOP)
			break;
	} while (step(&w, name) == 0);
out:
	fd_close(&w.dir);
	return fd;
}

static bool
is_log(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 &&
		(S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode) ||
			S_ISCHR(st.st_mode));
}

static const char no_log[] = "Neither a file, a pipe nor a terminal";

static const char *
reason(bool is_root)
{
	if (errno == ELOOP && is_root)
		return "A link on the way belongs to another user";
	if (errno == EMLINK && is_root)
		return "It has other names, and this one may be another user's";
	if (errno == ENXIO)
		return "A pipe that nobody reads, or a socket";
	return strerror(errno);
}

int
logfile_open(const char *path, mode_t mode, const char **ret_why)
{
	bool is_root = geteuid() == 0;
	int fd = is_root ? open_stepwise(path, mode, false)
			 : open(path, FLAGS, mode);

	if (fd == -1) {
		*ret_why = reason(is_root);
	} else if (!is_log(fd)) {
		*ret_why = no_log;
		fd_close(&fd);
	} else {
		fd_set_nonblock(fd, false);
	}
	return fd;
}

int
logfile_check(const char *path, const char **ret_why)
{
	bool is_root = geteuid() == 0;
	int fd = is_root ? open_stepwise(path, 0, true)
			 : open(path, O_PATH | O_CLOEXEC);
	int r = 0;

	if (fd == -1 && errno != ENOENT) {
		*ret_why = reason(is_root);
		r = -1;
	} else if (fd != -1 && !is_log(fd)) {
		*ret_why = no_log;
		r = -1;
	}
	fd_close(&fd);
	return r;
}
