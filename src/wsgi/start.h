/*
 * start.h -- start_response, write() and what else speaks of the response.
 *
 * One object is the start_response of a request; it is used again for the
 * next one if the application has kept nothing of it.
 */
#ifndef WSGI_START_H
#define WSGI_START_H

#include "wsgi/gate.h"

struct start {
	PyObject_HEAD vectorcallfunc call;
	nw_request *r; /* NULL: the request is over */
	PyObject *write; /* borrowed from whoever keeps the set, or NULL */
	bool started; /* status and header fields are good */
	bool head_only; /* HEAD */
	bool has_body; /* what is written reaches the client */
	bool has_trailers;
	int64_t length; /* declared by the application, -1: not */
	int64_t sent; /* body bytes handed over */
};

/* What became of bytes that were handed over. */
enum sent {
	SENT,
	SENT_ENOUGH, /* nothing more can go out: stop, it is no failure */
	SENT_FAILED /* an exception is set */
};

int start_type_ready(void);
struct start *start_new(void);

/* The bound functions that go with it: write, early_hints, add_trailer. */
PyObject *start_function(struct start *s, const char *name);

/* A request begins. */
void start_attach(struct start *s, nw_request *r, bool head_only);

/* Declare the length, where the application has not. */
enum sent start_set_length(struct start *s, int64_t length);

/* One item of the body. */
enum sent start_send(struct start *s, PyObject *bytes);

/* n bytes of a file. */
enum sent start_send_file(struct start *s, int fd, off_t offset, int64_t n);

#endif
