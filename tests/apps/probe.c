/*
 * probe.c -- the application most process tests use: a path for each thing an
 * application may do, or do wrong.
 *
 * Numbers come from the query: /sleep?ms=100.  What takes its time says so in
 * the log when it begins, so a test can wait for that.
 */
#include "kit.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

static int64_t *progress; /* shared with the test: writes that returned */
static const char *always; /* the path that all others are taken for */

/* ---- small things ---- */

/* What follows `?`, as a C string: the argument of /env and the like. */
static char *
argument(nw_request *r)
{
	nw_str q = nw_query(r);
	char *z = nw_alloc(r, q.len + 1);

	if (z) {
		memcpy(z, q.p ? q.p : "", q.len);
		z[q.len] = '\0';
	}
	return z;
}

/* ---- time and death ---- */

static int
do_sleep(nw_request *r)
{
	note(r->server, "probe: sleeping");
	nap(number_of(r, "ms", 1000));
	return say(r, "slept");
}

/* One line of n bytes. */
static int
do_log(nw_request *r)
{
	size_t n = (size_t)number_of(r, "n", 1);
	char *p = nw_alloc(r, n);

	if (!p)
		return -1;
	memset(p, 'x', n);
	nw_log(r->server, NW_INFO, p, n);
	return say(r, "logged");
}

static int
do_spin(nw_request *r)
{
	note(r->server, "probe: spinning");
	for (;;)
		getppid();
	return -1;
}

/* Nothing but SIGKILL ends this. */
static int
do_stuck(nw_request *r)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	return do_spin(r);
}

static int
do_exit(nw_request *r)
{
	_exit((int)number_of(r, "status", 5));
}

static int
do_kill(nw_request *r)
{
	kill(getpid(), (int)number_of(r, "signal", SIGSEGV));
	nap(60000);
	return -1;
}

/* A grandchild that is nobody's: PID 1 or a subreaper gets it. */
static int
do_orphan(nw_request *r)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (fork() == 0) {
			nap(100);
			_exit(3);
		}
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return say(r, "orphaned");
}

/* handle() returns in a fork: that process ends, and nothing is sent twice. */
static int
do_fork(nw_request *r)
{
	pid_t pid = fork();

	if (pid > 0)
		waitpid(pid, NULL, 0);
	return say(r, "%s", pid ? "parent" : "child");
}

/* The exit status of a child is the application's own to collect. */
static int
do_system(nw_request *r)
{
	int status = system("exit 7");

	return say(r, "%d", WEXITSTATUS(status));
}

/* The signal masks a program started by the application finds. */
static int
do_masks(nw_request *r)
{
	char z[2000] = "";
	FILE *f = popen("grep -E 'Sig(Blk|Ign)' /proc/self/status", "r");
	size_t n = f ? fread(z, 1, sizeof(z) - 1, f) : 0;

	z[n] = '\0';
	if (f)
		pclose(f);
	return say(r, "%s", z);
}

/* ---- where it runs ---- */

static int
do_pid(nw_request *r)
{
	return say(r, "%d", getpid());
}

static int
do_rand(nw_request *r)
{
	return say(r, "%d %d", getpid(), rand());
}

static int
do_env(nw_request *r)
{
	const char *v = getenv(argument(r));

	return say(r, "%s", v ? v : "(none)");
}

static int
do_option(nw_request *r)
{
	const char *v = nw_option(r->server, argument(r));

	return say(r, "%s", v ? v : "(none)");
}

static int
do_setting(nw_request *r)
{
	const char *v = nw_setting(r->server, argument(r));

	return say(r, "%s", v ? v : "(none)");
}

static int
do_cwd(nw_request *r)
{
	char z[4096];

	return say(r, "%s", getcwd(z, sizeof(z)) ? z : "(none)");
}

/* What the target of the request was taken for. */
static int
do_host(nw_request *r)
{
	nw_str t = nw_target(r), h = nw_host(r), p = nw_path(r),
	       q = nw_query(r);

	return say(r, "%.*s %.*s %.*s %.*s", (int)t.len, t.p, (int)h.len, h.p,
		(int)p.len, p.p, (int)q.len, q.p);
}

/* Scheme and address, as the server believes a proxy. */
static int
do_client(nw_request *r)
{
	nw_str scheme = nw_scheme(r), peer = nw_peer(r, NULL);
	char z[200];

	snprintf(z, sizeof(z), "%.*s %.*s", (int)scheme.len, scheme.p,
		(int)peer.len, peer.p);
	return say(r, "%s", z);
}

/* ---- bodies ---- */

