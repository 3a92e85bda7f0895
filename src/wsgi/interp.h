/*
 * interp.h -- the Python interpreter of this worker.
 */
#ifndef WSGI_INTERP_H
#define WSGI_INTERP_H

#include "narwhal/app.h"

/*
 * Start it, with the environment (virtualenv), sys.path and sys.argv the
 * application expects.  The calling thread is Python's main thread and holds
 * the interpreter lock afterwards.  -1 after having logged why.
 */
int interp_open(nw_server *s);

/*
 * Let the application's atexit functions run, wait for its threads that are
 * not daemons, and end it.
 */
void interp_close(void);

#endif
