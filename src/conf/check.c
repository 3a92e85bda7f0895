/*
 * check.c -- judge the values of a configuration together.
 *
 * Resolves the addresses and looks at what paths lead to, but opens, binds and
 * creates nothing.  A key that has a fault of its own is left out: what it
 * would have been is not known.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/logfile.h"
#include "conf/load.h"
#include "conf/value.h"

/* Descriptors a worker needs beside its connections and listeners. */
#define OVERHEAD 16

#define QUEUE_MAX (256 * 1024 * 1024)

static const struct key *
find(const char *name)
{
	return key_find(str_of(name));
}

static bool
is_refused(const struct load *l, const struct key *k)
{
	return l->refused[k - keys];
}

static bool
is_default(const struct load *l, const struct key *k)
{
	return l->c->source[k - keys] == CONF_DEFAULT;
}

static void
check_app(struct load *l)
{
	const struct key *k = find("app");

	if (!l->c->app && !l->args->app_optional && !is_refused(l, k))
		load_fault(l, k, "not set");
}

/* ---- addresses ---- */

static bool
is_listed(const struct conf *c, const struct addr *a)
{
	for (size_t i = 0; i < c->naddrs; i++)
		if (addr_eq(&c->addrs[i], a))
			return true;
	return false;
}

/* An address beside those before it: twice, or one that covers another? */
static void
check_addr(struct load *l, const struct key *k, const struct addr *a)
{
	const struct addr *b = l->c->addrs;

	for (; b < a; b++) {
		if (!addr_overlaps(a, b) &&
			(a->kind != ADDR_FD || !addr_eq(a, b)))
			continue;
		if (addr_eq(a, b))
			load_fault(l, k, "'%s' is there twice", a->text);
		else
			load_fault(l, k, "'%s' and '%s' cannot both be bound",
				b->text, a->text);
		return;
	}
}

static void
resolve(struct load *l, const struct key *k)
{
	struct conf *c = l->c;
	const char *why;
	int n;

	for (size_t i = 0; i < c->bind.n; i++) {
		n = addr_read(str_of(c->bind.v[i]), &c->arena,
			c->addrs + c->naddrs, CONF_ADDRS_MAX - (int)c->naddrs,
			&why);
		if (n == -1) {
			load_fault(l, k, "'%s' %s", c->bind.v[i], why);
			continue;
		}
		for (; n; n--)
			check_addr(l, k, &c->addrs[c->naddrs++]);
	}
}

/* LISTEN_FDS: descriptors from 3 on that somebody has bound for us. */
static void
add_inherited(struct load *l, const struct key *k)
{
	struct conf *c = l->c;
	struct addr a = {.kind = ADDR_FD};

	for (int i = 0; i < l->args->listen_fds; i++) {
		a.fd = 3 + i;
		a.text = arena_printf(&c->arena, "fd:%d", a.fd);
		if (is_listed(c, &a))
			continue;
		if (c->naddrs == CONF_ADDRS_MAX || !a.text) {
			load_fault(l, k, "LISTEN_FDS gives too many addresses");
			return;
		}
		c->addrs[c->naddrs++] = a;
	}
}

/* The list as it is in force: a default that was replaced is not shown. */
static void
replace_bind(struct load *l, const struct key *k)
{
	struct conf *c = l->c;

	c->bind.n = 0;
	c->source[k - keys] = CONF_ENVIRONMENT;
	add_inherited(l, k);
	c->bind.v = arena_alloc(&c->arena, c->naddrs * sizeof(*c->bind.v));
	if (!c->bind.v) {
		load_fault(l, k, "out of memory");
		return;
	}
	for (; c->bind.n < c->naddrs; c->bind.n++)
		c->bind.v[c->bind.n] = c->addrs[c->bind.n].text;
}

