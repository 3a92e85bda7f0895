/*
 * flusher.c -- the one background thread (the flush delay) and all it shares.
 *
 * The main thread queues and sends; this one only sees to it that nothing waits
 * longer than the delay while the main thread is in the application.  Whatever
 * both touch is in struct flusher, under its lock.  Waiting for the client and
 * deadlines are conn.c's.
 *
 * What holds whenever the lock is free: if something waits in an open queue
 * and no send has failed, due_at says when it must go, and unless due_at is the
 * main thread's own business (it is about to send) the timer is armed.
 */
#include "worker/flusher.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/io.h"
#include "base/log.h"

/* Soonest that a client which took nothing is tried again. */
#define RETRY_US 5000

int
flusher_init(
	struct flusher *f, int chunks_max, size_t chunk_size, int64_t delay_us)
{
	*f = (struct flusher){.timer_fd = -1,
		.fd = -1,
		.delay_us = delay_us,
		.armed_at = CLOCK_NEVER,
		.due_at = CLOCK_NEVER};
	pthread_mutex_init(&f->lock, NULL);
	return queue_init(&f->queue, chunks_max, chunk_size);
}

void
flusher_lock(struct flusher *f)
{
	pthread_mutex_lock(&f->lock);
}

void
flusher_unlock(struct flusher *f)
{
	pthread_mutex_unlock(&f->lock);
}

/* ---- the timer and its thread ---- */

/* A moment in the past is taken as now: 0 would disarm, but is none. */
static void
arm(struct flusher *f, int64_t at_us)
{
	struct itimerspec t = {0};

	t.it_value.tv_sec = at_us / 1000000;
	t.it_value.tv_nsec = at_us % 1000000 * 1000;
	timerfd_settime(f->timer_fd, TFD_TIMER_ABSTIME, &t, NULL);
	f->armed_at = at_us;
}

static void
heed(struct flusher *f)
{
	f->armed_at = CLOCK_NEVER;
	/* A send that fails is found by the main thread's next call. */
	if (f->due_at != CLOCK_NEVER && f->due_at <= clock_us())
		flusher_push(f, 0);
	if (f->due_at != CLOCK_NEVER)
		arm(f, f->due_at);
}

static void *
run(void *arg)
{
	struct flusher *f = arg;
	uint64_t expirations;
	bool stop = false;

	while (!stop &&
		io_read(f->timer_fd, &expirations, sizeof(expirations)) ==
			sizeof(expirations)) {
		flusher_lock(f);
		heed(f);
		stop = f->stop;
		flusher_unlock(f);
	}
	return NULL;
}

static int
create_thread(struct flusher *f)
{
	sigset_t all, old;
	int e;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	e = pthread_create(&f->thread, NULL, run, f);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!e)
		pthread_setname_np(f->thread, "narwhal-flush");
	errno = e;
	return e ? -1 : 0;
}

static bool
have_thread(struct flusher *f)
{
	if (f->has_thread || f->no_thread)
		return f->has_thread;
	f->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	f->has_thread = f->timer_fd != -1 && create_thread(f) == 0;
	if (!f->has_thread) {
		log_warning("cannot have a flush thread, chunks are sent at "
			    "once: %s",
			strerror(errno));
		fd_close(&f->timer_fd);
		f->no_thread = true;
	}
	return f->has_thread;
}

void
flusher_done(struct flusher *f)
{
	if (f->has_thread) {
		flusher_lock(f);
		f->stop = true;
		arm(f, 1);
		flusher_unlock(f);
		pthread_join(f->thread, NULL);
		f->has_thread = false;
	}
	fd_close(&f->timer_fd);
	queue_done(&f->queue);
	pthread_mutex_destroy(&f->lock);
}

void
flusher_forget(struct flusher *f)
{
	pthread_mutex_init(&f->lock, NULL);
	f->has_thread = false;
	f->armed_at = CLOCK_NEVER;
	f->no_thread = true;
	fd_close(&f->timer_fd);
	f->fd = -1;
	f->due_at = CLOCK_NEVER;
	f->error = ECANCELED;
}

