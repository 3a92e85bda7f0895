/*
 * harness.c -- start, watch and stop the real binary.
 *
 * Leaves HTTP to client.c and /proc to procfs.c.  Descriptors of the test's
 * are close-on-exec, so the server has what it is given and nothing else.
 */
#include "process/harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SERVERS_MAX 8

static struct server *servers[SERVERS_MAX]; /* for complaints */

bool
soak(void)
{
	const char *v = getenv("SOAK");

	return v && strcmp(v, "1") == 0;
}

bool
sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
	return true;
#endif
#endif
	return false;
}

TCase *
harness_case(Suite *suite, const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_set_timeout(tc, 2 * PATIENCE_MS / 1000);
	suite_add_tcase(suite, tc);
	return tc;
}

/* Before a test fails: what its servers had to say. */
void
harness_complain(void)
{
	char *log;
	size_t n;
	int i;

	for (i = 0; i < SERVERS_MAX; i++) {
		if (!servers[i] || access(servers[i]->log, R_OK) == -1)
			continue;
		log = read_file(servers[i]->log, &n);
		fprintf(stderr, "---- the end of %s:\n%s----\n",
			servers[i]->log, n > 3000 ? log + n - 3000 : log);
		free(log);
	}
}

/* ---- making one ---- */

const char *
server_path(const struct server *s, const char *name)
{
	static char paths[8][256];
	static int next;
	char *p = paths[next++ % 8];

	snprintf(p, sizeof(paths[0]), "%s/%s", s->dir, name);
	return p;
}

void
server_init(struct server *s)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	const char *tmp = getenv("TMPDIR");
	int i;

	memset(s, 0, sizeof(*s));
	snprintf(s->dir, sizeof(s->dir), "%s/narwhal.XXXXXX",
		tmp ? tmp : "/tmp");
	MUST(mkdtemp(s->dir), "%s: %s", s->dir, strerror(errno));
	strcpy(s->ini, server_path(s, "narwhal.ini"));
	strcpy(s->log, server_path(s, "log"));
	strcpy(s->out, server_path(s, "out"));
	s->notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/notify", s->dir);
	MUST(bind(s->notify, (void *)&a, sizeof(a)) == 0, "notify socket");
	for (i = 0; i < SERVERS_MAX && servers[i]; i++)
		;
	MUST(i < SERVERS_MAX, "too many servers");
	servers[i] = s;
}

void
server_listen(struct server *s)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	MUST(s->nlisteners < SERVER_LISTENERS_MAX, "too many listeners");
	MUST(bind(fd, (void *)&a, sizeof(a)) == 0, "bind");
	MUST(listen(fd, 2048) == 0, "listen");
	s->listeners[s->nlisteners++] = fd;
}

static void
ini_write(struct server *s, const char *before, const char *fmt, va_list ap)
{
	const char *new = server_path(s, "narwhal.ini.new");
	FILE *f = fopen(new, "we");

	MUST(f, "%s: %s", new, strerror(errno));
	fputs(before, f);
	vfprintf(f, fmt, ap);
	fclose(f);
	MUST(rename(new, s->ini) == 0, "rename");
}

void
server_ini(struct server *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ini_write(s, "", fmt, ap);
	va_end(ap);
}

void
server_arg(struct server *s, const char *arg)
{
	MUST(s->nargs + 4 < SERVER_ARGS_MAX, "too many arguments");
	s->args[s->nargs++] = arg;
}

void
server_trace(struct server *s, const char *calls)
{
	const char *argv[] = {"strace", "-D", "-f", "-qq", "-s", "8", "-xx",
		"-e", calls, "-o", strdup(server_path(s, "trace"))};

	memcpy(s->prefix, argv, sizeof(argv));
	s->nprefix = sizeof(argv) / sizeof(argv[0]);
}

/* ---- in the child, up to exec ---- */

/*
 * Blocked since before the fork: Check's handler would end the whole group.
 * glibc's own two signals (32, 33) are ignored in what make starts, and only
 * the kernel itself takes that back.
 */
