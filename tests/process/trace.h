/*
 * trace.h -- what strace wrote about the sockets a server accepted.
 */
#ifndef TESTS_PROCESS_TRACE_H
#define TESTS_PROCESS_TRACE_H

#include "process/harness.h"

struct trace {
	int reads; /* that returned something */
	size_t most; /* the most one of them asked for */
	size_t second; /* the most but for one: the head is read in its own */
	int writes;
};

/* The calls server_trace() has to be given. */
#define TRACE_CALLS                                                            \
	"trace=accept,accept4,read,readv,recvfrom,recvmsg,write,writev,"       \
	"sendto,sendmsg,sendfile"

/* Of all accepted connections; the server must have ended. */
void trace_read(const struct server *s, struct trace *t);

#endif
