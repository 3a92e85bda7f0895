/*
 * kills.c -- SIGKILL for workers, and a list of what each of them held.
 *
 * Which connections a stopped worker holds is found by copies of its
 * descriptors: their peer is the client's own address, a port or the name that
 * the kernel gave to its unix socket.  The copies are closed before the kill,
 * else they would keep the connections open.
 */
#include "process/kills.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

struct held {
	struct end end;
	int64_t at;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct held *held;
static size_t nheld, held_max;
static pid_t *killed;
static int nkilled, killed_max;

static struct end
name_of(const struct sockaddr_storage *a, socklen_t n)
{
	const struct sockaddr_in *in = (const void *)a;
	const struct sockaddr_un *un = (const void *)a;
	size_t head = offsetof(struct sockaddr_un, sun_path) + 1;
	struct end e = {""};

	if (a->ss_family == AF_INET)
		snprintf(
			e.name, sizeof(e.name), "port %d", ntohs(in->sin_port));
	else if (a->ss_family == AF_UNIX && n > head)
		snprintf(e.name, sizeof(e.name), "unix %.*s", (int)(n - head),
			un->sun_path + 1);
	return e;
}

struct end
end_of_client(int fd)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);

	if (getsockname(fd, (void *)&a, &n) == -1)
		return (struct end){""};
	return name_of(&a, n);
}

/* ---- the lists ---- */

static void
add_held(struct end e, int64_t at)
{
	pthread_mutex_lock(&lock);
	if (nheld == held_max) {
		held_max = 2 * held_max + 100;
		held = realloc(held, held_max * sizeof(*held));
		MUST(held, "out of memory");
	}
	held[nheld++] = (struct held){e, at};
	pthread_mutex_unlock(&lock);
}

static void
add_killed(pid_t pid)
{
	pthread_mutex_lock(&lock);
	if (nkilled == killed_max) {
		killed_max = 2 * killed_max + 100;
		killed = realloc(killed, (size_t)killed_max * sizeof(pid_t));
		MUST(killed, "out of memory");
	}
	killed[nkilled++] = pid;
	pthread_mutex_unlock(&lock);
}

bool
kill_took(const struct end *e, int64_t opened_at)
{
	bool found = false;
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = nheld; i > 0 && !found && held[i - 1].at >= opened_at; i--)
		found = strcmp(held[i - 1].end.name, e->name) == 0;
	pthread_mutex_unlock(&lock);
	return found;
}

bool
kill_hit(pid_t pid)
{
	bool found = false;
	int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < nkilled && !found; i++)
		found = killed[i] == pid;
	pthread_mutex_unlock(&lock);
	return found;
}

int
kill_count(void)
{
	return nkilled;
}

/* ---- the deed ---- */

static void
note_descriptor(int process, int fd)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);
	struct end e;
	int copy = (int)syscall(SYS_pidfd_getfd, process, fd, 0);

	if (copy == -1)
		return;
	if (getpeername(copy, (void *)&a, &n) == 0) {
		e = name_of(&a, n);
		if (e.name[0])
			add_held(e, now_us());
	}
	close(copy);
}

static void
take_stock(int process, pid_t pid)
{
	char path[64];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			note_descriptor(process, atoi(e->d_name));
	if (d)
		closedir(d);
}

bool
kill_worker(pid_t pid)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0);

	if (process == -1)
		return false;
	syscall(SYS_pidfd_send_signal, process, SIGSTOP, NULL, 0);
	UNTIL(proc_stopped(pid) || proc_gone(pid));
	take_stock(process, pid);
	add_killed(pid);
	syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0);
	close(process);
	return true;
}
