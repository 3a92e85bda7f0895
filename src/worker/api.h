/*
 * api.h -- the functions of narwhal/app.h: where request and response meet.
 *
 * What the application may call when is judged here: a call out of order gets
 * -1 with errno and a log line.  What it says (names, values, lengths) is
 * judged by response.h.
 */
#ifndef WORKER_API_H
#define WORKER_API_H

#include "narwhal/app.h"
#include "worker/request.h"
#include "worker/response.h"

/* Lookups that need the configuration, which this folder does not see. */
struct api_settings {
	const char *(*setting)(void *arg, const char *key);
	const char *(*option)(void *arg, const char *name);
	int (*option_at)(void *arg, size_t i, const char **ret_name,
		const char **ret_value);
	void *arg;
};

struct api {
	nw_server server; /* the handles the application holds */
	nw_request handle;
	struct request *request;
	struct response *response;
	struct conn *conn;
	struct conn_hooks *hooks;
	const struct api_settings *settings;

	bool opening; /* the caller sets it round open: set_wait_hooks */
	bool handling; /* the handle is good: from api_reset to api_end */
	bool busy; /* a call that waits or releases has not returned */

	/* the connection's own, until the caller knows better (a proxy) */
	struct str scheme;
	struct str peer;
	int peer_port;

	/* what the application has asked for, made when first asked */
	const nw_field *fields;
	const nw_field *trailers;
};

void api_init(struct api *a, struct request *request, struct response *response,
	struct conn *conn, struct conn_hooks *hooks,
	const struct api_settings *settings);

/* The next request begins: forget what was made for the last one. */
void api_reset(struct api *a);

/* api_request.c: its half of the table. */
void api_request_fill(nw_api *t);

/* handle() has returned: from now on the request's handle is refused. */
void api_end(struct api *a);

#endif
