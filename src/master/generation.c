/*
 * generation.c -- make a generation, let it take over, let it go.
 *
 * Which generation serves is for the master and reload.c to say; here are its
 * descriptors.
 *
 * Always: a descriptor that two generations share has the same number in both,
 * and is closed once.  An old generation keeps its list of listeners as its
 * workers know it, since their place in it is what a drain message names.
 */
#include "master/generation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/logfile.h"

_Static_assert(CONF_ADDRS_MAX <= LEASH_LISTENERS_MAX,
	"each address has a bit in a drain message");

/* ---- load ---- */

struct generation *
generation_load(const struct conf_args *args, uint64_t number,
	struct buf *errors, struct buf *notes)
{
	struct generation *g = calloc(1, sizeof(*g));

	if (g == NULL)
		goto fail;
	g->number = number;
	g->error_fd = g->access_fd = g->pidfile.fd = -1;
	g->conf = conf_load(args, errors, notes);
	if (g->conf != NULL)
		return g;
fail:
	if (errors->len == 0)
		buf_addf(errors, "%s\n", strerror(ENOMEM));
	generation_free(g);
	return NULL;
}

void
generation_free(struct generation *g)
{
	if (g == NULL)
		return;
	conf_free(g->conf);
	free(g);
}

/* ---- pid file ---- */

static int
open_pidfile(struct generation *g, const struct generation *beside,
	struct buf *errors)
{
	const char *path = g->conf->pidfile;
	int r;

	if (path == NULL)
		return 0;
	if (beside != NULL && pidfile_serves(&beside->pidfile, path)) {
		g->pidfile = beside->pidfile;
		g->pidfile.path = path;
		return 0;
	}
	r = pidfile_open(&g->pidfile, path, g->pidfile_old);
	g->pidfile_was_stale = r == 1;
	if (r == -1)
		buf_addf(errors, "cannot take pid file '%s': %s\n", path,
			g->pidfile_old);
	return r == -1 ? -1 : 0;
}

static bool
shares_pidfile(const struct generation *g, const struct generation *other)
{
	return other != NULL && g->pidfile.fd == other->pidfile.fd;
}

/* ---- logs ---- */

/* umask is that of the workers, and may make a new log more private. */
static mode_t
log_mode(const struct generation *g)
{
	return g->conf->umask == -1 ? 0644 : 0644 & ~(mode_t)g->conf->umask;
}

/*
 * What is opened by name belongs to nobody else, and a write may fail rather
 * than wait for a reader.  But an error log is also an application's stderr.
 */
static int
open_named(const struct generation *g, const char *path, int standard,
	const char **ret_why)
{
	int fd = logfile_open(path, log_mode(g), ret_why);

	if (fd != -1 && standard == 1)
		fd_set_nonblock(fd, true);
	return fd;
}

/* path is a file, or "-" for `standard`; a closed one is no fault. */
static int
open_log(const struct generation *g, const char *path, int standard,
	int *ret_fd, struct buf *errors)
{
	const char *why;

	if (path == NULL)
		return 0;
	if (strcmp(path, "-") == 0) {
		*ret_fd = fcntl(standard, F_DUPFD_CLOEXEC, 3);
		why = strerror(errno);
		if (*ret_fd == -1 && errno == EBADF)
			return 0;
	} else {
		*ret_fd = open_named(g, path, standard, &why);
	}
	if (*ret_fd != -1)
		return 0;
	buf_addf(errors, "cannot open '%s': %s\n", path, why);
	return -1;
}

static int
open_logs(struct generation *g, struct buf *errors)
{
	if (open_log(g, g->conf->error_log, 2, &g->error_fd, errors) == -1)
		return -1;
	return open_log(g, g->conf->access_log, 1, &g->access_fd, errors);
}

/*
 * The number stays, whoever knows it writes to the new file; the descriptor
 * that is returned is for the workers.
 */
