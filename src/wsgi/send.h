/*
 * send.h -- the iterable that an application returns, to the client.
 */
#ifndef WSGI_SEND_H
#define WSGI_SEND_H

#include "wsgi/start.h"

/*
 * Send all of it, or as much as can go out.  -1 with an exception if the
 * application failed.
 */
int send_result(struct start *s, PyObject *result);

/*
 * Call its close(), if it has one.  An exception that is set stays set; what
 * close() itself raises is logged.
 */
void send_close(PyObject *result);

#endif
