/*
 * test_soak.c -- forty clients, while all that can be done to a server is done
 * to it: reloads of every key, faulty files, workers more and fewer, rotated
 * logs, and SIGKILL.
 *
 * Without kills no request may fail; with them only those on connections that
 * a killed worker held.  Afterwards all is as it was at the start.  SOAK=1 is
 * the long form of some minutes.  SEED=N repeats a run, as far as threads do.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <regex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "master/pool.h"
#include "proc/board.h"
#include "process/changes.h"
#include "process/crowd.h"
#include "process/kills.h"

Suite *soak_suite(void);

#define LOGS_MAX 1000

/* What is compared before and after. */
struct state {
	int master_fds, worker_fds;
	long master_kb, worker_kb; /* memory of their own */
	ino_t socket;
};

struct stage {
	struct server s;
	struct changes changes;
	struct crowd *crowd;
	uint64_t row; /* of pseudo-random numbers */
	bool more; /* the last one was TTIN */
	int rotations;
	char *logs[LOGS_MAX];
	int nlogs;
	int reloads, refusals;
	int errors; /* lines of that level so far */
	struct state before;
};

static uint64_t
seed(void)
{
	const char *v = getenv("SEED");

	return v ? strtoull(v, NULL, 10) : 1;
}

static void
tell(const struct stage *t, const char *what)
{
	fprintf(stderr,
		"soak: %s: %ld requests, %d reloads and %d refused, "
		"%d kills, %ld requests lost with them; master %ld kB\n",
		what, crowd_count(t->crowd), t->reloads, t->refusals,
		kill_count(), crowd_lost(t->crowd),
		proc_status(t->s.pid, "RssAnon"));
}

/* ---- what is asked now and then ---- */

/* A worker answers, with the configuration that is to be in force. */
static void
must_be_turn(struct stage *t, int port)
{
	struct client c;
	struct answer a;

	client_open_port(&c, port);
	client_puts(&c, "GET /hello HTTP/1.0\r\n\r\n");
	client_read(&c, &a);
	MUST(a.status == 200 && answer_field(&a, "X-Turn") &&
			atoi(answer_field(&a, "X-Turn")) == t->changes.turn,
		"turn %d instead: %s", t->changes.turn, a.head);
	answer_done(&a);
	client_done(&c);
}

static void
must_be_in_force(struct stage *t)
{
	struct client c;

	must_be_turn(t, t->changes.port);
	if (changes_other_is_open(&t->changes))
		must_be_turn(t, t->changes.other);
	else
		MUST(!client_try_port(&c, t->changes.other, 0),
			"still listening on the other port");
}

static int
errors(const struct stage *t)
{
	return server_count_log(&t->s, "\\] \\[error\\] ");
}

/* Until it has ended; what may be said of the one before is not meant. */
static void
reload(struct stage *t)
{
	char ended[100], *number;

	server_signal(&t->s, SIGHUP);
	server_wait_log(&t->s, "generation [0-9]+ is on trial|" REFUSED);
	number = strstr(t->s.line, "generation ");
	snprintf(ended, sizeof(ended), "reload done: generation %d |" REFUSED,
		number ? atoi(number + 11) : 0);
	if (!strstr(t->s.line, REFUSED))
		server_wait_log(&t->s, ended);
	MUST(strstr(t->s.line, RELOADED), "%s", t->s.line);
	MUST(errors(t) == t->errors, "an error is in the log");
	t->reloads++;
	must_be_in_force(t);
}

static void
refused_reload(struct stage *t)
{
	const char *what = changes_fault(&t->changes);

	server_signal(&t->s, SIGHUP);
	server_wait_log(&t->s, RELOADED "|" REFUSED);
	MUST(strstr(t->s.line, REFUSED), "in force: %s", what);
	t->errors = errors(t);
	t->refusals++;
	must_be_turn(t, t->changes.port);
}

/* ---- other signals ---- */

static void
rotate(struct stage *t, const char *name)
{
	char *old = strdup(server_path(&t->s, name)), new[256];

	MUST(t->nlogs < LOGS_MAX, "too many logs");
	snprintf(new, sizeof(new), "%s.%d", old, t->rotations);
	if (rename(old, new) == 0)
		t->logs[t->nlogs++] = strdup(new);
	free(old);
}

static void
other_signal(struct stage *t)
{
	if (chance(&t->row, 3)) {
		t->more = !t->more;
		server_signal(&t->s, t->more ? SIGTTIN : SIGTTOU);
		server_wait_log(&t->s, t->more ? "SIGTTIN: " : "SIGTTOU: ");
		return;
	}
	t->rotations++;
	rotate(t, "access-a");
	rotate(t, "access-b");
	server_signal(&t->s, SIGUSR1);
	server_wait_log(&t->s, "SIGUSR1: ");
}

/* ---- before and after ---- */

static long
own_kb(pid_t pid)
{
	return proc_status(pid, "RssAnon");
}

static ino_t
inode(const char *path)
{
	struct stat st;

	MUST(stat(path, &st) == 0, "%s is gone", path);
	return st.st_ino;
}

