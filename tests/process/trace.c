/*
 * trace.c -- read strace's file: one call a line, `PID name(FD, ...) = N`.
 *
 * A call that another thread interrupts takes two lines; the calls traced
 * here are of the worker's main thread, and the one thread beside it writes
 * only.
 */
#include "process/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FDS_MAX 1024

static const char *const readers[] = {"read", "readv", "recvfrom", "recvmsg"};
static const char *const writers[] = {
	"write", "writev", "sendto", "sendmsg", "sendfile"};

static bool
is_one_of(const char *name, const char *const *names, int n)
{
	while (n-- > 0)
		if (strcmp(name, names[n]) == 0)
			return true;
	return false;
}

/* How much a read asks for: the sum of iov_len, or the third argument. */
static size_t
asked(const char *line)
{
	const char *p = line;
	size_t n = 0;

	while ((p = strstr(p, "iov_len="))) {
		p += strlen("iov_len=");
		n += strtoul(p, NULL, 10);
	}
	if (n > 0)
		return n;
	p = strstr(line, "\"\"...");
	p = p ? strchr(p, ',') : NULL;
	return p ? strtoul(p + 1, NULL, 10) : 0;
}

static void
count_read(struct trace *t, size_t n)
{
	t->reads++;
	if (n > t->most) {
		t->second = t->most;
		t->most = n;
	} else if (n > t->second) {
		t->second = n;
	}
}

static void
count_line(struct trace *t, const char *line, bool *accepted)
{
	const char *result = strrchr(line, '=');
	char name[32];
	int fd, n;

	if (!result || sscanf(line, "%*d %31[a-z0-9](%d", name, &fd) != 2)
		return;
	n = atoi(result + 1);
	if (strncmp(name, "accept", 6) == 0 && n >= 0 && n < FDS_MAX)
		accepted[n] = true;
	if (n <= 0 || fd < 0 || fd >= FDS_MAX || !accepted[fd])
		return;
	if (is_one_of(name, readers, 4))
		count_read(t, asked(line));
	if (is_one_of(name, writers, 5))
		t->writes++;
}

void
trace_read(const struct server *s, struct trace *t)
{
	bool accepted[FDS_MAX] = {false};
	char line[8192];
	FILE *f = fopen(server_path(s, "trace"), "re");

	MUST(f, "strace wrote nothing");
	memset(t, 0, sizeof(*t));
	while (fgets(line, sizeof(line), f))
		count_line(t, line, accepted);
	fclose(f);
}
