/*
 * gate.c -- one thread at a time inside the server, and the interpreter lock
 * let go while it waits.
 *
 * Whoever is inside may be the one whose wait the hooks are called for, so a
 * single saved thread state is enough; between requests it is the main thread.
 */
#include "wsgi/gate.h"

static PyThread_type_lock lock;
static unsigned long owner; /* the thread inside, 0: none */
static PyThreadState *waiting;
static bool closed;

static void
before_wait(void *arg)
{
	(void)arg;
	if (!closed)
		waiting = PyEval_SaveThread();
}

/*
 * Python's signal handlers run between the instructions of the main thread.
 * An idle worker has none, so they are run here.
 */
static void
after_wait(void *arg)
{
	(void)arg;
	if (closed)
		return;
	PyEval_RestoreThread(waiting);
	if (!owner && PyErr_CheckSignals() == -1)
		PyErr_WriteUnraisable(NULL);
}

int
gate_open(nw_server *s)
{
	lock = PyThread_allocate_lock();
	if (!lock) {
		PyErr_NoMemory();
		return -1;
	}
	if (nw_set_wait_hooks(s, before_wait, after_wait, NULL) == -1) {
		PyErr_SetFromErrno(PyExc_OSError);
		return -1;
	}
	return 0;
}

void
gate_close(void)
{
	closed = true;
}

static void
wait_for_it(void)
{
	PyThreadState *mine;

	if (PyThread_acquire_lock(lock, NOWAIT_LOCK))
		return;
	mine = PyEval_SaveThread();
	PyThread_acquire_lock(lock, WAIT_LOCK);
	PyEval_RestoreThread(mine);
}

void
gate_seize(void)
{
	wait_for_it();
	owner = PyThread_get_thread_ident();
}

nw_request *
gate_enter(nw_request *const *slot)
{
	nw_request *r;

	if (owner == PyThread_get_thread_ident()) {
		PyErr_SetString(PyExc_RuntimeError,
			"called from within another call about the request");
		return NULL;
	}
	gate_seize();
	r = *slot; /* it may have ended while this thread waited */
	if (r)
		return r;
	gate_leave();
	PyErr_SetString(PyExc_RuntimeError, "the request is over");
	return NULL;
}

void
gate_leave(void)
{
	owner = 0;
	PyThread_release_lock(lock);
}
