/*
 * board.c -- the scoreboard in shared memory.
 *
 * The texts of a slot are written with plain stores while request_at is 0 and
 * published by it; a reader that saw request_at change meanwhile knows that
 * its copy is torn.  There is no lock: a worker may be killed at any point,
 * and the master never waits for one.
 */
#include "proc/board.h"

#include <string.h>
#include <sys/mman.h>

int
board_open(struct board *b, int nslots)
{
	size_t len = (size_t)nslots * sizeof(*b->slots);
	void *p;

	b->slots = NULL;
	b->nslots = 0;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		-1, 0);
	if (p == MAP_FAILED)
		return -1;
	b->slots = p;
	b->nslots = nslots;
	return 0;
}

void
board_close(struct board *b)
{
	if (b->slots != NULL)
		munmap(b->slots, (size_t)b->nslots * sizeof(*b->slots));
	b->slots = NULL;
	b->nslots = 0;
}

void
board_clear(struct board *b, int i)
{
	memset(&b->slots[i], 0, sizeof(b->slots[i]));
}

static bool
leave_booting(struct board_slot *s, int state)
{
	int booting = BOARD_BOOTING;

	return atomic_compare_exchange_strong(&s->state, &booting, state) ||
		booting == state;
}

bool
board_begin(struct board_slot *s)
{
	return leave_booting(s, BOARD_IDLE);
}

bool
board_forbid(struct board_slot *s)
{
	return leave_booting(s, BOARD_FORBIDDEN);
}

static void
copy_text(char *to, size_t max, struct str s)
{
	size_t n = s.len < max - 1 ? s.len : max - 1;

	if (n > 0)
		memcpy(to, s.p, n);
	to[n] = '\0';
}

void
board_set_request(struct board_slot *s, struct str method, struct str target,
	struct str peer, int64_t now_us)
{
	atomic_store_explicit(&s->request_at, 0, memory_order_relaxed);
	if (method.p == NULL)
		return;
	atomic_thread_fence(memory_order_release);
	copy_text(s->method, sizeof(s->method), method);
	copy_text(s->target, sizeof(s->target), target);
	copy_text(s->peer, sizeof(s->peer), peer);
	atomic_store_explicit(&s->request_at, now_us, memory_order_release);
}

void
board_end_request(struct board_slot *s)
{
	atomic_store_explicit(&s->request_at, 0, memory_order_relaxed);
}

/* The source may lack its NUL: whoever can write the board is not trusted. */
static void
take_text(char *to, const char *from, size_t max)
{
	memcpy(to, from, max - 1);
	to[max - 1] = '\0';
}

bool
board_read_request(
	const struct board_slot *s, int64_t now_us, struct board_request *out)
{
	int64_t at, again;

	memset(out, 0, sizeof(*out));
	out->seconds_x1000 = -1;
	at = atomic_load_explicit(&s->request_at, memory_order_acquire);
	if (at == 0)
		return false;
	take_text(out->method, s->method, sizeof(out->method));
	take_text(out->target, s->target, sizeof(out->target));
	take_text(out->peer, s->peer, sizeof(out->peer));
	atomic_thread_fence(memory_order_acquire);
	again = atomic_load_explicit(&s->request_at, memory_order_relaxed);
	if (again != at)
		return false;
	out->seconds_x1000 = at > 0 && at < now_us ? (now_us - at) / 1000 : 0;
	return true;
}
