/*
 * gate.h -- one thread at a time inside the server.
 *
 * The interpreter lock is held all the time the worker runs, and let go only
 * while the server really waits.  Then other threads of the application run,
 * and they too may read the body or write (asgiref runs views in a thread of
 * its own); the gate lets them in one after the other, and only while the
 * request lasts.
 */
#ifndef WSGI_GATE_H
#define WSGI_GATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

#include "narwhal/app.h"

/* Sets the wait hooks of the server; -1 with an exception. */
int gate_open(nw_server *s);

/* The interpreter is gone: the hooks do nothing any more. */
void gate_close(void);

/*
 * Go in for a call about the request in *slot, which an object keeps and
 * which is NULL once the request is over.  Returns the request, or NULL with
 * an exception.  Inside no Python code may run.
 */
nw_request *gate_enter(nw_request *const *slot);
void gate_leave(void);

/* Wait until nobody is inside, and stay there: for handle's own changes. */
void gate_seize(void);

#endif
