/*
 * narwhal/app.h -- what an application and narwhal say to each other.
 *
 * An application is a shared object that exports one symbol:
 *
 *	const nw_app narwhal_app = {
 *		NW_APP_ABI, .open = my_open, .handle = my_handle,
 *	};
 *
 * All calls go through the function table in the handle, so it links against
 * nothing of narwhal's.  The major number of the ABI must match, the minor may
 * be older than the server's; structs grow only at their end.
 *
 * Calls are made one at a time and only while open, handle or close lasts:
 * from the thread that was called, or from another one it waits for meanwhile.
 * nw_log, nw_option and nw_setting may be called from any thread, from open to
 * the end of close.  Calls that return int give 0, or -1 with errno.  Misuse is
 * also logged and never crashes the server: EINVAL wrong arguments or order,
 * EALREADY too late, EBADF handle has returned (or this is a fork of the
 * worker), EBUSY called from inside another call, EPERM not here.
 * See narwhal-app(3).
 */
#ifndef NARWHAL_APP_H
#define NARWHAL_APP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NW_ABI_MAJOR 1
#define NW_ABI_MINOR 0

/* Bytes that belong to the server, not NUL-terminated. */
typedef struct nw_str {
	const char *p;
	size_t len;
} nw_str;

typedef struct nw_field {
	nw_str name; /* as received or given; compare without case */
	nw_str value;
} nw_field;

typedef enum nw_level {
	NW_ERROR,
	NW_WARNING,
	NW_INFO,
	NW_DEBUG
} nw_level;

typedef struct nw_api nw_api;

/* One worker; valid from open to the end of close. */
typedef struct nw_server {
	const nw_api *api;
} nw_server;

/* One request; valid during handle. */
typedef struct nw_request {
	const nw_api *api;
	nw_server *server;
} nw_request;

/*
 * The application.  open and close may be NULL.  open runs once in each
 * worker and stores what handle gets as `state`; it returns 0, or -1 after
 * having logged why (the worker exits with status 4).  handle answers one
 * request and returns 0, or -1 if it failed: 500 is sent if the response was
 * not committed yet, else the connection is cut.
 */
typedef struct nw_app {
	uint16_t abi_major;
	uint16_t abi_minor;
	uint32_t size; /* sizeof(nw_app) as the application was compiled */
	int (*open)(nw_server *s, void **ret_state);
	int (*handle)(nw_request *r, void *state);
	void (*close)(nw_server *s, void *state);
} nw_app;

#define NW_APP_ABI                                                             \
	.abi_major = NW_ABI_MAJOR, .abi_minor = NW_ABI_MINOR,                  \
	.size = sizeof(nw_app)

/* Exported by the application, whatever its default visibility. */
extern
#ifdef __GNUC__
	__attribute__((visibility("default")))
#endif
	const nw_app narwhal_app;

/* Called for a written buffer the server is done with. */
typedef void (*nw_release_fn)(void *arg);

/* Called before and after a wait that really blocks. */
typedef void (*nw_wait_fn)(void *arg);

/*
 * The function table.  Use the inline functions below it.  A server with a
 * larger minor number has more at its end.
 */
struct nw_api {
	uint16_t abi_major;
	uint16_t abi_minor;
	uint32_t size;

	/* the worker */
	void (*log)(nw_server *, nw_level, const char *p, size_t n);
	int (*log_fd)(nw_server *);
	const char *(*option)(nw_server *, const char *name);
	int (*option_at)(nw_server *, size_t i, const char **ret_name,
		const char **ret_value);
	const char *(*setting)(nw_server *, const char *key);
	int (*set_wait_hooks)(
		nw_server *, nw_wait_fn before, nw_wait_fn after, void *arg);

	/* the request */
	nw_str (*method)(nw_request *);
	nw_str (*target)(nw_request *);
	nw_str (*path)(nw_request *);
	nw_str (*query)(nw_request *);
	nw_str (*scheme)(nw_request *);
	nw_str (*host)(nw_request *);
	int (*minor_version)(nw_request *);
	nw_str (*peer)(nw_request *, int *ret_port);
	nw_str (*local)(nw_request *, int *ret_port);
	const nw_field *(*fields)(nw_request *, size_t *ret_n);
	int (*field)(nw_request *, nw_str name, nw_str *ret_value);
	const nw_field *(*trailers)(nw_request *, size_t *ret_n);
	int64_t (*content_length)(nw_request *);
	int64_t (*body_left)(nw_request *);
	ssize_t (*read)(nw_request *, void *p, size_t n);
	int (*pass_body)(nw_request *);
	void *(*alloc)(nw_request *, size_t n);

