/*
 * access.h -- the access log.
 *
 * The format is compiled once at boot into a list of atoms (Gunicorn's, and
 * Q, W, R); a line is formatted into a kept buffer and written as
 * io_write_line does.  Bytes from outside are escaped, so a request is one line.
 */
#ifndef WORKER_ACCESS_H
#define WORKER_ACCESS_H

#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "http/head.h"

struct access_atom;

struct access_log {
	int fd; /* -1: off; may be changed between lines */
	struct io_reader reader;
	struct access_atom *atoms; /* and behind them a copy of the format */
	size_t natoms;
	struct buf line;
	time_t stamp_at; /* the second the stamp was made for */
	char stamp[CLOCK_LOG_MAX];
	size_t stamp_len;
};

/* What a line can tell; a refused request has an empty or half-read head. */
struct access_entry {
	struct str peer;
	struct str line; /* the request line as received, or what came of it */
	const struct head *head; /* NULL: there is none */
	struct str path, query;
	int status;
	uint64_t body_bytes;
	int64_t micros; /* from the head's completion to the response's end */
	int peak_chunks;
	uint64_t blocked_out_us;
	uint64_t blocked_in_us;
	struct str (*response_field)(const void *arg, struct str name);
	const void *arg;
};

/*
 * Is the format one we understand?  NULL, or what is wrong with it, which is
 * valid until the next call.
 */
const char *access_check(const char *format);

/* Copies the format.  -1 with errno, EINVAL for what access_check refuses. */
int access_init(struct access_log *a, int fd, const char *format);
void access_done(struct access_log *a);

/* One line; a write that fails is ignored. */
void access_write(struct access_log *a, const struct access_entry *e);

#endif