static void
check_bind(struct load *l)
{
	const struct key *k = find("bind");

	if (is_refused(l, k))
		return;
	l->c->addrs = arena_zalloc(
		&l->c->arena, CONF_ADDRS_MAX * sizeof(*l->c->addrs));
	if (!l->c->addrs) {
		load_fault(l, k, "out of memory");
		return;
	}
	if (l->args->listen_fds && is_default(l, k)) {
		replace_bind(l, k);
		return;
	}
	resolve(l, k);
	add_inherited(l, k);
	if (!l->c->naddrs && !is_refused(l, k))
		load_fault(l, k, "no address to listen on");
}

/* listen(2) cuts a longer backlog in silence; we say so. */
static void
check_backlog(struct load *l)
{
	FILE *f = fopen("/proc/sys/net/core/somaxconn", "re");
	int max;

	if (!f)
		return;
	if (fscanf(f, "%d", &max) == 1 && l->c->backlog > max)
		load_note(l, find("backlog"),
			"%d is more than net.core.somaxconn, so the kernel "
			"takes %d",
			l->c->backlog, max);
	fclose(f);
}

/* ---- sums and limits ---- */

static void
check_queue(struct load *l)
{
	const struct key *chunks = find("outgoing-body-buffer-chunks");
	const struct key *size = find("outgoing-body-chunk-size");
	uint64_t n = (uint64_t)l->c->outgoing_body_buffer_chunks;
	const struct key *at, *other;
	struct buf b;

	if (is_refused(l, chunks) || is_refused(l, size) ||
		n * l->c->outgoing_body_chunk_size <= QUEUE_MAX)
		return;
	at = is_default(l, chunks) ? size : chunks;
	other = at == chunks ? size : chunks;
	buf_init(&b);
	key_print(l->c, at, &b);
	buf_addf(&b, " x %s ", other->name);
	key_print(l->c, other, &b);
	load_fault(l, at, "%s is more than 256m", buf_z(&b));
	buf_done(&b);
}

static void
check_descriptors(struct load *l)
{
	const struct key *k = find("worker-connections");
	long limit = fd_raise_limit();
	long others = OVERHEAD + (long)l->c->naddrs;

	if (!is_refused(l, k) && l->c->worker_connections > limit - others)
		load_fault(l, k,
			"%d do not fit: %ld descriptors are allowed (ulimit "
			"-Hn), and a worker needs %ld for itself",
			l->c->worker_connections, limit, others);
}

/* A part of the head that may be longer than the head would be a lie. */
static void
check_part(struct load *l, const char *name, size_t part)
{
	const struct key *k = find(name), *head = find("request-head");
	struct buf b;

	if (is_refused(l, k) || is_refused(l, head) || is_default(l, k) ||
		part <= l->c->request_head)
		return;
	buf_init(&b);
	key_print(l->c, k, &b);
	buf_addf(&b, " is more than request-head ");
	key_print(l->c, head, &b);
	load_fault(l, k, "%s", buf_z(&b));
	buf_done(&b);
}

/* ---- paths ---- */

static void
check_folder(struct load *l, const char *name, const char *path)
{
	const struct key *k = find(name);
	struct stat st;

	if (!path || is_refused(l, k))
		return;
	if (stat(path, &st) == -1)
		load_fault(l, k, "'%s': %s", path, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		load_fault(l, k, "'%s': %s", path, strerror(ENOTDIR));
}

/* Could a file be made in the folder that path is in? */
static int
try_folder(struct load *l, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct str folder = {path, slash == path ? 1 : (size_t)(slash - path)};
	const char *z = arena_dup(&l->c->arena, folder).p;

	return z ? access(z, W_OK | X_OK) : -1;
}

/* Could it be opened for appending?  Nothing is created to find out. */
static int
try_log(struct load *l, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0) {
		errno = EISDIR;
		return S_ISDIR(st.st_mode) ? -1 : access(path, W_OK);
	}
	return errno == ENOENT ? try_folder(l, path) : -1;
}

static void
check_log(struct load *l, const char *name, const char *path)
{
	const struct key *k = find(name);
	const char *why;

	if (!path || *path != '/' || is_refused(l, k))
		return;
	if (try_log(l, path) == -1)
		load_fault(l, k, "'%s': %s", path, strerror(errno));
	else if (logfile_check(path, &why) == -1)
		load_fault(l, k, "'%s': %s", path, why);
}

