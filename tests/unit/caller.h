/*
 * caller.h -- an application's place: requests in, calls, responses out.
 *
 * A request is put into one end of a socket pair, the functions of
 * narwhal/app.h are called as an application would, and what came out at the
 * other end is looked at.  The log goes to a file of the test's.
 */
#ifndef UNIT_CALLER_H
#define UNIT_CALLER_H

#include <check.h>
#include <errno.h>
#include <string.h>

#include "worker/api.h"

#define CRLF "\r\n"
#define HOST "Host: t\r\n"
#define GET "GET / HTTP/1.1\r\nHost: t\r\n\r\n"
#define POST5 "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\n"
#define CHUNKED                                                                \
	"POST / HTTP/1.1\r\nHost: t\r\nTE: trailers\r\n"                       \
	"Transfer-Encoding: chunked\r\n\r\n"

struct caller {
	struct conn conn;
	struct conn_hooks hooks;
	struct request request; /* request-body 1000, input-block-size 512 */
	struct response response;
	struct api api;
	int client; /* the other end */
	int log_file;
	int released; /* buffers of caller_lend() that came back */
};

extern struct caller caller;

/* The fixture of each test. */
void caller_setup(void);
void caller_teardown(void);

/* A request comes in hand, up to the call of handle. */
void caller_begin(const char *wire);

/* The client says more. */
void caller_say(const char *p);

/* handle returns; gives what the client got.  *ret_keep may be NULL. */
const char *caller_end(int result, bool *ret_keep);

/* What follows the first head of it. */
const char *caller_body(const char *wire);

/* How many lines were logged since this was last asked. */
int caller_log_lines(void);

/* nw_write_release, with a count of releases. */
int caller_lend(const char *p, size_t n);

bool is(nw_str s, const char *z);

#define CHECK_FAILS(call, error)                                               \
	do {                                                                   \
		errno = 0;                                                     \
		ck_assert_int_eq((call), -1);                                  \
		ck_assert_int_eq(errno, (error));                              \
	} while (0)

#define N(lit) nw_str_of(lit)

#endif
