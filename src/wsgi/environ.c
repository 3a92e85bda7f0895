/*
 * environ.c -- the environ of PEP 3333.
 *
 * One dict, `base`, has all that every environ has; before each request the
 * entries that differ from the last one's are put right, then it is copied
 * and the header fields are added to the copy.  So what stays the same from
 * one request to the next (method, addresses, often the path) costs a
 * comparison, and applications may do with their copy what they like.
 */
#include "wsgi/environ.h"

#include <stdio.h>

#include "wsgi/errors.h"
#include "wsgi/names.h"
#include "wsgi/text.h"

/* Values up to this length are kept to be used again. */
#define VALUE_KEPT_MAX 1024

enum var {
	METHOD,
	PATH_INFO,
	QUERY_STRING,
	REQUEST_URI,
	RAW_URI,
	PROTOCOL,
	SERVER_NAME,
	SERVER_PORT,
	REMOTE_ADDR,
	REMOTE_PORT,
	URL_SCHEME,
	VARS
};

static struct {
	const char *name;
	PyObject *key;
	PyObject *value; /* borrowed from base */
	int port; /* the value as a number, where it was given as one */
} vars[VARS] = {
	[METHOD] = {"REQUEST_METHOD", NULL, NULL, 0},
	[PATH_INFO] = {"PATH_INFO", NULL, NULL, 0},
	[QUERY_STRING] = {"QUERY_STRING", NULL, NULL, 0},
	[REQUEST_URI] = {"REQUEST_URI", NULL, NULL, 0},
	[RAW_URI] = {"RAW_URI", NULL, NULL, 0},
	[PROTOCOL] = {"SERVER_PROTOCOL", NULL, NULL, 0},
	[SERVER_NAME] = {"SERVER_NAME", NULL, NULL, 0},
	[SERVER_PORT] = {"SERVER_PORT", NULL, NULL, 0},
	[REMOTE_ADDR] = {"REMOTE_ADDR", NULL, NULL, 0},
	[REMOTE_PORT] = {"REMOTE_PORT", NULL, NULL, 0},
	[URL_SCHEME] = {"wsgi.url_scheme", NULL, NULL, 0},
};

static PyObject *base, *content_length, *comma, *semicolon;

/* ---- base ---- */

int
environ_set(const char *key, PyObject *value)
{
	PyObject *k;
	int r;

	if (!value)
		return -1;
	k = PyUnicode_InternFromString(key);
	if (!k)
		return -1;
	r = PyDict_SetItem(base, k, value);
	Py_DECREF(k);
	return r;
}

static int
set_new(const char *key, PyObject *value)
{
	int r = environ_set(key, value);

	Py_XDECREF(value);
	return r;
}

static int
set_constants(void)
{
	if (set_new("wsgi.version", Py_BuildValue("(ii)", 1, 0)) == -1 ||
		environ_set("wsgi.errors", errors_stream()) == -1 ||
		environ_set("wsgi.multithread", Py_False) == -1 ||
		environ_set("wsgi.multiprocess", Py_True) == -1 ||
		environ_set("wsgi.run_once", Py_False) == -1 ||
		environ_set("wsgi.input_terminated", Py_True) == -1 ||
		set_new("SCRIPT_NAME", PyUnicode_FromString("")) == -1 ||
		set_new("SERVER_SOFTWARE",
			PyUnicode_FromString("narwhal/" NW_VERSION)) == -1)
		return -1;
	return 0;
}

int
environ_open(void)
{
	base = PyDict_New();
	content_length = PyUnicode_InternFromString("CONTENT_LENGTH");
	comma = PyUnicode_FromString(",");
	semicolon = PyUnicode_FromString("; ");
	if (!base || !content_length || !comma || !semicolon)
		return -1;
	for (int i = 0; i < VARS; i++) {
		vars[i].key = PyUnicode_InternFromString(vars[i].name);
		if (!vars[i].key)
			return -1;
	}
	return set_constants();
}

void
environ_close(void)
{
	for (int i = 0; i < VARS; i++) {
		Py_CLEAR(vars[i].key);
		vars[i].value = NULL;
	}
	names_drop();
	Py_CLEAR(base);
	Py_CLEAR(content_length);
	Py_CLEAR(comma);
	Py_CLEAR(semicolon);
}

/* ---- what differs from request to request ---- */

static int
put(enum var v, PyObject *value)
{
	if (!value || PyDict_SetItem(base, vars[v].key, value) == -1)
		return -1;
	vars[v].value = value; /* base holds it now */
	vars[v].port = 0;
	return 0;
}

static int
set_var(enum var v, nw_str s)
{
	PyObject *value;
	int r;

	if (vars[v].value && text_is(vars[v].value, s))
		return 0;
	value = text_new(s);
	r = put(v, value);
	Py_XDECREF(value);
	return r;
}

static int
set_port(enum var v, int port)
{
	char z[12];
	int n;

	if (port == 0)
		return set_var(v, (nw_str){NULL, 0});
	if (vars[v].port == port)
		return 0;
	n = PyOS_snprintf(z, sizeof(z), "%d", port);
	if (set_var(v, (nw_str){z, (size_t)n}) == -1)
		return -1;
	vars[v].port = port;
	return 0;
}

static bool
is_https(nw_request *r)
{
	return nw_scheme(r).len == 5;
}