static void
child_signals(void)
{
	static const char nothing[64]; /* more than the kernel's sigaction */
	sigset_t none;
	int sig;

	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	for (sig = 32; sig <= 33; sig++)
		syscall(SYS_rt_sigaction, sig, nothing, NULL, 8);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void
child_descriptors(const struct server *s)
{
	int up[SERVER_LISTENERS_MAX], i;

	for (i = 0; i < s->nlisteners; i++)
		up[i] = fcntl(s->listeners[i], F_DUPFD_CLOEXEC, 100);
	dup2(open("/dev/null", O_RDONLY), 0);
	dup2(open(s->out, O_WRONLY | O_CREAT | O_APPEND, 0600), 1);
	dup2(open(s->log, O_WRONLY | O_CREAT | O_APPEND, 0600), 2);
	close_range(3, ~0U, CLOSE_RANGE_CLOEXEC); /* make's, for one */
	for (i = 0; i < s->nlisteners; i++)
		dup2(up[i], 3 + i);
}

static void
child_environment(const struct server *s)
{
	const char *asan = getenv("ASAN_OPTIONS");
	char text[1000];

	if (!s->keep_environment) {
		unsetenv("WEB_CONCURRENCY");
		unsetenv("PORT");
		unsetenv("VIRTUAL_ENV");
	}
	setenv("NOTIFY_SOCKET", server_path(s, "notify"), 1);
	if (getenv("TEST_LISTEN_FDS")) { /* is for whoever is exec'd here */
		snprintf(text, sizeof(text), "%d", getpid());
		setenv("LISTEN_PID", text, 1);
		setenv("LISTEN_FDS", getenv("TEST_LISTEN_FDS"), 1);
	}
	if (s->nprefix) { /* the leak check cannot work under ptrace */
		snprintf(text, sizeof(text), "%s:detect_leaks=0",
			asan ? asan : "");
		setenv("ASAN_OPTIONS", text, 1);
	}
}

static void
child_exec(const struct server *s)
{
	const char *argv[2 * SERVER_ARGS_MAX + 4];
	int n = 0, i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_CHILD_SUBREAPER, s->subreaper);
	for (i = 0; i < s->nprefix; i++)
		argv[n++] = s->prefix[i];
	argv[n++] = NW_BUILD "/narwhal";
	if (!s->no_file) {
		argv[n++] = "-c";
		argv[n++] = s->ini;
	}
	for (i = 0; i < s->nargs; i++)
		argv[n++] = s->args[i];
	argv[n] = NULL;
	if (chdir(s->dir) == 0)
		execvp(argv[0], (char **)argv);
	dprintf(2, "cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* ---- the running one ---- */

void
server_spawn(struct server *s)
{
	sigset_t all, old;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	s->pid = fork();
	MUST(s->pid != -1, "fork");
	if (s->pid == 0) {
		child_signals();
		child_environment(s);
		child_descriptors(s);
		child_exec(s);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
}

bool
server_has_ended(const struct server *s)
{
	siginfo_t si = {0};

	return waitid(P_PID, (id_t)s->pid, &si, WEXITED | WNOHANG | WNOWAIT) ==
		0 &&
		si.si_pid == s->pid;
}

void
server_wait_ready(struct server *s)
{
	int64_t until = now_ms() + PATIENCE_MS;
	char text[1000];
	ssize_t n;

	for (;;) {
		n = recv(s->notify, text, sizeof(text) - 1, MSG_DONTWAIT);
		text[n > 0 ? n : 0] = '\0';
		if (count_matches(text, "^READY=1$") > 0)
			return;
		MUST(!server_has_ended(s),
			"the server ended before it was ready");
		MUST(now_ms() < until, "the server never was ready");
		if (n == -1)
			nap();
	}
}

void
server_start(struct server *s, const char *fmt, ...)
{
	va_list ap;

	server_init(s);
	server_listen(s);
	va_start(ap, fmt);
	ini_write(s, "[server]\nbind = fd:3\n", fmt, ap);
	va_end(ap);
	server_spawn(s);
	server_wait_ready(s);
}

void
server_signal(const struct server *s, int sig)
{
	MUST(kill(s->pid, sig) == 0, "kill: %s", strerror(errno));
}

/* Take the next whole line after log_seen into line; false: none yet. */
static bool
next_line(struct server *s, FILE *f)
{
	size_t n;

	if (fseek(f, s->log_seen, SEEK_SET) != 0 ||
		!fgets(s->line, sizeof(s->line), f))
		return false;
	n = strlen(s->line);
	if (s->line[n - 1] != '\n' && n + 1 < sizeof(s->line))
		return false;
	s->log_seen += (long)n;
	if (s->line[n - 1] == '\n')
		s->line[n - 1] = '\0';
	return true;
}

static bool
look_for(struct server *s, const regex_t *re)
{
	FILE *f = fopen(s->log, "re");
	bool found = false;

	while (f && !found && next_line(s, f))
		found = regexec(re, s->line, 0, NULL, 0) == 0;
	if (f)
		fclose(f);
	return found;
}

const char *
server_wait_log(struct server *s, const char *pattern)
{
	int64_t until = now_ms() + PATIENCE_MS;
	regex_t re;

	MUST(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) == 0, "regex");
	while (!look_for(s, &re)) {
		MUST(now_ms() < until, "never logged: %s", pattern);
		nap();
	}
	regfree(&re);
	return s->line;
}

int
server_count_log(const struct server *s, const char *pattern)
{
	char *text;
	int n;

	if (access(s->log, R_OK) == -1)
		return 0;
	text = read_file(s->log, NULL);
	n = count_matches(text, pattern);
	free(text);
	return n;
}

int
server_wait_exit(struct server *s)
{
	int status;

	UNTIL(server_has_ended(s));
	MUST(waitpid(s->pid, &status, 0) == s->pid, "waitpid");
	s->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int
server_run(struct server *s)
{
	server_spawn(s);
	return server_wait_exit(s);
}

/* ---- workers ---- */

int
server_workers(const struct server *s, pid_t *pids)
{
	return proc_children(s->pid, pids);
}

void
server_wait_workers(const struct server *s, int n)
{
	pid_t pids[WORKERS_MAX];

	UNTIL(server_workers(s, pids) == n);
}

pid_t
server_worker(const struct server *s)
{
	pid_t pids[WORKERS_MAX];
	int n = server_workers(s, pids);

	MUST(n == 1, "%d workers instead of one", n);
	return pids[0];
}

void
server_reload(struct server *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ini_write(s, "[server]\nbind = fd:3\n", fmt, ap);
	va_end(ap);
	server_signal(s, SIGHUP);
	server_wait_log(s, RELOADED);
}

/* ---- its end ---- */

void
shell(const struct server *s, const char *fmt, ...)
{
	char command[4000];
	va_list ap;
	int n = snprintf(command, sizeof(command), "cd '%s' && ", s->dir);

	va_start(ap, fmt);
	vsnprintf(command + n, sizeof(command) - (size_t)n, fmt, ap);
	va_end(ap);
	MUST(system(command) == 0, "failed: %s", command);
}

bool
others_reach(const char *path, uid_t uid)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(setgroups(0, NULL) || setgid(uid) || setuid(uid) ||
			access(path, X_OK));
	MUST(waitpid(pid, &status, 0) == pid, "waitpid");
	return status == 0;
}

void
server_done(struct server *s)
{
	pid_t pids[WORKERS_MAX];
	int n, i, status;

	if (s->pid) {
		n = server_workers(s, pids);
		kill(s->pid, SIGKILL);
		for (i = 0; i < n; i++)
			kill(pids[i], SIGKILL);
		waitpid(s->pid, &status, 0);
	}
	n = server_count_log(s,
		"ERROR: [A-Za-z]*Sanitizer|: runtime error: |"
		"Assertion .* failed");
	MUST(n == 0, "the log has complaints of a sanitizer or an assert");
	for (i = 0; i < s->nlisteners; i++)
		close(s->listeners[i]);
	close(s->notify);
	for (i = 0; i < SERVERS_MAX; i++)
		if (servers[i] == s)
			servers[i] = NULL;
	shell(s, "rm -rf \"$PWD\"");
}

void
server_stop(struct server *s)
{
	int status;

	server_signal(s, SIGTERM);
	status = server_wait_exit(s);
	MUST(status == 0, "after TERM the exit status is %d", status);
	server_done(s);
}
