/*
 * procfs.c -- what files, /proc and the kernel tell about a process.
 */
#include "process/harness.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

char *
read_file(const char *path, size_t *ret_n)
{
	FILE *f = fopen(path, "re");
	struct bytes b = {0};
	char block[65536];
	size_t n;

	MUST(f, "cannot read %s", path);
	bytes_add(&b, "", 0);
	while ((n = fread(block, 1, sizeof(block), f)) > 0)
		bytes_add(&b, block, n);
	fclose(f);
	if (ret_n)
		*ret_n = b.n;
	return b.p;
}

void
write_file(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "we");

	MUST(f && fwrite(p, 1, n, f) == n && fclose(f) == 0, "cannot write %s",
		path);
}

int
count_matches(const char *text, const char *pattern)
{
	const char *at = text;
	regmatch_t m;
	regex_t re;
	int n = 0;

	MUST(regcomp(&re, pattern, REG_EXTENDED | REG_NEWLINE) == 0, "regex");
	while (regexec(&re, at, 1, &m, 0) == 0) {
		n++;
		at = strchr(at + m.rm_eo, '\n'); /* once a line */
		if (!at || !*++at)
			break;
	}
	regfree(&re);
	return n;
}

int
free_port(void)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
	int i, fd, port;

	for (i = 0; i < 1000; i++) {
		port = 20000 + (int)((getpid() * 37 + now_us()) % 12000);
		a.sin_port = htons((uint16_t)port);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (bind(fd, (void *)&a, sizeof(a)) == 0) {
			close(fd);
			return port;
		}
		close(fd);
	}
	ck_abort_msg("no free port");
}

char *
some_bytes(size_t n)
{
	char *p = malloc(n + 1);
	uint32_t x = 2463534242;
	size_t i;

	MUST(p, "out of memory");
	for (i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		p[i] = (char)(x >> 8);
	}
	p[n] = '\0';
	return p;
}

/* ---- /proc ---- */

int
proc_children(pid_t pid, pid_t *pids)
{
	char path[64];
	FILE *f;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (n < WORKERS_MAX && fscanf(f, "%d", &pids[n]) == 1)
		n++;
	fclose(f);
	return n;
}

static bool
status_line(pid_t pid, const char *name, char *line, int max)
{
	char path[64];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, max, f))
		found = strncmp(line, name, strlen(name)) == 0 &&
			line[strlen(name)] == ':';
	if (f)
		fclose(f);
	return found;
}

long
proc_status(pid_t pid, const char *name)
{
	char line[300];

	if (!status_line(pid, name, line, sizeof(line)))
		return 0;
	return strtol(line + strlen(name) + 1, NULL, 10);
}

bool
proc_gone(pid_t pid)
{
	char line[300];

	return !status_line(pid, "State", line, sizeof(line)) ||
		strchr(line, 'Z') || strchr(line, 'X');
}

bool
proc_stopped(pid_t pid)
{
	char line[300];

	return status_line(pid, "State", line, sizeof(line)) &&
		strchr(line, 'T');
}

int
proc_fds(pid_t pid)
{
	char path[64];
	struct dirent *e;
	int n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

/* What stands behind the command in /proc/PID/stat; malloc'd as *ret_text. */
static const char *
stat_line(pid_t pid, char **ret_text)
{
	char path[64], *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	*ret_text = read_file(path, NULL);
	p = strrchr(*ret_text, ')');
	MUST(p, "%s", path);
	return p + 1;
}

long
proc_cpu_ms(pid_t pid)
{
	unsigned long user, system;
	char *text;

	MUST(sscanf(stat_line(pid, &text),
		     " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
		     &user, &system) == 2,
		"stat of %d", pid);
	free(text);
	return (long)(user + system) * 1000 / sysconf(_SC_CLK_TCK);
}

long
proc_faults(pid_t pid)
{
	unsigned long minor;
	char *text;

	MUST(sscanf(stat_line(pid, &text), " %*c %*d %*d %*d %*d %*d %*u %lu",
		     &minor) == 1,
		"stat of %d", pid);
	free(text);
	return (long)minor;
}
