/*
 * arena.h -- memory that is given back all at once.
 *
 * The first block is allocated once and kept over resets; further blocks come
 * from malloc as needed and go at the reset.  So a warm arena whose users stay
 * within the first block never calls malloc.  Under the address sanitizer what
 * has not been handed out is poisoned.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/str.h"

struct arena_block;

struct arena {
	struct arena_block *first;
	struct arena_block *last;
	size_t first_len;
};

/* Allocates the first block of first_len bytes; -1 with ENOMEM. */
int arena_init(struct arena *a, size_t first_len);
void arena_done(struct arena *a); /* accepts the zeroed */
void arena_reset(struct arena *a); /* all handed out is gone */

/* n bytes aligned for any object, or NULL with ENOMEM.  Not zeroed. */
void *arena_alloc(struct arena *a, size_t n);
void *arena_zalloc(struct arena *a, size_t n);

/* A copy with a NUL behind it (not counted); p is NULL with ENOMEM. */
struct str arena_dup(struct arena *a, struct str s);
char *arena_strdup(struct arena *a, const char *z);
char *arena_printf(struct arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
