/*
 * heap.c -- what malloc keeps and gives back.
 *
 * By itself glibc learns to keep objects up to 32 MiB only; a threshold that
 * is set may be larger.
 */
#include "worker/heap.h"

#include <malloc.h>

/* Less is not worth the page faults of the next request. */
#define WORTHWHILE ((size_t)1 << 20)

void
heap_keep(void)
{
	mallopt(M_MMAP_THRESHOLD, (int)HEAP_KEEP);
	mallopt(M_TRIM_THRESHOLD, (int)HEAP_KEEP);
}

void
heap_give_back(void)
{
	if (mallinfo2().fordblks >= WORTHWHILE)
		malloc_trim(0);
}
