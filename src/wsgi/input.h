/*
 * input.h -- wsgi.input.
 *
 * All reads end at the body's end, whatever its framing.  One object is used
 * again for the next request if the application has not kept it.
 */
#ifndef WSGI_INPUT_H
#define WSGI_INPUT_H

#include "wsgi/gate.h"

struct input {
	PyObject_HEAD nw_request *r; /* NULL: the request is over */
	char *line; /* read ahead for readline, NULL until it is called */
	size_t at, len; /* what is left of it: line[at..len) */
	bool ended; /* the body's end was seen */
};

int input_type_ready(void);
struct input *input_new(void);
void input_attach(struct input *in, nw_request *r);

/* The function narwhal.trailers of this request. */
PyObject *input_trailers_function(struct input *in);

#endif