static int
reopen_log(const struct generation *g, const char *path, int standard, int fd)
{
	const char *why;
	int new_fd;

	if (path == NULL || strcmp(path, "-") == 0)
		return -1;
	new_fd = open_named(g, path, standard, &why);
	if (new_fd == -1)
		log_error("cannot reopen '%s': %s; the old file stays in use",
			path, why);
	else if (fd != -1)
		dup3(new_fd, fd, O_CLOEXEC);
	return new_fd;
}

void
generation_reopen_logs(
	struct generation *g, int *ret_error_fd, int *ret_access_fd)
{
	*ret_error_fd = reopen_log(g, g->conf->error_log, 2, g->error_fd);
	*ret_access_fd = reopen_log(g, g->conf->access_log, 1, g->access_fd);
}

/* ---- listeners ---- */

static bool
has_fd(const struct generation *g, int fd)
{
	for (size_t i = 0; g != NULL && i < g->nlisteners; i++)
		if (g->listeners[i].fd == fd)
			return true;
	return false;
}

static const struct listener *
find_listener(const struct generation *g, const struct addr *a)
{
	for (size_t i = 0; g != NULL && i < g->nlisteners; i++)
		if (listener_serves(&g->listeners[i], a))
			return &g->listeners[i];
	return NULL;
}

/* Returns whether there is an overlap at all. */
static bool
allow_overlap(struct generation *g, const struct addr *a, bool on)
{
	bool any = false;

	for (size_t i = 0; g != NULL && i < g->nlisteners; i++) {
		if (!listener_overlaps(&g->listeners[i], a))
			continue;
		listener_allow_overlap(&g->listeners[i], on);
		any = true;
	}
	return any;
}

/* Do workers of older generations still drain an address like this? */
static bool
is_draining(const struct generation *g, const struct addr *a)
{
	for (; g != NULL; g = g->next)
		for (size_t i = 0; i < g->nlisteners; i++)
			if (g->removed & (UINT64_C(1) << i) &&
				g->listeners[i].addr.kind == ADDR_TCP &&
				addr_overlaps(&g->listeners[i].addr, a))
				return true;
	return false;
}

/*
 * Backlog, mode and owner.  Where the workers are no longer somebody else, a
 * unix socket goes back to the master's user.
 */
static struct listener_options
listener_options_of(const struct conf *c, const struct conf *before)
{
	struct listener_options o = {.backlog = c->backlog,
		.unix_mode = c->unix_socket_mode,
		.unix_owner = c->run_as};

	if (!c->run_as.is_set && before != NULL && before->run_as.is_set)
		o.unix_owner =
			(struct account){true, geteuid(), getegid(), NULL};
	return o;
}

static int
open_listener(struct generation *g, const struct addr *a,
	struct generation *beside, int patience_ms, struct buf *errors)
{
	struct listener *l = &g->listeners[g->nlisteners];
	struct listener_options o = listener_options_of(g->conf, NULL);
	char why[LISTENER_WHY_MAX];
	int r = -1;

	/* After a removal the number may be one of our own. */
	if (a->kind == ADDR_FD && (has_fd(g, a->fd) || has_fd(beside, a->fd))) {
		buf_addf(errors, "cannot bind '%s': %s\n", a->text,
			strerror(EBUSY));
		return -1;
	}
	o.patience_ms = patience_ms;
	o.overlap = allow_overlap(beside, a, true) ||
		(a->kind == ADDR_TCP && is_draining(beside, a));
	r = listener_open(l, a, &o, why);
	allow_overlap(beside, a, false);
	if (r == 0)
		g->nlisteners++;
	else
		buf_addf(errors, "cannot bind '%s': %s\n", a->text, why);
	return r;
}

/*
 * An address that a wider one takes in, 127.0.0.1:80 in 0.0.0.0:80, stays open
 * beside it: the kernel gives connections to the narrower socket as long as it
 * is there, and those in its queue could not move when it is closed.
 */
static void
keep_covered(struct generation *g, const struct generation *beside)
{
	for (size_t i = 0; beside != NULL && i < beside->nlisteners; i++) {
		const struct listener *l = &beside->listeners[i];
		bool within = false;

		if (l->inherited || has_fd(g, l->fd) ||
			g->nlisteners == LEASH_LISTENERS_MAX)
			continue;
		for (size_t k = 0; k < g->conf->naddrs; k++)
			within |= listener_is_within(l, &g->conf->addrs[k]);
		if (within)
			g->listeners[g->nlisteners++] = *l;
	}
}