static int
do_read(nw_request *r)
{
	size_t size = (size_t)number_of(r, "size", 65536);
	char *p = malloc(size);
	int64_t all = 0;
	ssize_t n;

	note(r->server, "probe: reading");
	while ((n = nw_read(r, p, size)) > 0)
		all += n;
	if (n == -1)
		note(r->server, "%s", strerror(errno));
	free(p);
	return n == -1 ? -1 : say(r, "%lld", (long long)all);
}

static int
do_deaf(nw_request *r)
{
	return say(r, "ok\n");
}

/* n bytes in writes of `size`; length=1 declares them. */
static int
do_big(nw_request *r)
{
	long n = number_of(r, "n", 1048576), size = number_of(r, "size", 65536);
	char z[32], *p = malloc((size_t)size);
	int status = 0;

	memset(p, 'x', (size_t)size);
	nw_start(r, 200, NULL);
	snprintf(z, sizeof(z), "%ld", n);
	if (number_of(r, "length", 0))
		nw_add_field_z(r, "Content-Length", z);
	for (; n > 0 && status == 0; n -= size) {
		status = nw_write(r, p, (size_t)(n < size ? n : size));
		if (progress && status == 0)
			__atomic_add_fetch(progress, 1, __ATOMIC_SEQ_CST);
	}
	free(p);
	return status;
}

/* A file that is n bytes long, from `offset`; `claim` bytes are asked for. */
static int
do_file(nw_request *r)
{
	long n = number_of(r, "n", 10), offset = number_of(r, "offset", 0);
	char name[] = "/tmp/narwhal-probe.XXXXXX";
	int fd = mkstemp(name), status;
	long i;

	unlink(name);
	for (i = 0; i < n; i++)
		if (write(fd, &"0123456789"[i % 10], 1) != 1)
			return -1;
	nw_start(r, 200, NULL);
	status = nw_send_file(
		r, fd, offset, (size_t)number_of(r, "claim", n - offset));
	close(fd);
	return status;
}

/* n events, one each `ms`, that say when they were written. */
static int
do_stream(nw_request *r)
{
	long n = number_of(r, "n", 4), ms = number_of(r, "ms", 1000), i;
	char z[64];

	note(r->server, "probe: streaming");
	nw_start(r, 200, NULL);
	nw_add_field_z(r, "Content-Type", "text/event-stream");
	if (number_of(r, "length", 0))
		nw_add_field_z(r, "Content-Length", "1000000");
	for (i = 0; i < n; i++) {
		snprintf(z, sizeof(z), "data: %lld\n\n", (long long)now_us());
		if (nw_write(r, z, strlen(z)) == -1)
			return -1;
		nap(ms);
	}
	return 0;
}

static void
released(void *arg)
{
	++*(long *)arg;
}

/* Writes without a copy; the last event tells how many were released. */
static int
do_release(nw_request *r)
{
	static char block[1000];
	static long n;
	char z[32];
	int i;

	n = 0;
	memset(block, 'r', sizeof(block));
	nw_start(r, 200, NULL);
	for (i = 0; i < 100; i++)
		nw_write_release(r, block, sizeof(block), released, &n);
	nw_flush(r);
	snprintf(z, sizeof(z), "%ld", n);
	return nw_write(r, z, strlen(z));
}

/* ---- responses, right and wrong ---- */

static int
do_lazy(nw_request *r)
{
	nw_start(r, 200, NULL);
	nw_add_field_z(r, "Content-Type", "text/plain");
	return nw_write(r, "payload", 7) || nw_flush(r) ? -1 : 0;
}

static int
do_nothing(nw_request *r)
{
	return nw_start(r, 200, NULL);
}

/* `status`, a body all the same, and length=1: a Content-Length. */
static int
do_status(nw_request *r)
{
	nw_start(r, (int)number_of(r, "status", 200), NULL);
	if (number_of(r, "length", 0))
		nw_add_field_z(r, "Content-Length", "5");
	nw_write(r, "hello", 5);
	return 0;
}

static int
do_over(nw_request *r)
{
	nw_start(r, 200, NULL);
	nw_add_field_z(r, "Content-Length", "5");
	nw_write(r, "hel", 3);
	nw_write(r, "loEXTRA", 7);
	nw_write(r, "MORE", 4);
	return 0;
}

static int
do_under(nw_request *r)
{
	nw_start(r, 200, NULL);
	nw_add_field_z(r, "Content-Length", "50");
	return nw_write(r, "hello", 5);
}

static int
do_inject(nw_request *r)
{
	static const nw_str values[] = {{"a\r\nX-Evil: 1", 12},
		{"a\nX-Evil: 1", 11}, {"a\rX-Evil: 1", 11}, {"a\0b", 3},
		{"a\r\n\r\nHTTP/1.1 200 OK", 20}};

	nw_start(r, 200, NULL);
	if (nw_add_field(r, nw_str_of("X-T"),
		    values[number_of(r, "value", 0) % 5]) == -1)
		return -1;
	return nw_write(r, "body", 4);
}

