/*
 * api.c -- the functions of narwhal/app.h: where request and response meet.
 *
 * Each function sees with call.h whether the call may be made now, and hands
 * over to response.c (or request.c, from api_request.c).  Nothing here judges
 * what is said, only when.
 */
#include "worker/api.h"

#include <errno.h>

#include "base/log.h"
#include "worker/call.h"

#define NO_STR ((struct str){NULL, 0})

/* ---- the worker ---- */

static void
put_log(nw_server *s, nw_level level, const char *p, size_t n)
{
	(void)s;
	if (call_is_bad_range(p, n) || level < NW_ERROR || level > NW_DEBUG) {
		call_misuse("nw_log", EINVAL, "a bad level or length");
		return;
	}
	log_text((enum log_level)level, p, n);
}

static int
get_log_fd(nw_server *s)
{
	(void)s;
	return log_fd();
}

static const char *
option(nw_server *s, const char *name)
{
	const struct api_settings *t = call_server(s)->settings;

	return name ? t->option(t->arg, name) : NULL;
}

static int
option_at(nw_server *s, size_t i, const char **ret_name, const char **ret_value)
{
	const struct api_settings *t = call_server(s)->settings;
	const char *name, *value;

	if (t->option_at(t->arg, i, &name, &value) == -1)
		return -1;
	if (ret_name)
		*ret_name = name;
	if (ret_value)
		*ret_value = value;
	return 0;
}

static const char *
setting(nw_server *s, const char *key)
{
	const struct api_settings *t = call_server(s)->settings;

	return key ? t->setting(t->arg, key) : NULL;
}

static int
set_wait_hooks(nw_server *s, nw_wait_fn before, nw_wait_fn after, void *arg)
{
	struct api *a = call_server(s);

	if (!a->opening)
		return call_misuse("nw_set_wait_hooks", EPERM, "open is over");
	a->hooks->before = before;
	a->hooks->after = after;
	a->hooks->arg = arg;
	return 0;
}

/* ---- the response ---- */

static const char late[] = "the response has been committed";

/* An error that replaced the response answers for itself. */
static bool
is_too_late(const struct api *a)
{
	return a->response->committed && !a->response->refused &&
		!a->response->error;
}

static int
add_hint(struct buf *lines, struct str name, struct str value)
{
	if (!strict_is_token(name) || !strict_is_value(value) ||
		framing_is_hop_by_hop(name))
		return call_misuse("nw_send_early_hints", EINVAL,
			"a field that cannot be sent");
	buf_add_str(lines, name);
	buf_add_str(lines, STR(": "));
	buf_add_str(lines, value);
	buf_add_str(lines, STR("\r\n"));
	return 0;
}

static int
send_hints(struct api *a, const nw_field *f, size_t n)
{
	struct buf lines;
	size_t i;
	int r = 0;

	buf_init(&lines);
	for (i = 0; r == 0 && i < n; i++)
		r = add_hint(&lines, call_from_nw(f[i].name),
			call_from_nw(f[i].value));
	if (lines.failed) {
		errno = ENOMEM;
		r = -1;
	}
	if (r == 0)
		r = response_send_interim(a->response, 103, buf_str(&lines));
	buf_done(&lines);
	return r;
}

static int
send_early_hints(nw_request *r, const nw_field *f, size_t n)
{
	static const char call[] = "nw_send_early_hints";
	struct api *a;

	if (call_is_bad_range(f, n))
		return call_misuse(call, EINVAL, "no fields");
	a = call_enter(r, call);
	if (a == NULL)
		return -1;
	if (is_too_late(a))
		return call_leave(a, call_misuse(call, EALREADY, late));
	return call_leave(a, send_hints(a, f, n));
}

static int
start(nw_request *r, int status, nw_str reason)
{
	struct api *a;

	if (status < 200 || status > 599)
		return call_misuse(
			"nw_start", EINVAL, "a status of 200 to 599");
	if (call_is_bad_range(reason.p, reason.len))
		return call_misuse("nw_start", EINVAL, "a bad reason");
	a = call_enter(r, "nw_start");
	if (a == NULL)
		return -1;
	if (is_too_late(a))
		return call_leave(a, call_misuse("nw_start", EALREADY, late));
	return call_leave(
		a, response_start(a->response, status, call_from_nw(reason)));
}

