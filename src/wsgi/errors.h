/*
 * errors.h -- wsgi.errors, sys.stdout and sys.stderr, and tracebacks.
 */
#ifndef WSGI_ERRORS_H
#define WSGI_ERRORS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "narwhal/app.h"

/*
 * Make the text stream into the error log and put it in the place of
 * sys.stdout and sys.stderr.  -1 with an exception.
 */
int errors_open(nw_server *s);

PyObject *errors_stream(void); /* borrowed */

/*
 * Log the exception that is set, and clear it: `what` as the first line, then
 * the traceback.
 */
void errors_log(const char *what);

/* Log one line. */
void errors_say(nw_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
