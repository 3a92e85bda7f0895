/*
 * heap.h -- a busy worker keeps the memory of large objects; a quiet one gives
 * it back.
 *
 * A body read whole is an object as large as the upload.  Given back to the
 * system behind each request it comes again page by page, zeroed, which takes
 * longer than to receive the body into it.
 */
#ifndef WORKER_HEAP_H
#define WORKER_HEAP_H

#include <stddef.h>

/* Larger objects, and more freed memory than this, go back at once. */
#define HEAP_KEEP ((size_t)128 << 20)

/* From here on, for the whole process; without effect under another malloc. */
void heap_keep(void);

/* Give back what is free.  Cheap if that is little. */
void heap_give_back(void);

#endif