/* The authority of the request, for a server that is reached by a path. */
static int
set_server_by_host(nw_request *r)
{
	nw_str host = nw_host(r), port = {NULL, 0};
	const char *colon;

	colon = host.len ? memrchr(host.p, ':', host.len) : NULL;
	if (colon && !memchr(colon, ']', host.p + host.len - colon)) {
		port.p = colon + 1;
		port.len = (size_t)(host.p + host.len - port.p);
		host.len = (size_t)(colon - host.p);
	}
	if (!host.len)
		host = nw_str_of("localhost");
	if (!port.len)
		port = nw_str_of(is_https(r) ? "443" : "80");
	if (set_var(SERVER_NAME, host) == -1)
		return -1;
	return set_var(SERVER_PORT, port);
}

/* RFC 3875 4.1.14: an IPv6 address stands in brackets. */
static int
set_server(nw_request *r)
{
	char z[64];
	int port, n;
	nw_str local = nw_local(r, &port);

	if (!port)
		return set_server_by_host(r);
	if (memchr(local.p, ':', local.len)) {
		n = PyOS_snprintf(
			z, sizeof(z), "[%.*s]", (int)local.len, local.p);
		local = (nw_str){z, (size_t)n};
	}
	if (set_var(SERVER_NAME, local) == -1)
		return -1;
	return set_port(SERVER_PORT, port);
}

static int
set_remote(nw_request *r)
{
	int port;
	nw_str peer = nw_peer(r, &port);

	if (set_var(REMOTE_ADDR, peer) == -1)
		return -1;
	return set_port(REMOTE_PORT, port);
}

/* "*" is the target of OPTIONS, no path. */
static nw_str
path_info(nw_request *r)
{
	nw_str path = nw_path(r);

	if (path.len == 1 && path.p[0] == '*')
		path.len = 0;
	return path;
}

/* Two names for the target as it came: one of uWSGI's, one of Gunicorn's. */
static int
set_target(nw_request *r)
{
	if (set_var(REQUEST_URI, nw_target(r)) == -1)
		return -1;
	if (vars[RAW_URI].value == vars[REQUEST_URI].value)
		return 0;
	return put(RAW_URI, vars[REQUEST_URI].value);
}

static nw_str
protocol(nw_request *r)
{
	return nw_str_of(nw_minor_version(r) ? "HTTP/1.1" : "HTTP/1.0");
}

static int
set_vars(nw_request *r)
{
	if (set_var(METHOD, nw_method(r)) == -1 ||
		set_var(PATH_INFO, path_info(r)) == -1 ||
		set_var(QUERY_STRING, nw_query(r)) == -1 ||
		set_target(r) == -1 || set_var(PROTOCOL, protocol(r)) == -1 ||
		set_var(URL_SCHEME, nw_scheme(r)) == -1)
		return -1;
	if (set_server(r) == -1)
		return -1;
	return set_remote(r);
}

/* ---- header fields ---- */

static PyObject *
value_of(struct name *n, nw_str s)
{
	PyObject *value;

	if (n->value && text_is(n->value, s))
		return Py_NewRef(n->value);
	value = text_new(s);
	if (value && s.len <= VALUE_KEPT_MAX)
		Py_XSETREF(n->value, Py_NewRef(value));
	return value;
}

/* Repeated: what is there already, the separator, and this one. */
static int
join(PyObject *env, const struct name *n, PyObject *first, PyObject *more)
{
	PyObject *between = n->kind == NAME_COOKIE ? semicolon : comma,
		 *all = PyUnicode_FromFormat("%U%U%U", first, between, more);
	int r;

	if (!all)
		return -1;
	r = PyDict_SetItem(env, n->key, all);
	Py_DECREF(all);
	return r;
}

static int
add_value(PyObject *env, struct name *n, nw_str s)
{
	Py_ssize_t before = PyDict_GET_SIZE(env);
	PyObject *value = value_of(n, s), *there;
	int r = -1;

	if (!value)
		return -1;
	there = PyDict_SetDefault(env, n->key, value);
	if (there && PyDict_GET_SIZE(env) > before)
		r = 0;
	else if (there)
		r = join(env, n, there, value);
	Py_DECREF(value);
	return r;
}

static int
add_length(PyObject *env, nw_request *r)
{
	int64_t length = nw_content_length(r);
	PyObject *value;
	int failed;

	if (length == -1)
		return 0;
	value = PyUnicode_FromFormat("%lld", (long long)length);
	if (!value)
		return -1;
	failed = PyDict_SetItem(env, content_length, value);
	Py_DECREF(value);
	return failed;
}

static int
add_field(PyObject *env, nw_request *r, const nw_field *f)
{
	struct name *n = names_get(f->name);

	if (!n)
		return -1;
	switch (n->kind) {
	case NAME_DROPPED:
		return 0;
	case NAME_LENGTH:
		return add_length(env, r);
	default:
		return add_value(env, n, f->value);
	}
}

PyObject *
environ_new(nw_request *r)
{
	PyObject *env;
	const nw_field *f;
	size_t n;

	if (set_vars(r) == -1)
		return NULL;
	env = PyDict_Copy(base);
	f = nw_fields(r, &n);
	for (size_t i = 0; env && i < n; i++) {
		if (add_field(env, r, &f[i]) == -1)
			Py_CLEAR(env);
	}
	return env;
}
