/*
 * app.h -- load the application's shared object and check its ABI.
 */
#ifndef WORKER_APP_H
#define WORKER_APP_H

#include "narwhal/app.h"

struct app {
	const nw_app *def;
	void *state;
};

/*
 * Which file a spec (the key `app`) names: `so:NAME`, `so:/path/x.so` and
 * `so:./x.so` (any with a slash); `wsgi:...` and a bare MODULE:CALLABLE give
 * the WSGI gateway.  NAME.so is looked for beside the binary and under
 * LIBDIR/narwhal.  Into path; -1 with a reason in why.
 */
int app_find(const char *spec, char *path, size_t path_max, char *why,
	size_t why_max);

/* What is wrong with a definition (NULL: nothing), before it is used. */
const char *app_check(const nw_app *def, char *why, size_t why_max);

/*
 * dlopen it (never unloaded), check versions before anything is called, and
 * call its open.  Returns 0, or -1 with the reason logged.
 */
int app_open(struct app *a, const char *spec, nw_server *server);

/*
 * Answer one request: 0, or -1 if the application failed (it has logged why).
 * In a process that the application forked this does not return.
 */
int app_handle(struct app *a, nw_request *r);

void app_close(struct app *a, nw_server *server);

#endif
