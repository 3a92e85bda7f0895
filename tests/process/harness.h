/*
 * harness.h -- the real binary as a process: start it, watch it, stop it.
 *
 * A test has one struct server (or two).  The server runs in the foreground
 * on sockets the test bound and hands over as fd 3, 4, ...; its log is a file
 * the test reads by lines; READY=1 arrives at a socket the test holds.  All
 * waiting is for an event and fails the test when it does not come within
 * PATIENCE_MS, which no passing test ever gets near.
 *
 * Check runs each test in a process group of its own and kills what is left of
 * it, so nothing outlives a failed test; the folder of one stays for its log.
 */
#ifndef TESTS_PROCESS_HARNESS_H
#define TESTS_PROCESS_HARNESS_H

#include <check.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/client.h"

/* What the log says when a reload has ended, well or not. */
#define RELOADED "reload done: "
#define REFUSED "reload refused: "

#define SERVER_LISTENERS_MAX 4
#define SERVER_ARGS_MAX 24
#define WORKERS_MAX 64

#define APP(name) "so:" NW_BUILD "/tests/" name ".so"

struct server {
	pid_t pid; /* 0: not running */
	char dir[100]; /* scratch, working directory of the server */
	char ini[128], log[128], out[128]; /* the file, stderr, stdout */
	int notify; /* the socket READY=1 comes to */
	int listeners[SERVER_LISTENERS_MAX];
	int nlisteners;
	const char *args[SERVER_ARGS_MAX]; /* besides -c FILE */
	int nargs;
	const char *prefix[SERVER_ARGS_MAX]; /* such as strace */
	int nprefix;
	bool no_file; /* do not pass -c FILE */
	bool keep_environment; /* WEB_CONCURRENCY and so on are meant */
	bool subreaper; /* orphans below become its children, as PID 1's do */
	long log_seen; /* how far server_wait_log has read */
	char line[2000]; /* the line it found */
};

/* ---- making one, in this order ---- */

void server_init(struct server *s);

/* One more listening TCP socket of the test's, the next fd from 3 on. */
void server_listen(struct server *s);

/* Write the INI file, in place by rename. */
void server_ini(struct server *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

void server_arg(struct server *s, const char *arg);

/* Run it under strace, which follows forks and writes dir/trace. */
void server_trace(struct server *s, const char *calls);

void server_spawn(struct server *s);
void server_wait_ready(struct server *s);

/*
 * All of the above: one socket, an INI that binds it and goes on with the
 * given text, ready.
 */
void server_start(struct server *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- the running one ---- */

void server_signal(const struct server *s, int sig);

/* The next log line that matches the extended regular expression. */
const char *server_wait_log(struct server *s, const char *pattern);

/* How many lines of the log so far match, from its very beginning. */
int server_count_log(const struct server *s, const char *pattern);

/* Wait for the process to end; its exit status, 128 + signal. */
int server_wait_exit(struct server *s);

/* Has it ended?  It is not waited for. */
bool server_has_ended(const struct server *s);

/* Spawn, wait for the end: what a start that fails exits with. */
int server_run(struct server *s);

/* The workers (children) there are, in pids; their number. */
int server_workers(const struct server *s, pid_t *pids);
void server_wait_workers(const struct server *s, int n);
pid_t server_worker(const struct server *s); /* the only one */

/* HUP with a new INI text, until the log says it is in force. */
void server_reload(struct server *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- its end ---- */

/* TERM; must end with 0, and no sanitizer may have found anything. */
void server_stop(struct server *s);

/* For what was stopped otherwise: kill what is left, remove the folder. */
void server_done(struct server *s);

/* ---- helpers ---- */

/* A path in the server's folder; good until the next 8 calls. */
const char *server_path(const struct server *s, const char *name);

/* A TCP port nobody listens on now, outside of the ephemeral range. */
int free_port(void);

/* All of a file, NUL-terminated; malloc'd. */
char *read_file(const char *path, size_t *ret_n);
void write_file(const char *path, const void *p, size_t n);
int count_matches(const char *text, const char *pattern); /* lines */

/* n bytes that differ from place to place; malloc'd. */
char *some_bytes(size_t n);

/* Run a shell command in the server's folder; it must exit with 0. */
void shell(const struct server *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Could a process of that user load a file? */
bool others_reach(const char *path, uid_t uid);

/* /proc */
int proc_children(pid_t pid, pid_t *pids);
long proc_status(pid_t pid, const char *name); /* VmRSS ..., 0 if gone */
int proc_fds(pid_t pid);
long proc_cpu_ms(pid_t pid);
long proc_faults(pid_t pid); /* pages that came without being read */
bool proc_gone(pid_t pid); /* or a zombie */
bool proc_stopped(pid_t pid);

bool soak(void); /* SOAK=1: the long form is asked for */
bool sanitized(void); /* a KIND whose memory says nothing */

/* A test case with patience. */
TCase *harness_case(Suite *suite, const char *name);

#endif
