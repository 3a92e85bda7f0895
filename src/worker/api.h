/*
 * api.h -- the functions of narwhal/app.h: where request and response meet.
 */
#ifndef WORKER_API_H
#define WORKER_API_H

#include "narwhal/app.h"
#include "worker/request.h"
#include "worker/response.h"

struct api {
	nw_server server; /* the handles the application holds */
	nw_request handle;
	struct request *request;
	struct response *response;
	struct conn *conn;
	struct conn_hooks *hooks;
	bool opening; /* set_wait_hooks is allowed */
	const struct api_settings *settings;
	/* what the request's application may ask for, made when first asked */
	nw_field *fields;
	size_t nfields;
	nw_field *trailers;
	size_t ntrailers;
};

/* Lookups that need the configuration, which this folder does not see. */
struct api_settings {
	const char *(*setting)(void *arg, const char *key);
	const char *(*option)(void *arg, const char *name);
	int (*option_at)(void *arg, size_t i, const char **ret_name,
		const char **ret_value);
	void *arg;
};

void api_init(struct api *a, struct request *request, struct response *response,
	struct conn *conn, struct conn_hooks *hooks,
	const struct api_settings *settings);

/* The next request: forget what was made for the last one. */
void api_reset(struct api *a);

#endif
