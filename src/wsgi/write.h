/*
 * write.h -- the body of the response, piece by piece, into the server.
 */
#ifndef WSGI_WRITE_H
#define WSGI_WRITE_H

#include "wsgi/start.h"

/* What became of bytes that were handed over. */
enum sent {
	SENT,
	SENT_ENOUGH, /* nothing more can go out: stop, it is no failure */
	SENT_FAILED /* an exception is set */
};

/* One item of the body. */
enum sent write_bytes(struct start *s, PyObject *bytes);

/* Declare the length, where the application has not. */
enum sent write_length(struct start *s, int64_t length);

/* n bytes of a file. */
enum sent write_file(struct start *s, int fd, off_t offset, int64_t n);

/* write(), which start_response returns; its self is the struct start. */
extern PyMethodDef write_def;

#endif