static int
do_empties(nw_request *r)
{
	static const char *const parts[] = {"", "abc", "", "def", ""};
	size_t i;

	nw_start(r, 200, NULL);
	for (i = 0; i < 5; i++)
		if (nw_write(r, parts[i], strlen(parts[i])) == -1)
			return -1;
	return 0;
}

static int
do_own(nw_request *r)
{
	nw_start(r, 200, NULL);
	nw_add_field_z(r, "date", "Tue, 01 Jan 2030 00:00:00 GMT");
	nw_add_field_z(r, "SERVER", "mine");
	nw_add_field_z(r, "content-LENGTH", "2");
	return nw_write(r, "ok", 2);
}

static int
do_fail(nw_request *r)
{
	nw_start(r, 200, NULL);
	nw_add_field_z(r, "X-Secret", "detail");
	return -1;
}

static int
do_fail_late(nw_request *r)
{
	nw_start(r, 200, NULL);
	nw_write(r, "half", 4);
	return -1;
}

static int
do_hints(nw_request *r)
{
	static const nw_field link = {
		{"Link", 4}, {"</style.css>; rel=preload", 25}};

	if (nw_send_early_hints(r, &link, 1) == -1)
		return -1;
	return say(r, "hinted");
}

/* Each of these is refused with -1 and errno; the answer counts them. */
static int
do_misuse(nw_request *r)
{
	int n = 0;

	n += nw_write(r, "x", 1) == -1; /* not started */
	n += nw_add_field_z(r, "X", "y") == -1;
	n += nw_start(r, 99, NULL) == -1;
	n += nw_start(r, 1000, NULL) == -1;
	n += nw_start(r, 200, "a\r\nb") == -1;
	nw_start(r, 200, NULL);
	n += nw_add_field_z(r, "", "y") == -1;
	n += nw_add_field_z(r, "a b", "y") == -1;
	n += nw_add_field_z(r, "Content-Length", "no number") == -1;
	n += nw_add_field_z(r, "Connection", "close") == -1;
	n += nw_add_field_z(r, "Transfer-Encoding", "chunked") == -1;
	n += nw_set_wait_hooks(r->server, NULL, NULL, NULL) == -1;
	say(r, "%lld", (long long)n);
	nw_flush(r);
	n = nw_start(r, 200, NULL) == -1;
	return n == 1 ? 0 : -1;
}

/* ---- the table ---- */

static const struct {
	const char *path;
	int (*handle)(nw_request *r);
} paths[] = {
	{"/sleep", do_sleep},
	{"/log", do_log},
	{"/spin", do_spin},
	{"/stuck", do_stuck},
	{"/exit", do_exit},
	{"/kill", do_kill},
	{"/orphan", do_orphan},
	{"/fork", do_fork},
	{"/system", do_system},
	{"/masks", do_masks},
	{"/pid", do_pid},
	{"/rand", do_rand},
	{"/env", do_env},
	{"/option", do_option},
	{"/setting", do_setting},
	{"/cwd", do_cwd},
	{"/host", do_host},
	{"/client", do_client},
	{"/read", do_read},
	{"/upload", do_read},
	{"/deaf", do_deaf},
	{"/big", do_big},
	{"/file", do_file},
	{"/stream", do_stream},
	{"/release", do_release},
	{"/lazy", do_lazy},
	{"/nothing", do_nothing},
	{"/status", do_status},
	{"/over", do_over},
	{"/under", do_under},
	{"/inject", do_inject},
	{"/empties", do_empties},
	{"/own", do_own},
	{"/fail", do_fail},
	{"/fail-late", do_fail_late},
	{"/hints", do_hints},
	{"/misuse", do_misuse},
};

static int
handle(nw_request *r, void *state)
{
	nw_str path = always ? nw_str_of(always) : nw_path(r);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (path.len == strlen(paths[i].path) &&
			memcmp(path.p, paths[i].path, path.len) == 0)
			return paths[i].handle(r);
	return say(r, "probe");
}

/*
 * Option progress: a file of 8 bytes that counts writes as they return.
 * Option always: the path that is taken for that of every request.
 */
static int
open_app(nw_server *s, void **ret_state)
{
	const char *path = nw_option(s, "progress");
	int fd;

	*ret_state = NULL;
	always = nw_option(s, "always");
	if (!path)
		return 0;
	fd = open(path, O_RDWR | O_CLOEXEC);
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
		MAP_SHARED, fd, 0);
	close(fd);
	return progress == MAP_FAILED ? -1 : 0;
}

const nw_app narwhal_app = {
	NW_APP_ABI,
	.open = open_app,
	.handle = handle,
};
