/*
 * trace.c -- read strace's file: one call a line, `PID name(FD, ...) = N`.
 *
 * A call during which another process did something takes two lines, of which
 * the first ends in `<unfinished ...>`; they are put together again.
 */
#include "process/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FDS_MAX 1024
#define LINE_MAX_LEN 16384

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
	p = strrchr(line, '"'); /* in hex: no quote but its own */
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

/* The beginning of a call, kept by process until the rest of it comes. */
struct halves {
	int n;
	struct {
		int pid;
		char begin[LINE_MAX_LEN];
	} of[8];
};

static char *
half_of(struct halves *h, int pid)
{
	int i;

	for (i = 0; i < h->n; i++)
		if (h->of[i].pid == pid)
			return h->of[i].begin;
	MUST(h->n < 8, "more processes than expected");
	h->of[h->n].pid = pid;
	return h->of[h->n++].begin;
}

/* false: the line is only a first half. */
static bool
make_whole(struct halves *h, char *line, size_t max)
{
	char *cut = strstr(line, "<unfinished ...>");
	char *rest = strstr(line, " resumed>");
	char *half = half_of(h, atoi(line));
	char whole[LINE_MAX_LEN];

	if (cut) {
		*cut = '\0';
		snprintf(half, sizeof(h->of[0].begin), "%s", line);
		return false;
	}
	if (rest) {
		snprintf(whole, sizeof(whole), "%s%s", half,
			rest + strlen(" resumed>"));
		snprintf(line, max, "%s", whole);
	}
	return true;
}

void
trace_read(const struct server *s, struct trace *t)
{
	bool accepted[FDS_MAX] = {false};
	struct halves halves = {0};
	char line[LINE_MAX_LEN];
	FILE *f = fopen(server_path(s, "trace"), "re");

	MUST(f, "strace wrote nothing");
	memset(t, 0, sizeof(*t));
	while (fgets(line, sizeof(line), f))
		if (make_whole(&halves, line, sizeof(line)))
			count_line(t, line, accepted);
	fclose(f);
}
