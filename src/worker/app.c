/*
 * app.c -- load the application's shared object and check its ABI.
 *
 * A shared object is never unloaded: its threads, atexit handlers and static
 * destructors may outlive any use we have for it.  A reload starts a new
 * process, which loads the file as it is then.
 */
#include "worker/app.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "worker/forkguard.h"

#define GATEWAY "wsgi"

/* The folder of the running binary, "" if it cannot be told. */
static void
own_folder(char *p, size_t max)
{
	ssize_t n = readlink("/proc/self/exe", p, max - 1);

	while (n > 0 && p[n - 1] != '/')
		n--;
	p[n > 1 ? n - 1 : 0] = '\0';
}

static int
try_file(const char *folder, const char *name, char *path, size_t path_max)
{
	int n = snprintf(path, path_max, "%s/%s.so", folder, name);

	return n > 0 && (size_t)n < path_max ? access(path, F_OK) : -1;
}

static int
find_named(const char *name, char *path, size_t path_max, char *why,
	size_t why_max)
{
	char own[4096];
	size_t n = strlen(name);

	own_folder(own, sizeof(own));
	if (try_file(own, name, path, path_max) == 0 ||
		try_file(NW_LIBDIR, name, path, path_max) == 0)
		return 0;
	snprintf(why, why_max, "no %s.so in %s or %s%s", name, own, NW_LIBDIR,
		n > 3 && strcmp(name + n - 3, ".so") == 0
			? " (a path needs a slash, as in so:./x.so)"
			: "");
	return -1;
}

static int
find_path(const char *given, char *path, size_t path_max, char *why,
	size_t why_max)
{
	int n = snprintf(path, path_max, "%s", given);

	if (n >= 0 && (size_t)n < path_max && access(path, F_OK) == 0)
		return 0;
	snprintf(why, why_max, "%s: %m", given);
	return -1;
}

int
app_find(const char *spec, char *path, size_t path_max, char *why,
	size_t why_max)
{
	const char *name = GATEWAY;

	if (strncmp(spec, "so:", 3) == 0) {
		name = spec + 3;
	} else if (strchr(spec, ':') == NULL) {
		snprintf(why, why_max,
			"neither so:NAME, so:/path/x.so, wsgi:MODULE nor "
			"MODULE:CALLABLE");
		return -1;
	}
	if (*name == '\0') {
		snprintf(why, why_max, "so: needs a name or a path");
		return -1;
	}
	if (strchr(name, '/'))
		return find_path(name, path, path_max, why, why_max);
	return find_named(name, path, path_max, why, why_max);
}

const char *
app_check(const nw_app *def, char *why, size_t why_max)
{
	if (def->abi_major != NW_ABI_MAJOR) {
		snprintf(why, why_max,
			"it was built for ABI %d, this narwhal has %d",
			def->abi_major, NW_ABI_MAJOR);
		return why;
	}
	if (def->abi_minor > NW_ABI_MINOR) {
		snprintf(why, why_max,
			"it was built for ABI %d.%d, this narwhal has only "
			"%d.%d",
			def->abi_major, def->abi_minor, NW_ABI_MAJOR,
			NW_ABI_MINOR);
		return why;
	}
	if (def->size < sizeof(nw_app))
		return "its narwhal_app is too small: use NW_APP_ABI";
	if (def->handle == NULL)
		return "its narwhal_app has no handle function";
	return NULL;
}

/* The definition in a file, or NULL with the reason in why. */
static const nw_app *
load(const char *path, char *why, size_t why_max)
{
	const nw_app *def = NULL;
	const char *wrong;
	void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (so)
		def = dlsym(so, "narwhal_app");
	if (def)
		wrong = app_check(def, why, why_max);
	else
		wrong = so ? "it has no symbol narwhal_app" : dlerror();
	if (wrong && wrong != why)
		snprintf(why, why_max, "%s", wrong);
	/* cppcheck-suppress resourceLeak ; it is never unloaded */
	return wrong ? NULL : def;
}

/* Its open; 0, or -1.  A process forked there does not become a worker. */
static int
start(const nw_app *def, nw_server *server, void **ret_state)
{
	int failed = def->open ? def->open(server, ret_state) : 0;

	forkguard_end_child(failed ? 1 : 0);
	return failed ? -1 : 0;
}

int
app_open(struct app *a, const char *spec, nw_server *server)
{
	char path[4096], why[8192];
	const nw_app *def = NULL;
	void *state = NULL;

	if (app_find(spec, path, sizeof(path), why, sizeof(why)) == 0)
		def = load(path, why, sizeof(why));
	if (def == NULL) {
		log_error("cannot load the application '%s': %s", spec, why);
		return -1;
	}
	if (start(def, server, &state) == -1) {
		log_error("the application '%s' could not start", spec);
		return -1;
	}
	a->def = def;
	a->state = state;
	return 0;
}

int
app_handle(struct app *a, nw_request *r)
{
	int failed = a->def->handle(r, a->state);

	forkguard_end_child(failed ? 1 : 0);
	return failed ? -1 : 0;
}

void
app_close(struct app *a, nw_server *server)
{
	if (a->def && a->def->close) {
		a->def->close(server, a->state);
		forkguard_end_child(0);
	}
	a->def = NULL;
	a->state = NULL;
}
