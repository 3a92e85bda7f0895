/*
 * conf.h -- one generation of the configuration.
 *
 * Built from the defaults, WEB_CONCURRENCY and PORT, the INI file and the
 * command line, in that order; read-only afterwards.  Its strings live in its
 * own arena and go with it.  For main, master and worker.c; lower files get
 * the few numbers they need.
 */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/log.h"
#include "conf/account.h"
#include "conf/addr.h"

/* Addresses one generation can listen on. */
#define CONF_ADDRS_MAX 64

struct conf_pair {
	const char *name;
	const char *value;
	int line; /* in the INI file */
};

struct conf_list {
	const char **v;
	size_t n;
};

struct conf_pairs {
	struct conf_pair *v;
	size_t n;
};

/* Where a value in force came from. */
enum conf_source {
	CONF_DEFAULT,
	CONF_ENVIRONMENT, /* PORT, WEB_CONCURRENCY, VIRTUAL_ENV, LISTEN_FDS */
	CONF_FILE,
	CONF_COMMAND_LINE
};

#define CONF_KEYS_MAX 64

struct conf {
	struct arena arena;
	const char *path; /* of the INI file, NULL without one */

	/* app */
	const char *app;
	const char *chdir; /* absolute, or NULL */
	struct conf_pairs options;
	struct conf_pairs env;

	/* wsgi */
	struct conf_list pythonpath;
	const char *virtualenv; /* a path, or NULL: none */

	/* server */
	struct conf_list bind;
	struct addr *addrs; /* what bind (and LISTEN_FDS) came to */
	size_t naddrs;
	int backlog;
	int unix_socket_mode;
	int workers;
	int worker_connections;
	int64_t keepalive_ms;
	uint64_t max_requests;
	uint64_t max_requests_jitter;

	/* buffers */
	size_t input_block_size;
	int outgoing_body_buffer_chunks;
	size_t outgoing_body_chunk_size;
	int64_t outgoing_flush_delay_ms;

	/* timeouts */
	int64_t header_timeout_ms;
	int64_t body_timeout_ms;
	int64_t send_timeout_ms;
	uint64_t min_body_rate; /* bytes a second, 0: none */
	uint64_t min_send_rate;
	int64_t timeout_ms;
	int64_t graceful_timeout_ms;

	/* limits */
	size_t request_head;
	size_t request_line;
	int request_fields;
	size_t request_field_size;
	uint64_t request_body;

	/* log */
	const char *error_log; /* a path, or "-" */
	int log_level; /* enum log_level */
	const char *access_log; /* a path, "-", or NULL: none */
	const char *access_log_format;

	/* proxy */
	int proxy_protocol; /* enum proxy_mode */
	struct conf_list forwarded_allow_ips; /* addresses, CIDR, `*`, `unix` */

	/* process */
	const char *user; /* a name or a number, or NULL */
	const char *group;
	struct account run_as; /* what user and group came to */
	int umask; /* -1: as it was */
	const char *pidfile; /* a path, or NULL */
	int daemon; /* 0 or 1 */

	/* per row of the key table: where the value came from, and its line */
	enum conf_source source[CONF_KEYS_MAX];
	int line[CONF_KEYS_MAX];
};

/* What the command line gives; kept by the master for every reload. */
struct conf_args {
	const char *path; /* -c, or NULL */
	bool path_given; /* then a missing file is an error */
	char **overrides; /* "key=value" without the dashes, APP as "app=APP" */
	size_t noverrides;
	int listen_fds; /* inherited descriptors 3 .. 3+n (LISTEN_FDS) */
	bool app_optional; /* for -T: an unset app is no fault */
	/* access_check(), which conf cannot see; NULL: not checked */
	const char *(*check_format)(const char *format);
};

/*
 * Load a configuration.  Returns a new one, or NULL after having added one
 * line for every fault found to *errors (each ends in a newline:
 * `FILE:LINE: KEY: reason`, or `--KEY: reason`).  Warnings and notes, such as a
 * file value the command line overrides, are added to *notes.  Free it with
 * conf_free().
 */
struct conf *
conf_load(const struct conf_args *args, struct buf *errors, struct buf *notes);
void conf_free(struct conf *c);

/* -T: every key, its value in force, where it came from, as a valid INI. */
void conf_print(const struct conf *c, FILE *out);

/* The part of --help that comes from the key table. */
void conf_print_help(FILE *out);

/*
 * Is `name` a key that may stand on the command line?  Then its printable
 * form; else NULL, with the nearest key in *ret_near or NULL if none is near.
 */
const char *conf_find_key(const char *name, const char **ret_near);

/*
 * The value in force of a key as text (for apps: setting), sizes in bytes.
 * NULL for an unknown key or one without a value.
 */
const char *conf_value(const struct conf *c, const char *key, struct buf *b);

/* One environment for the workers: the [env] section put into environ. */
int conf_apply_env(const struct conf *c);

#endif
