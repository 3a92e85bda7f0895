/*
 * forkguard.c -- when an application forks.
 *
 * fork() runs the handler below in the child.  vfork, posix_spawn and
 * subprocess modules do not, and need not: they exec, and all our descriptors
 * are close-on-exec.  Which descriptors there are is the worker's knowledge.
 */
#include "worker/forkguard.h"

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

#include "proc/signals.h"

static bool is_child;
static void (*forget)(void *);
static void *forget_arg;

/* Once: what a child's own children inherit is the child's. */
static void
in_child(void)
{
	if (is_child)
		return;
	is_child = true;
	signals_leave();
	if (forget)
		forget(forget_arg);
}

void
forkguard_init(void (*f)(void *), void *arg)
{
	static bool installed;
	int r;

	forget = f;
	forget_arg = arg;
	if (installed)
		return; /* a handler cannot be taken back */
	r = pthread_atfork(NULL, NULL, in_child);
	assert(r == 0); /* ENOMEM at boot */
	installed = true;
}

bool
forkguard_is_child(void)
{
	return is_child;
}

/*
 * Not exit: atexit handlers and stdio buffers are copies of the worker's,
 * which will run and write them itself.
 */
void
forkguard_end_child(int status)
{
	if (is_child)
		_exit(status);
}