static void
check_error_log(struct load *l)
{
	const struct key *k = find("error-log");

	if (!l->c->error_log && !is_refused(l, k))
		load_fault(l, k, "no value (- is standard error)");
	check_log(l, "error-log", l->c->error_log);
}

static void
check_format(struct load *l)
{
	const struct key *k = find("access-log-format");
	const char *format = l->c->access_log_format, *why;

	if (is_refused(l, k))
		return;
	why = !format			? "no value"
		: l->args->check_format ? l->args->check_format(format)
					: NULL;
	if (why)
		load_fault(l, k, "%s", why);
}

/* ---- process ---- */

/* Only root can let workers be somebody else. */
static void
check_permission(struct load *l)
{
	struct conf *c = l->c;

	if (geteuid() == 0)
		return;
	if (!c->group)
		c->run_as.gid = getegid();
	if (c->run_as.uid != geteuid())
		load_fault(l, find("user"),
			"'%s': only root can start workers as another user",
			c->user);
	else if (c->run_as.gid != getegid())
		load_fault(l, find("group"),
			"'%s': only root can start workers in another group",
			c->group);
}

static void
check_account(struct load *l)
{
	struct conf *c = l->c;
	struct account a = {true, geteuid(), ACCOUNT_NO_GROUP, NULL};
	const char *why;
	int before = l->faults;

	if (!c->user && !c->group)
		return;
	if (c->user && account_find_user(c->user, &c->arena, &a, &why) == -1)
		load_fault(l, find("user"), "'%s': %s", c->user, why);
	if (c->group && account_find_group(c->group, &a.gid, &why) == -1)
		load_fault(l, find("group"), "'%s': %s", c->group, why);
	if (l->faults != before)
		return;
	c->run_as = a;
	check_permission(l);
	if (c->run_as.gid == ACCOUNT_NO_GROUP)
		load_fault(l, find("user"),
			"'%s' has no entry that says its group: set group too",
			c->user);
}

/* It is replaced, never followed: a link or a device is somebody else's. */
static int
try_pidfile(struct load *l, const char *path)
{
	struct stat st;

	if (try_folder(l, path) == -1)
		return -1;
	if (lstat(path, &st) == -1)
		return errno == ENOENT ? 0 : -1;
	errno = S_ISDIR(st.st_mode) ? EISDIR : EEXIST;
	return S_ISREG(st.st_mode) ? access(path, W_OK) : -1;
}

static void
check_pidfile(struct load *l)
{
	const char *path = l->c->pidfile;

	if (path && try_pidfile(l, path) == -1)
		load_fault(l, find("pidfile"), "'%s': %s", path,
			errno == EEXIST ? "Not a regular file"
					: strerror(errno));
}

/* In the background nobody sees the standard ones. */
static void
check_daemon(struct load *l)
{
	const char *const logs[][2] = {{"error-log", l->c->error_log},
		{"access-log", l->c->access_log}};

	for (size_t i = 0; l->c->daemon && i < 2; i++)
		if (logs[i][1] && !strcmp(logs[i][1], "-") &&
			!is_refused(l, find(logs[i][0])))
			load_fault(l, find("daemon"),
				"%s is -, where nobody would see it: set it to "
				"a path",
				logs[i][0]);
}

void
check_all(struct load *l)
{
	const struct conf *c = l->c;

	check_app(l);
	check_folder(l, "chdir", c->chdir);
	/* the shell's leftover $VIRTUAL_ENV is no concern of a C app */
	if (c->source[find("virtualenv") - keys] != CONF_ENVIRONMENT)
		check_folder(l, "virtualenv", c->virtualenv);
	check_bind(l);
	check_backlog(l);
	check_queue(l);
	check_descriptors(l);
	check_part(l, "request-line", c->request_line);
	check_part(l, "request-field-size", c->request_field_size);
	check_error_log(l);
	check_format(l);
	check_log(l, "access-log", c->access_log);
	check_account(l);
	check_pidfile(l);
	check_daemon(l);
}
