/*
 * scripted.h -- a client that follows a script, and a request in hand.
 */
#ifndef UNIT_SCRIPTED_H
#define UNIT_SCRIPTED_H

#include "worker/request.h"

#define WIRE_MAX (1024 * 1024)

/* What it sends, in pieces of which size. */
struct client {
	int fd;
	const char *p;
	size_t len, at;
	size_t step; /* bytes a piece, 0: all at once */
	size_t cut; /* the first piece, 0: as the others */
	bool closes; /* shuts its half down after the last piece */
	int waits; /* how often the server had to wait */
};

extern struct client client;
extern struct conn_limits conn_limits;
extern struct conn_hooks hooks;
extern struct conn conn;
extern struct request_limits limits;
extern struct request request;
extern int continues; /* how often send_continue was called */
extern char wire[WIRE_MAX], body[WIRE_MAX], got_body[WIRE_MAX];

void set_up(void);
void tear_down(void);
void restart(void); /* anew, with the limits as they are now */

void script(const void *p, size_t n, size_t step);
void script_z(const char *z);
bool client_sends(void); /* the next piece; false: there is none */

/* As a worker does it; the client goes on when nothing is there. -1: EOF. */
int read_head(void);

/* The rest of the body into got_body, in reads of n or in blocks; or -1. */
ssize_t read_all(size_t n);
ssize_t read_blocks(void);

void check_str(struct str s, const char *z);
void check_body(ssize_t len, size_t n); /* all of body came, in order */

/* From 1 to max, the same row for the same seed. */
extern unsigned long seed;
size_t pick(size_t max);
void make_body(size_t n);

/*
 * Put a request at wire + at and return where it ends; in chunks of 1 to max
 * bytes, with max 0 of 65536.
 */
size_t add_length(size_t at, const char *p, size_t n);
size_t add_chunked(size_t at, const char *p, size_t n, size_t max);

#endif
