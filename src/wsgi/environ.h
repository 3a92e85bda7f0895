/*
 * environ.h -- the environ of PEP 3333.
 */
#ifndef WSGI_ENVIRON_H
#define WSGI_ENVIRON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "narwhal/app.h"

/* Make the dict that every environ is a copy of; -1 with an exception. */
int environ_open(void);
void environ_close(void);

/* Put an entry into all environs from now on. */
int environ_set(const char *key, PyObject *value);

/* The environ of a request: a new dict, or NULL with an exception. */
PyObject *environ_new(nw_request *r);

#endif
