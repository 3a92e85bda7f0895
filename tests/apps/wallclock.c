/*
 * wallclock.c -- to be preloaded: the wall clock, stepped by a test.
 *
 * The file named by WALLCLOCK holds an int64_t: seconds added to the time of
 * day.  The monotonic clocks are as they are.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

static const volatile int64_t *step;

__attribute__((constructor)) static void
map_step(void)
{
	const char *path = getenv("WALLCLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *p = mmap(NULL, sizeof(*step), PROT_READ, MAP_SHARED, fd, 0);

	step = p == MAP_FAILED ? NULL : p;
	close(fd);
}

PUBLIC int
clock_gettime(clockid_t id, struct timespec *t)
{
	int r = (int)syscall(SYS_clock_gettime, id, t);

	if (r == 0 && step &&
		(id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		t->tv_sec += *step;
	return r;
}

PUBLIC int
gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

PUBLIC time_t
time(time_t *ret)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}