int
generation_open(struct generation *g, struct generation *beside,
	int patience_ms, struct buf *errors)
{
	if (open_pidfile(g, beside, errors) == -1 || open_logs(g, errors) == -1)
		goto fail;
	for (size_t i = 0; i < g->conf->naddrs; i++) {
		const struct addr *a = &g->conf->addrs[i];
		const struct listener *kept = find_listener(beside, a);

		if (kept != NULL && !has_fd(g, kept->fd))
			g->listeners[g->nlisteners++] = *kept;
		else if (open_listener(g, a, beside, patience_ms, errors) == -1)
			goto fail;
	}
	keep_covered(g, beside);
	return 0;
fail:
	generation_close(g, beside);
	return -1;
}

static void
mark_removed(struct generation *old, const struct generation *g)
{
	for (size_t i = 0; i < old->nlisteners; i++) {
		if (old->listeners[i].fd == -1 ||
			has_fd(g, old->listeners[i].fd))
			continue;
		old->removed |= UINT64_C(1) << i;
		old->listeners[i].fd = -1;
	}
}

/* What stayed may have other settings now. */
static void
adjust_kept(struct generation *g, const struct generation *from)
{
	struct listener_options o = listener_options_of(g->conf, from->conf);

	for (size_t i = 0; i < g->nlisteners; i++) {
		struct listener *l = &g->listeners[i];

		if (!has_fd(from, l->fd))
			continue;
		listener_set_backlog(l, g->conf->backlog);
		listener_set_unix(l, &o);
	}
}

void
generation_take_over(struct generation *g, struct generation *from)
{
	adjust_kept(g, from);
	for (struct generation *old = from->next; old != NULL; old = old->next)
		mark_removed(old, g);
	for (size_t i = 0; i < from->nlisteners; i++) {
		struct listener *l = &from->listeners[i];

		if (has_fd(g, l->fd))
			continue;
		listener_shut(l);
		listener_close(l, true);
		from->removed |= UINT64_C(1) << i;
	}
	if (!shares_pidfile(from, g))
		pidfile_close(&from->pidfile);
	from->pidfile.fd = -1;
	fd_close(&from->error_fd);
	fd_close(&from->access_fd);
}

void
generation_close(struct generation *g, const struct generation *beside)
{
	for (size_t i = 0; i < g->nlisteners; i++)
		if (!has_fd(beside, g->listeners[i].fd))
			listener_close(&g->listeners[i], true);
	if (!shares_pidfile(g, beside))
		pidfile_close(&g->pidfile);
	g->pidfile.fd = -1;
	fd_close(&g->error_fd);
	fd_close(&g->access_fd);
}

void
generation_warn(const struct generation *g)
{
	if (g->pidfile_was_stale)
		log_warning("pid file '%s' was left behind (it said '%s'): "
			    "replaced",
			g->pidfile.path, g->pidfile_old);
	if (geteuid() == 0 && g->conf->user == NULL)
		log_warning("workers run as root, since this was started as "
			    "root: name an account of their own, user = NAME "
			    "in section [process]");
}

uint64_t
generation_all(const struct generation *g)
{
	return g->nlisteners == 64 ? UINT64_MAX
				   : (UINT64_C(1) << g->nlisteners) - 1;
}

void
generation_shut(struct generation *g)
{
	for (size_t i = 0; i < g->nlisteners; i++) {
		listener_shut(&g->listeners[i]);
		listener_close(&g->listeners[i], true);
	}
}

void
generation_forget(struct generation *g, const struct generation *mine)
{
	for (size_t i = 0; i < g->nlisteners; i++)
		if (!has_fd(mine, g->listeners[i].fd))
			listener_close(&g->listeners[i], false);
	if (!shares_pidfile(g, mine))
		pidfile_forget(&g->pidfile);
	fd_close(&g->error_fd);
	fd_close(&g->access_fd);
}