/* ---- one response ---- */

void
flusher_open(struct flusher *f, int fd)
{
	flusher_lock(f);
	queue_reset(&f->queue);
	f->fd = fd;
	f->error = 0;
	f->bytes_sent = 0;
	f->ahead = 0;
	flusher_unlock(f);
}

int
flusher_send_ahead(struct flusher *f, struct str bytes)
{
	struct iovec iov = {(void *)bytes.p, bytes.len};
	ssize_t sent = io_sendv(f->fd, &iov, 1, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent == -1)
		return -1;
	f->ahead = (size_t)sent;
	f->bytes_sent = (uint64_t)sent;
	return 0;
}

void
flusher_close(struct flusher *f)
{
	flusher_drop(f);
	f->fd = -1; /* nothing waits: the thread does not look */
}

void
flusher_drop(struct flusher *f)
{
	bool some;

	flusher_lock(f);
	queue_drop(&f->queue);
	f->due_at = CLOCK_NEVER;
	some = f->queue.nsent > 0;
	flusher_unlock(f);
	if (some)
		flusher_release(f);
}

void
flusher_release(struct flusher *f)
{
	void (*fn)(void *);
	void *arg;
	bool some;

	for (;;) {
		flusher_lock(f);
		some = queue_take_release(&f->queue, &fn, &arg);
		flusher_unlock(f);
		if (!some)
			return;
		fn(arg);
	}
}

static size_t
total(const struct iovec *iov, int n)
{
	size_t sum = 0;

	while (n--)
		sum += iov[n].iov_len;
	return sum;
}

/*
 * One gathered write, less what went ahead.  Returns 1: all went, 0: the kernel
 * is full, or -1.
 */
static int
push_once(struct flusher *f, int flags)
{
	struct iovec iov[IOV_MAX];
	int n = queue_gather(&f->queue, iov, IOV_MAX);
	ssize_t sent;

	iov[0].iov_base = (char *)iov[0].iov_base + f->ahead;
	iov[0].iov_len -= f->ahead;
	sent = io_sendv(f->fd, iov, n, MSG_DONTWAIT | MSG_NOSIGNAL | flags);
	if (sent == -1)
		return errno == EAGAIN ? 0 : -1;
	queue_sent(&f->queue, (size_t)sent + f->ahead);
	f->ahead = 0;
	f->bytes_sent += (uint64_t)sent;
	return (size_t)sent == total(iov, n);
}

static int64_t
retry_at(const struct flusher *f)
{
	return clock_us() + (f->delay_us > RETRY_US ? f->delay_us : RETRY_US);
}

int
flusher_push(struct flusher *f, int flags)
{
	int r = 1;

	while (!f->error && r == 1 && !queue_is_empty(&f->queue)) {
		r = push_once(f, flags);
		if (r == -1)
			f->error = errno;
	}
	f->due_at = r == 0 ? retry_at(f) : CLOCK_NEVER;
	if (!f->error)
		return 0;
	errno = f->error;
	return -1;
}

int
flusher_schedule(struct flusher *f)
{
	if (f->error || f->delay_us == 0) {
		if (flusher_push(f, 0) == -1)
			return -1;
	}
	if (queue_is_empty(&f->queue))
		return 0;
	if (!have_thread(f))
		return flusher_push(f, 0);
	if (f->due_at == CLOCK_NEVER)
		f->due_at = clock_us() + f->delay_us;
	/* It may be armed for another try, which is further off. */
	if (f->due_at < f->armed_at)
		arm(f, f->due_at);
	return 0;
}

int64_t
flusher_due_at(struct flusher *f)
{
	int64_t at;

	flusher_lock(f);
	at = f->due_at;
	flusher_unlock(f);
	return at;
}
