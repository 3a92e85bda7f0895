/*
 * arena.c -- memory that is given back all at once.
 *
 * Blocks form a list; only the last one is allocated from.  Under the address
 * sanitizer everything not handed out is poisoned, and a gap of poisoned bytes
 * follows each object, so that running off its end is seen.
 */
#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN
#endif

#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define GAP alignof(max_align_t)
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define GAP 0
#endif

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t cap;
	max_align_t data[];
};

static struct arena_block *
block_new(size_t cap)
{
	struct arena_block *b;

	if (cap > SIZE_MAX - sizeof(*b)) {
		errno = ENOMEM;
		return NULL;
	}
	b = malloc(sizeof(*b) + cap);
	if (!b)
		return NULL;
	*b = (struct arena_block){.cap = cap};
	ASAN_POISON_MEMORY_REGION(b->data, cap);
	return b;
}

static void
block_free(struct arena_block *b)
{
	ASAN_UNPOISON_MEMORY_REGION(b->data, b->cap);
	free(b);
}

static void
free_from(struct arena_block *b)
{
	struct arena_block *next;

	for (; b; b = next) {
		next = b->next;
		block_free(b);
	}
}

int
arena_init(struct arena *a, size_t first_len)
{
	*a = (struct arena){.first_len = first_len};
	a->first = a->last = block_new(first_len);
	return a->first ? 0 : -1;
}

void
arena_done(struct arena *a)
{
	free_from(a->first);
	*a = (struct arena){0};
}

void
arena_reset(struct arena *a)
{
	free_from(a->first->next);
	a->first->next = NULL;
	a->first->used = 0;
	a->last = a->first;
	ASAN_POISON_MEMORY_REGION(a->first->data, a->first->cap);
}

/* n and the gap behind it, rounded up to keep the next object aligned. */
static int
round_up(size_t n, size_t *ret_n)
{
	const size_t align = alignof(max_align_t);

	if (n > SIZE_MAX - GAP - align) {
		errno = ENOMEM;
		return -1;
	}
	*ret_n = ((n ? n : 1) + GAP + align - 1) / align * align;
	return 0;
}

void *
arena_alloc(struct arena *a, size_t n)
{
	struct arena_block *b = a->last;
	size_t len;
	void *p;

	assert(b);
	if (round_up(n, &len) == -1)
		return NULL;
	if (len > b->cap - b->used) {
		b = block_new(len > a->first_len ? len : a->first_len);
		if (!b)
			return NULL;
		a->last->next = b;
		a->last = b;
	}
	p = (char *)b->data + b->used;
	b->used += len;
	ASAN_UNPOISON_MEMORY_REGION(p, n);
	return p;
}

void *
arena_zalloc(struct arena *a, size_t n)
{
	void *p = arena_alloc(a, n);

	return p ? memset(p, 0, n) : NULL;
}

struct str
arena_dup(struct arena *a, struct str s)
{
	char *p = s.len < SIZE_MAX ? arena_alloc(a, s.len + 1) : NULL;

	if (!p)
		return (struct str){NULL, 0};
	if (s.len)
		memcpy(p, s.p, s.len);
	p[s.len] = '\0';
	return (struct str){p, s.len};
}

char *
arena_strdup(struct arena *a, const char *z)
{
	return (char *)arena_dup(a, str_of(z)).p;
}

char *
arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	p = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1);
	if (!p)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}