/* Nobody asks anything: until only what belongs to workers is open. */
static void
look(struct stage *t, struct state *ret)
{
	pid_t pids[WORKERS_MAX];
	int n, i;

	n = server_workers(&t->s, pids);
	*ret = (struct state){.worker_fds = proc_fds(pids[0]),
		.master_fds = proc_fds(t->s.pid),
		.master_kb = own_kb(t->s.pid),
		.socket = inode(server_path(&t->s, "socket"))};
	for (i = 0; i < n; i++)
		if (own_kb(pids[i]) > ret->worker_kb)
			ret->worker_kb = own_kb(pids[i]);
}

/*
 * As the first configuration has it: workers that are three, and idle.  Only
 * another number in the file undoes TTIN and TTOU.
 */
static void
settle(struct stage *t)
{
	changes_back(&t->changes, "workers", "1");
	reload(t);
	changes_back(&t->changes, NULL, NULL);
	reload(t);
	server_wait_workers(&t->s, 3);
}

/* The board of the master, whose memory has one such map. */
static void
read_board(const struct stage *t, struct board_slot *slots)
{
	size_t size = POOL_SLOTS_MAX * sizeof(*slots);
	unsigned long from, to, found = 0;
	char path[64], *text, *line;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", t->s.pid);
	text = read_file(path, NULL);
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (sscanf(line, "%lx-%lx rw-s", &from, &to) == 2 &&
			strstr(line, "/dev/zero") && to - from >= size)
			found = from;
	free(text);
	snprintf(path, sizeof(path), "/proc/%d/mem", t->s.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	MUST(found && fd != -1, "no board");
	MUST(pread(fd, slots, size, (off_t)found) == (ssize_t)size, "board");
	close(fd);
}

/* Three slots of three idle workers, and the others as they were born. */
static bool
board_is_clean(const struct stage *t)
{
	static const struct board_slot empty;
	static struct board_slot slots[POOL_SLOTS_MAX];
	int idle = 0, used = 0, i;

	read_board(t, slots);
	for (i = 0; i < POOL_SLOTS_MAX; i++) {
		idle += slots[i].state == BOARD_IDLE && !slots[i].leaving &&
			!slots[i].request_at && !slots[i].run_out_at;
		used += memcmp(&slots[i], &empty, sizeof(empty)) != 0;
	}
	return idle == 3 && used == 3;
}

static void
compare(struct stage *t)
{
	struct state *b = &t->before, a;

	look(t, &a);
	fprintf(stderr,
		"soak: descriptors %d and %d, memory %ld and %ld kB; "
		"at the start %d and %d, %ld and %ld kB\n",
		a.master_fds, a.worker_fds, a.master_kb, a.worker_kb,
		b->master_fds, b->worker_fds, b->master_kb, b->worker_kb);
	UNTIL(proc_fds(t->s.pid) <= b->master_fds);
	UNTIL((look(t, &a), a.worker_fds <= b->worker_fds));
	MUST(a.socket == b->socket, "the unix socket is another one");
	UNTIL(board_is_clean(t));
	if (sanitized())
		return;
	MUST(a.master_kb < b->master_kb + 300, "the master has grown");
}

/* ---- the stage ---- */

static void
raise_curtain(struct stage *t)
{
	memset(t, 0, sizeof(*t));
	t->row = seed();
	fprintf(stderr, "soak: SEED=%llu\n", (unsigned long long)seed());
	/* What loses its parent becomes ours, and is found at the end. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	server_init(&t->s);
	changes_init(&t->changes, &t->s, seed());
	server_spawn(&t->s);
	server_wait_ready(&t->s);
	refused_reload(t); /* what is made when first needed */
	other_signal(t);
	settle(t);
	look(t, &t->before);
	t->crowd = crowd_start(
		t->changes.port, server_path(&t->s, "socket"), seed());
}

/* Workers that have answered so many do not grow by answering as many more. */
static void
must_not_grow(struct stage *t)
{
	long n = soak() ? 20000 : 2000, count;
	struct state warm, a;

	if (sanitized())
		return;
	settle(t);
	count = crowd_count(t->crowd);
	UNTIL(crowd_count(t->crowd) >= count + n);
	look(t, &warm);
	UNTIL(crowd_count(t->crowd) >= count + 2 * n);
	look(t, &a);
	fprintf(stderr, "soak: workers %ld kB, and %ld kB after %ld more\n",
		warm.worker_kb, a.worker_kb, n);
	MUST(a.worker_kb < warm.worker_kb + 500, "the workers grow");
}

/* What the master says of faulty files, and of workers on trial with one. */
static const char *const expected[] = {
	"narwhal\\.ini:[0-9]+: ",
	"reload refused: ",
	"cannot (bind|listen on|open) ",
	"before it was ready: exit 4$",
};

/* Did that worker find a fault and leave? */
static bool
was_on_trial(const char *log, int pid)
{
	char pattern[100];

	snprintf(pattern, sizeof(pattern),
		"worker %d .* before it was ready: exit 4$", pid);
	return count_matches(log, pattern) > 0;
}

/* Else it is a worker that we killed. */
static bool
is_expected(const char *log, const char *line)
{
	const char *p = strstr(line, "[error] worker "), *from;
	size_t i;

	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		if (count_matches(line, expected[i]))
			return true;
	from = strstr(line, "] [");
	if (from && was_on_trial(log, atoi(from + 3)))
		return true;
	return p && strstr(p, "signal 9") && kill_hit(atoi(p + 15));
}

static void
check_errors(const struct stage *t)
{
	char *log = read_file(t->s.log, NULL), *text = strdup(log), *line;

	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		MUST(!strstr(line, "] [error] ") || is_expected(log, line),
			"unexpected: %s", line);
	free(text);
	free(log);
}

/*
 * Lost children became ours.  The sanitizer looks for leaks from a process of
 * its own, which is lost as well if its worker is killed meanwhile: the master
 * never had a worker of that number.
 */
static void
must_be_alone(const struct stage *t)
{
	char pattern[64];
	pid_t pids[WORKERS_MAX], pid;

	while (sanitized() && (pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		snprintf(pattern, sizeof(pattern), "worker %d ", pid);
		MUST(server_count_log(&t->s, pattern) == 0, "worker %d is left",
			pid);
	}
	MUST(proc_children(getpid(), pids) == 0, "process %d is left", pids[0]);
}

static void
lower_curtain(struct stage *t)
{
	int i;

	must_not_grow(t);
	crowd_stop(t->crowd);
	settle(t);
	tell(t, "the end");
	compare(t);
	check_errors(t);
	t->rotations++;
	rotate(t, "access-a");
	rotate(t, "access-b");
	server_signal(&t->s, SIGTERM);
	MUST(server_wait_exit(&t->s) == 0, "exit status");
	must_be_alone(t);
	crowd_check_logs(t->crowd, t->logs, t->nlogs);
	crowd_free(t->crowd);
	for (i = 0; i < t->nlogs; i++)
		free(t->logs[i]);
	server_done(&t->s);
}

/* ---- without kills ---- */

START_TEST(every_key_is_changed)
{
	struct server s;
	struct changes c;

	server_init(&s);
	changes_init(&c, &s, seed());
	changes_check_table(&c);
	server_done(&s);
}
END_TEST

START_TEST(nothing_fails)
{
	int n = soak() ? 200 : sanitized() ? 12 : 20, keys = soak() ? 2 : 4, i;
	struct stage t;
	long count = 0;

	raise_curtain(&t);
	for (i = 0; i < n; i++) {
		if (i % 4 == 3)
			refused_reload(&t);
		changes_next(&t.changes, keys);
		reload(&t);
		other_signal(&t);
		UNTIL(crowd_count(t.crowd) > count + CROWD);
		count = crowd_count(t.crowd);
		crowd_check(t.crowd);
		if (i % 10 == 9)
			tell(&t, "no kills");
	}
	MUST(t.changes.rounds > 0, "not every key was changed");
	lower_curtain(&t);
}
END_TEST

/* ---- with kills ---- */

struct killer {
	struct stage *t;
	pthread_t thread;
	atomic_bool stop;
};

/* One of the workers there are, every 100 ms. */
static void *
keep_killing(void *arg)
{
	struct killer *k = arg;
	uint64_t row = seed() + 1;
	pid_t pids[WORKERS_MAX];
	int n;

	while (!atomic_load(&k->stop)) {
		n = server_workers(&k->t->s, pids);
		if (n > 0)
			kill_worker(pids[chance(&row, (unsigned)n)]);
		poll(NULL, 0, 100);
	}
	return NULL;
}

/* The worker on trial may be hit, so either outcome is right. */
static void
try_reload(struct stage *t)
{
	changes_next(&t->changes, 3);
	server_signal(&t->s, SIGHUP);
	server_wait_log(&t->s, " takes over with |" REFUSED);
	if (strstr(t->s.line, "takes over"))
		t->reloads++;
	else
		t->refusals++;
}

START_TEST(only_what_was_held_fails)
{
	int seconds = soak() ? 60 : 5, i;
	struct stage t;
	struct killer k = {.t = &t};
	int64_t until;
	long lost;

	raise_curtain(&t);
	until = now_ms() + seconds * 1000;
	MUST(pthread_create(&k.thread, NULL, keep_killing, &k) == 0, "thread");
	for (i = 1; now_ms() < until; i++) {
		try_reload(&t);
		other_signal(&t);
		crowd_check(t.crowd);
		poll(NULL, 0, 200);
		if (i % 10 == 0)
			tell(&t, "kills");
	}
	atomic_store(&k.stop, true);
	pthread_join(k.thread, NULL);
	lost = crowd_lost(t.crowd);
	MUST(lost > 0, "no request was hit");
	t.errors = errors(&t);
	lower_curtain(&t);
}
END_TEST

Suite *
soak_suite(void)
{
	Suite *suite = suite_create("soak");
	TCase *tc = harness_case(suite, "soak");

	tcase_set_timeout(tc, 1200);
	tcase_add_test(tc, every_key_is_changed);
	tcase_add_test(tc, nothing_fails);
	tcase_add_test(tc, only_what_was_held_fails);
	return suite;
}
