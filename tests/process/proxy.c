/*
 * proxy.c -- nginx or HAProxy, with the example of conf/, before a server.
 *
 * The examples are taken as they are; only the lines that name ports and
 * addresses are written anew, and a frame is put round nginx's that Debian's
 * nginx.conf has.
 */
#include "process/proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
	const char *example, *program;
	const char *listen, *upstream; /* lines that are changed */
	const char *before, *after;
} kinds[] = {
	[PROXY_NGINX] = {NW_SOURCE "/conf/nginx.conf", "nginx", "\tlisten 80;",
		"\tserver 127.0.0.1:8000;",
		"daemon off;\nuser root;\nworker_processes 1;\n"
		"pid nginx.pid;\nevents { worker_connections 512; }\n"
		"http {\naccess_log off;\nclient_body_temp_path body;\n"
		"proxy_temp_path proxied;\nfastcgi_temp_path fastcgi;\n"
		"uwsgi_temp_path uwsgi;\nscgi_temp_path scgi;\n",
		"}\n"},
	[PROXY_HAPROXY] = {NW_SOURCE "/conf/haproxy.cfg", "haproxy",
		"\tbind :80", "\tserver one 127.0.0.1:8000", "", ""},
};

static void
put_upstream(FILE *f, enum proxy_kind kind, int i, const char *address)
{
	bool is_unix = strncmp(address, "unix:", 5) == 0;

	if (kind == PROXY_NGINX)
		fprintf(f, "\tserver %s;\n", address);
	else
		fprintf(f, "\tserver s%d %s%s\n", i, is_unix ? "unix@" : "",
			is_unix ? address + 5 : address);
}

/* One line of the example, or what takes its place: was that so? */
static bool
put_line(FILE *f, const struct proxy *p, const char *line,
	const char *const *upstreams, int nupstreams)
{
	int i;

	if (strcmp(line, kinds[p->kind].listen) == 0) {
		fprintf(f, "\t%s 127.0.0.1:%d%s\n",
			p->kind == PROXY_NGINX ? "listen" : "bind", p->port,
			p->kind == PROXY_NGINX ? ";" : "");
		return true;
	}
	if (strcmp(line, kinds[p->kind].upstream) == 0) {
		for (i = 0; i < nupstreams; i++)
			put_upstream(f, p->kind, i, upstreams[i]);
		return true;
	}
	fprintf(f, "%s\n", line);
	return false;
}

static void
write_config(const struct proxy *p, const char *path,
	const char *const *upstreams, int nupstreams)
{
	char *text = read_file(kinds[p->kind].example, NULL), *line, *end;
	FILE *f = fopen(path, "we");
	int changed = 0;

	MUST(f, "%s: %s", path, strerror(errno));
	fputs(kinds[p->kind].before, f);
	for (line = text; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		changed += put_line(f, p, line, upstreams, nupstreams);
	}
	fputs(kinds[p->kind].after, f);
	fclose(f);
	free(text);
	MUST(changed == 2, "the example has other lines than expected");
}

static void
child_exec(const struct proxy *p, const struct server *s, const char *path)
{
	const char *log = server_path(s, "proxy.log");

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(open("/dev/null", O_RDONLY), 0);
	dup2(open(log, O_WRONLY | O_CREAT | O_APPEND, 0600), 1);
	dup2(1, 2);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	if (p->kind == PROXY_NGINX)
		execlp("nginx", "nginx", "-p", s->dir, "-e", "nginx.log", "-c",
			path, (char *)NULL);
	else
		execlp("haproxy", "haproxy", "-W", "-C", s->dir, "-f", path,
			(char *)NULL);
	dprintf(2, "cannot run %s: %s\n", kinds[p->kind].program,
		strerror(errno));
	_exit(127);
}

/* Fails the test with what it had to say. */
static bool
proxy_has_ended(const struct proxy *p, const struct server *s)
{
	if (waitpid(p->pid, NULL, WNOHANG) != 0)
		ck_abort_msg("it ended: %s",
			read_file(server_path(s, "proxy.log"), NULL));
	return false;
}

void
proxy_start(struct proxy *p, enum proxy_kind kind, const struct server *s,
	const char *const *upstreams, int n)
{
	char path[256];
	struct client c;

	p->kind = kind;
	p->port = free_port();
	snprintf(path, sizeof(path), "%s/proxy.conf", s->dir);
	write_config(p, path, upstreams, n);
	p->pid = fork();
	MUST(p->pid != -1, "fork");
	if (p->pid == 0)
		child_exec(p, s, path);
	UNTIL(client_try_port(&c, p->port, 0) || proxy_has_ended(p, s));
	client_done(&c);
}

void
proxy_stop(struct proxy *p)
{
	int status;

	MUST(kill(p->pid, SIGTERM) == 0, "kill: %s", strerror(errno));
	MUST(waitpid(p->pid, &status, 0) == p->pid, "waitpid");
	p->pid = 0;
}
