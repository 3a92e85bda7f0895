/*
 * extras.h -- early hints and trailers, which PEP 3333 does not know.
 */
#ifndef WSGI_EXTRAS_H
#define WSGI_EXTRAS_H

#include "wsgi/start.h"

/* Functions whose self is the struct start. */
extern PyMethodDef extras_early_hints_def;
extern PyMethodDef extras_add_trailer_def;

#endif
