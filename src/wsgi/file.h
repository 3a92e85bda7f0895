/*
 * file.h -- wsgi.file_wrapper.
 */
#ifndef WSGI_FILE_H
#define WSGI_FILE_H

#include "wsgi/write.h"

/* The class, borrowed; NULL with an exception. */
PyObject *file_type_ready(void);

bool file_is_wrapper(PyObject *o);

/*
 * Send the wrapped file by the kernel, from its current position.  *ret_done
 * is false if it is no real file: then iterate over the wrapper.
 */
enum sent file_send(struct start *s, PyObject *wrapper, bool *ret_done);

#endif