/* nw_add_field and nw_add_trailer differ in one function only. */
static int
add(nw_request *r, const char *call, nw_str name, nw_str value,
	int (*add_to)(struct response *, struct str, struct str))
{
	struct api *a;

	if (call_is_bad_range(name.p, name.len) ||
		call_is_bad_range(value.p, value.len))
		return call_misuse(call, EINVAL, "a bad name or value");
	a = call_enter_started(r, call);
	if (a == NULL)
		return -1;
	if (add_to == response_add_field && is_too_late(a))
		return call_leave(a, call_misuse(call, EALREADY, late));
	return call_leave(a,
		add_to(a->response, call_from_nw(name), call_from_nw(value)));
}

static int
add_field(nw_request *r, nw_str name, nw_str value)
{
	return add(r, "nw_add_field", name, value, response_add_field);
}

static int
add_trailer(nw_request *r, nw_str name, nw_str value)
{
	return add(r, "nw_add_trailer", name, value, response_add_trailer);
}

static int
write_body(nw_request *r, const void *p, size_t n)
{
	struct api *a;

	if (call_is_bad_range(p, n))
		return call_misuse("nw_write", EINVAL, "a bad buffer");
	a = call_enter_started(r, "nw_write");
	if (a == NULL)
		return -1;
	return call_leave(
		a, n ? response_write(a->response, p, n, NULL, NULL) : 0);
}

/* Release what never came as far as the queue; r is returned, errno kept. */
static int
give_back(nw_release_fn release, void *arg, int r)
{
	int saved = errno;

	if (release)
		release(arg);
	errno = saved;
	return r;
}

static int
write_release(nw_request *r, const void *p, size_t n, nw_release_fn release,
	void *arg)
{
	static const char call[] = "nw_write_release";
	struct api *a;

	if (call_is_bad_range(p, n))
		return give_back(release, arg,
			call_misuse(call, EINVAL, "a bad buffer"));
	a = call_enter_started(r, call);
	if (a == NULL)
		return give_back(release, arg, -1);
	if (n == 0)
		return call_leave(a, give_back(release, arg, 0));
	return call_leave(a, response_write(a->response, p, n, release, arg));
}

static int
send_file(nw_request *r, int fd, off_t offset, size_t n)
{
	struct api *a;

	if (fd < 0 || offset < 0 || n > (size_t)(INT64_MAX - offset))
		return call_misuse("nw_send_file", EINVAL, "a bad range");
	a = call_enter_started(r, "nw_send_file");
	if (a == NULL)
		return -1;
	return call_leave(
		a, n ? response_send_file(a->response, fd, offset, n) : 0);
}

static int
flush(nw_request *r)
{
	struct api *a = call_enter_started(r, "nw_flush");

	return a ? call_leave(a, response_flush(a->response)) : -1;
}

static int
is_committed(nw_request *r)
{
	struct api *a = call_in_hand(r, "nw_is_committed");

	return a ? a->response->committed : -1;
}

/* ---- the table and its life ---- */

/* The client waits with its body (RFC 9110 10.1.1). */
static int
send_continue(void *arg)
{
	struct api *a = arg;

	return response_send_interim(a->response, 100, NO_STR);
}

static nw_api table = {
	.abi_major = NW_ABI_MAJOR,
	.abi_minor = NW_ABI_MINOR,
	.size = sizeof(nw_api),
	.log = put_log,
	.log_fd = get_log_fd,
	.option = option,
	.option_at = option_at,
	.setting = setting,
	.set_wait_hooks = set_wait_hooks,
	.send_early_hints = send_early_hints,
	.start = start,
	.add_field = add_field,
	.add_trailer = add_trailer,
	.write = write_body,
	.write_release = write_release,
	.send_file = send_file,
	.flush = flush,
	.is_committed = is_committed,
};

void
api_init(struct api *a, struct request *request, struct response *response,
	struct conn *conn, struct conn_hooks *hooks,
	const struct api_settings *settings)
{
	*a = (struct api){.request = request,
		.response = response,
		.conn = conn,
		.hooks = hooks,
		.settings = settings};
	api_request_fill(&table);
	a->server.api = &table;
	a->handle.api = &table;
	a->handle.server = &a->server;
	request->send_continue = send_continue;
	request->arg = a;
}

void
api_reset(struct api *a)
{
	a->handling = true;
	a->busy = false;
	a->scheme = STR("http");
	a->peer = str_of(a->conn->peer.addr);
	a->peer_port = a->conn->peer.port;
	a->fields = NULL;
	a->trailers = NULL;
}

void
api_end(struct api *a)
{
	a->handling = false;
}
