/*
 * pidfile.h -- the file that holds the master's process id.
 *
 * A lock on the file says whether its server lives; the number in it is for
 * others to read.
 */
#ifndef PROC_PIDFILE_H
#define PROC_PIDFILE_H

#include <stdbool.h>
#include <sys/types.h>

#define PIDFILE_TEXT_MAX 160

struct pidfile {
	const char *path; /* the caller's, must outlive it */
	int fd; /* holds the lock; -1: there is none */
	pid_t pid; /* of who wrote it */
};

/*
 * Lock path and put our process id there.  A file that nobody holds a lock on
 * is replaced, whatever is in it: then 1 is returned, and its first line is in
 * text[PIDFILE_TEXT_MAX]; else 0.  Returns -1 with errno and a reason in text;
 * EBUSY: its server lives.
 */
int pidfile_open(struct pidfile *p, const char *path, char *text);

/* Is it what path asks for, and still there? */
bool pidfile_serves(const struct pidfile *p, const char *path);

/*
 * Let go of the lock, and remove the file if it is the one we made and holds
 * our process id still.
 */
void pidfile_close(struct pidfile *p);

/* In a child: close the descriptor, which would keep the lock. */
void pidfile_forget(struct pidfile *p);

#endif
