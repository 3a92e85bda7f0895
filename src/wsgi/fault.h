/*
 * fault.h -- what goes wrong on the client's side, as Python exceptions.
 *
 * All are OSErrors: narwhal.ClientError, and below it ClientDisconnected (also
 * a ConnectionResetError), ClientTimeout (also a TimeoutError) and BadBody.
 */
#ifndef WSGI_FAULT_H
#define WSGI_FAULT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

/* Put the module `narwhal` among the built-in ones; before the interpreter. */
int fault_register(void);

/* Raise what an errno of narwhal/app.h means. */
void fault_raise(int err);

/* Is the exception that is set one of the client's faults? */
bool fault_is_set(void);

#endif
