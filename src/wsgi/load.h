/*
 * load.h -- find the application in Python's modules.
 */
#ifndef WSGI_LOAD_H
#define WSGI_LOAD_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/*
 * The callable that a value of the key `app` names; NULL after having logged
 * why, with the traceback if it was the application's own code that failed.
 */
PyObject *load_app(const char *spec);

#endif