	/* the response */
	int (*send_early_hints)(nw_request *, const nw_field *, size_t n);
	int (*start)(nw_request *, int status, nw_str reason);
	int (*add_field)(nw_request *, nw_str name, nw_str value);
	int (*add_trailer)(nw_request *, nw_str name, nw_str value);
	int (*write)(nw_request *, const void *p, size_t n);
	int (*write_release)(nw_request *, const void *p, size_t n,
		nw_release_fn release, void *arg);
	int (*send_file)(nw_request *, int fd, off_t offset, size_t n);
	int (*flush)(nw_request *);
	int (*is_committed)(nw_request *);
};

/* A NUL-terminated string as an nw_str. */
static inline nw_str
nw_str_of(const char *z)
{
	nw_str s = {z, z ? strlen(z) : 0};

	return s;
}

/* ---- the worker ---- */

/* Put n bytes into the error log; each line gets its stamp. */
static inline void
nw_log(nw_server *s, nw_level level, const char *p, size_t n)
{
	s->api->log(s, level, p, n);
}

/* The error log's descriptor; the number stays the same over a reopening. */
static inline int
nw_log_fd(nw_server *s)
{
	return s->api->log_fd(s);
}

/* The value of a name in the section [options], or NULL. */
static inline const char *
nw_option(nw_server *s, const char *name)
{
	return s->api->option(s, name);
}

/* The i-th entry of [options]; 0, or -1 past the last. */
static inline int
nw_option_at(
	nw_server *s, size_t i, const char **ret_name, const char **ret_value)
{
	return s->api->option_at(s, i, ret_name, ret_value);
}

/*
 * The value in force of an INI key (such as "input-block-size"), as the INI
 * would have it, sizes in bytes; NULL for an unknown key or one without a
 * value.  Stays valid until close.
 */
static inline const char *
nw_setting(nw_server *s, const char *key)
{
	return s->api->setting(s, key);
}

/*
 * In open only: hooks called round each wait that really blocks.  No call may
 * be made from inside them.
 */
static inline int
nw_set_wait_hooks(nw_server *s, nw_wait_fn before, nw_wait_fn after, void *arg)
{
	return s->api->set_wait_hooks(s, before, after, arg);
}

/* ---- the request ---- */

static inline nw_str
nw_method(nw_request *r)
{
	return r->api->method(r);
}

/* The request target as received. */
static inline nw_str
nw_target(nw_request *r)
{
	return r->api->target(r);
}

/* The path, percent-decoded once; may hold any byte.  "*" for OPTIONS *. */
static inline nw_str
nw_path(nw_request *r)
{
	return r->api->path(r);
}

/* What follows the '?', as received; p is NULL when there was none. */
static inline nw_str
nw_query(nw_request *r)
{
	return r->api->query(r);
}

/* "http", or "https" where a trusted proxy said so. */
static inline nw_str
nw_scheme(nw_request *r)
{
	return r->api->scheme(r);
}

/* The authority of the target or else of Host (RFC 9112 3.3); may be empty. */
static inline nw_str
nw_host(nw_request *r)
{
	return r->api->host(r);
}

/* 0 for HTTP/1.0, 1 for HTTP/1.1. */
static inline int
nw_minor_version(nw_request *r)
{
	return r->api->minor_version(r);
}

/* The client's address and port; empty and 0 over a unix socket. */
static inline nw_str
nw_peer(nw_request *r, int *ret_port)
{
	return r->api->peer(r, ret_port);
}

/* The address and port it came to; the path and 0 for a unix socket. */
static inline nw_str
nw_local(nw_request *r, int *ret_port)
{
	return r->api->local(r, ret_port);
}

/*
 * The request fields in the order they came, Host being that of an
 * absolute-form target where there was one (RFC 9112 3.2.2).
 */
static inline const nw_field *
nw_fields(nw_request *r, size_t *ret_n)
{
	return r->api->fields(r, ret_n);
}

/* The first field of that name, any case: 1 and its value, or 0. */
static inline int
nw_field_get(nw_request *r, const char *name, nw_str *ret_value)
{
	return r->api->field(r, nw_str_of(name), ret_value);
}

/* Trailer fields, once nw_read has returned 0; never among the fields. */
static inline const nw_field *
nw_trailers(nw_request *r, size_t *ret_n)
{
	return r->api->trailers(r, ret_n);
}

