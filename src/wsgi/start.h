/*
 * start.h -- start_response.
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
	bool no_content; /* 204, 205, 304 */
	bool has_trailers;
	int64_t length; /* declared by the application, -1: not */
	int64_t sent; /* body bytes handed over */
};

int start_type_ready(void);
struct start *start_new(void);

/* A request begins. */
void start_attach(struct start *s, nw_request *r, bool head_only);

/* Was it called?  Else an exception that says what came too early. */
bool start_check(const struct start *s, const char *what);

#endif
