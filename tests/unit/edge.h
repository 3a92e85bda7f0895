/*
 * edge.h -- put a parser's input right before a page that cannot be read, so
 * that looking one byte too far ends the test.
 */
#ifndef UNIT_EDGE_H
#define UNIT_EDGE_H

#include <stddef.h>

#define EDGE_MAX (1024 * 1024)

/* A copy of p[0 .. n), n <= EDGE_MAX; gone with the next call. */
char *edge_copy(const void *p, size_t n);

#endif
