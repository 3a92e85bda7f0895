/*
 * gate.c -- one thread at a time inside the server, and the interpreter lock
 * let go while it waits.
 *
 * Whoever goes in and out holds the interpreter lock, so `owner` needs no
 * other; only a thread that finds somebody inside pays for more.  It waits,
 * without the interpreter lock, for `turns` to move on.
 *
 * Whoever is inside may be the one whose wait the hooks are called for, so a
 * single saved thread state is enough; between requests it is the main thread.
 */
#include "wsgi/gate.h"

#include <pthread.h>

static pthread_t owner; /* the thread inside, 0: none */
static int waiters;
static unsigned turns; /* changes under the mutex too */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;

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
	if (nw_set_wait_hooks(s, before_wait, after_wait, NULL) == 0)
		return 0;
	PyErr_SetFromErrno(PyExc_OSError);
	return -1;
}

void
gate_close(void)
{
	closed = true;
}

static void
wait_turn(void)
{
	unsigned seen = turns;
	PyThreadState *mine;

	waiters++;
	mine = PyEval_SaveThread();
	pthread_mutex_lock(&mutex);
	while (turns == seen)
		pthread_cond_wait(&turned, &mutex);
	pthread_mutex_unlock(&mutex);
	PyEval_RestoreThread(mine);
	waiters--;
}

void
gate_seize(void)
{
	while (owner)
		wait_turn();
	owner = pthread_self();
}

nw_request *
gate_enter(nw_request *const *slot)
{
	nw_request *r;

	if (owner == pthread_self()) {
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
	if (waiters == 0)
		return;
	pthread_mutex_lock(&mutex);
	turns++;
	pthread_cond_broadcast(&turned);
	pthread_mutex_unlock(&mutex);
}