/* The declared Content-Length; 0 without a body, -1 if it is chunked. */
static inline int64_t
nw_content_length(nw_request *r)
{
	return r->api->content_length(r);
}

/* Body bytes not read yet, -1 if that is unknown (chunked). */
static inline int64_t
nw_body_left(nw_request *r)
{
	return r->api->body_left(r);
}

/*
 * Read up to n bytes of the body, blocking until at least one is there.
 * Returns their number, 0 at the body's end, or -1: ECONNRESET the client
 * left, ETIMEDOUT it was too slow, EPROTO it broke the framing, EFBIG the
 * body is over the limit.  A read of input-block-size or more goes straight
 * into p.  The first read sends 100 Continue where the client waits for it.
 */
static inline ssize_t
nw_read(nw_request *r, void *p, size_t n)
{
	return r->api->read(r, p, n);
}

/*
 * Write all of the body that is left as the response, in blocks.  Errors of
 * nw_read and nw_write.
 */
static inline int
nw_pass_body(nw_request *r)
{
	return r->api->pass_body(r);
}

/* n bytes, not zeroed, that live until handle returns; NULL with ENOMEM. */
static inline void *
nw_alloc(nw_request *r, size_t n)
{
	return r->api->alloc(r, n);
}

/* ---- the response ---- */

/*
 * Send an interim response 103 (RFC 8297) at once; nothing to a HTTP/1.0
 * client.  EALREADY once the response is committed.
 */
static inline int
nw_send_early_hints(nw_request *r, const nw_field *fields, size_t n)
{
	return r->api->send_early_hints(r, fields, n);
}

/*
 * Begin the response: status 200 to 599, reason NULL for the usual phrase.
 * May be repeated until the response is committed, which forgets the fields
 * added so far; EALREADY afterwards.
 */
static inline int
nw_start(nw_request *r, int status, const char *reason)
{
	return r->api->start(r, status, nw_str_of(reason));
}

/*
 * Add a field; the bytes are copied.  EINVAL for a name that is no token, a
 * value with CR, LF, NUL or another control byte, a hop-by-hop field, a
 * Content-Length that is no number or the second one.  Content-Length,
 * Date and Server replace what the server would have sent.
 */
static inline int
nw_add_field(nw_request *r, nw_str name, nw_str value)
{
	return r->api->add_field(r, name, value);
}

static inline int
nw_add_field_z(nw_request *r, const char *name, const char *value)
{
	return r->api->add_field(r, nw_str_of(name), nw_str_of(value));
}

/*
 * Add a trailer field, until handle returns.  Sent if the request said
 * `TE: trailers` and the response can be chunked, else dropped.
 */
static inline int
nw_add_trailer(nw_request *r, nw_str name, nw_str value)
{
	return r->api->add_trailer(r, name, value);
}

/*
 * Write n bytes of the body: one chunk, cut into several if it is longer than
 * outgoing-body-chunk-size.  Returns at once while at most
 * outgoing-body-buffer-chunks chunks wait, else blocks until that is so.
 * -1: ECONNRESET the client left, ETIMEDOUT it does not take anything,
 * EMSGSIZE more than the declared Content-Length (what fits is sent),
 * ECANCELED the response was replaced by an error (a fault in the request
 * body).  The bytes are copied if they must wait.  With n == 0 nothing happens.
 */
static inline int
nw_write(nw_request *r, const void *p, size_t n)
{
	return r->api->write(r, p, n);
}

/*
 * The same without the copy: the bytes must stay as they are until release is
 * called, which happens exactly once, also when this call fails, inside a
 * later (or this) call of the application or after handle has returned.
 */
static inline int
nw_write_release(nw_request *r, const void *p, size_t n, nw_release_fn release,
	void *arg)
{
	return r->api->write_release(r, p, n, release, arg);
}

/*
 * Send n bytes of a file from offset on; blocks until the kernel has them.
 * The descriptor's own offset stays as it is.  A file that turns out shorter
 * cuts the connection (EIO).
 */
static inline int
nw_send_file(nw_request *r, int fd, off_t offset, size_t n)
{
	return r->api->send_file(r, fd, offset, n);
}

/* Send what waits, the head too; blocks until the kernel has it. */
static inline int
nw_flush(nw_request *r)
{
	return r->api->flush(r);
}

/* Was anything of the response handed over for good?  Then no new start: 1. */
static inline int
nw_is_committed(nw_request *r)
{
	return r->api->is_committed(r);
}

#ifdef __cplusplus
}
#endif

#endif
