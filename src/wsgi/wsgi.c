/*
 * wsgi.c -- the WSGI gateway: a narwhal application that calls Python ones.
 *
 * open starts the interpreter and finds the application; handle calls it once
 * a request, as PEP 3333 has it.  The Python objects that go with a request
 * (start_response, wsgi.input and bound functions) are a set: it is used again
 * for the next request unless the application has kept one of them.
 *
 * The main thread holds the interpreter lock whenever the server is not
 * waiting (gate.h).
 */
#include "wsgi/environ.h"
#include "wsgi/errors.h"
#include "wsgi/extras.h"
#include "wsgi/fault.h"
#include "wsgi/file.h"
#include "wsgi/gate.h"
#include "wsgi/input.h"
#include "wsgi/interp.h"
#include "wsgi/load.h"
#include "wsgi/send.h"
#include "wsgi/start.h"
#include "wsgi/text.h"
#include "wsgi/write.h"

struct set {
	struct start *start;
	struct input *input;
	PyObject *write;
	PyObject *early_hints;
	PyObject *add_trailer;
	PyObject *trailers;
};

static PyObject *app;
static struct set set;

/* ---- the set ---- */

static PyObject *
bind(struct start *s, PyMethodDef *def)
{
	return PyCFunction_New(def, (PyObject *)s);
}

static int
set_make(struct set *k)
{
	k->start = start_new();
	k->input = input_new();
	if (!k->start || !k->input)
		return -1;
	k->write = bind(k->start, &write_def);
	k->early_hints = bind(k->start, &extras_early_hints_def);
	k->add_trailer = bind(k->start, &extras_add_trailer_def);
	k->trailers = input_trailers_function(k->input);
	k->start->write = k->write;
	if (!k->write ||
		environ_set("wsgi.early_hints", k->early_hints) == -1 ||
		environ_set("narwhal.add_trailer", k->add_trailer) == -1 ||
		environ_set("narwhal.trailers", k->trailers) == -1)
		return -1;
	return environ_set("wsgi.input", (PyObject *)k->input);
}

static void
set_drop(struct set *k)
{
	if (k->start)
		k->start->write = NULL;
	Py_CLEAR(k->write);
	Py_CLEAR(k->early_hints);
	Py_CLEAR(k->add_trailer);
	Py_CLEAR(k->trailers);
	Py_CLEAR(k->start);
	Py_CLEAR(k->input);
}

/*
 * Does only the gateway hold it?  Each is referred to by the set itself, by
 * the environ's base (write and start are not in it), and start and input by
 * the functions that are bound to them.
 */
static bool
set_is_ours(const struct set *k)
{
	return k->start && Py_REFCNT(k->start) == 4 &&
		Py_REFCNT(k->input) == 3 && Py_REFCNT(k->write) == 1 &&
		Py_REFCNT(k->early_hints) == 2 &&
		Py_REFCNT(k->add_trailer) == 2 && Py_REFCNT(k->trailers) == 2;
}

static bool
is_head(nw_str method)
{
	return method.len == 4 && memcmp(method.p, "HEAD", 4) == 0;
}

static int
set_attach(struct set *k, nw_request *r)
{
	if (!set_is_ours(k)) {
		set_drop(k);
		if (set_make(k) == -1)
			return -1;
	}
	start_attach(k->start, r, is_head(nw_method(r)));
	input_attach(k->input, r);
	return 0;
}

/* Threads of the application that are inside the server finish first. */
static void
set_detach(struct set *k)
{
	gate_seize();
	if (k->start)
		k->start->r = NULL;
	if (k->input)
		input_attach(k->input, NULL);
	gate_leave();
}

/* ---- open ---- */

/* What environ shows of the settings in force; narwhal-wsgi(7). */
static const char *const shown[] = {"workers", "worker-connections",
	"keepalive", "max-requests", "input-block-size",
	"outgoing-body-buffer-chunks", "outgoing-body-chunk-size",
	"outgoing-flush-delay", "header-timeout", "body-timeout",
	"send-timeout", "timeout", "graceful-timeout", "request-head",
	"request-line", "request-fields", "request-field-size", "request-body"};

static int
dict_set(PyObject *dict, const char *name, const char *value)
{
	PyObject *o = PyUnicode_DecodeFSDefault(value);
	int r;

	if (!o)
		return -1;
	r = PyDict_SetItemString(dict, name, o);
	Py_DECREF(o);
	return r;
}

static int
set_settings(nw_server *s)
{
	PyObject *dict = PyDict_New();
	int r = dict ? 0 : -1;

	for (size_t i = 0; r == 0 && i < sizeof(shown) / sizeof(*shown); i++) {
		const char *value = nw_setting(s, shown[i]);

		if (value)
			r = dict_set(dict, shown[i], value);
	}
	if (r == 0)
		r = environ_set("narwhal.settings", dict);
	Py_XDECREF(dict);
	return r;
}

static int
set_options(nw_server *s)
{
	PyObject *dict = PyDict_New();
	const char *name, *value;
	int r = dict ? 0 : -1;

	for (size_t i = 0; r == 0 && nw_option_at(s, i, &name, &value) == 0;
		i++)
		r = dict_set(dict, name, value);
	if (r == 0)
		r = environ_set("narwhal.options", dict);
	Py_XDECREF(dict);
	return r;
}

/* All that needs the interpreter; -1 with an exception. */
static int
set_up(nw_server *s)
{
	if (errors_open(s) == -1 || gate_open(s) == -1 ||
		start_type_ready() == -1 || input_type_ready() == -1 ||
		environ_open() == -1 ||
		environ_set("wsgi.file_wrapper", file_type_ready()) == -1)
		return -1;
	return set_settings(s) == -1 || set_options(s) == -1 ? -1 : 0;
}

static int
wsgi_open(nw_server *s, void **ret_state)
{
	*ret_state = NULL;
	if (interp_open(s) == -1)
		return -1;
	/* the exceptions' module, so that handle can tell them */
	Py_XDECREF(PyImport_ImportModule("narwhal"));
	if (PyErr_Occurred() || set_up(s) == -1) {
		PyErr_Print();
		return -1;
	}
	app = load_app(nw_setting(s, "app"));
	return app ? 0 : -1;
}

/* ---- handle ---- */

static int
call(struct set *k, nw_request *r, PyObject **ret_env)
{
	PyObject *args[3], *result;
	int failed;

	*ret_env = environ_new(r);
	if (!*ret_env)
		return -1;
	args[1] = *ret_env;
	args[2] = (PyObject *)k->start;
	result = PyObject_Vectorcall(
		app, args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
	if (!result)
		return -1;
	failed = send_result(k->start, result);
	send_close(result);
	Py_DECREF(result);
	return failed;
}

/* A client that left is nobody's mistake; all else is the application's. */
static void
log_failure(nw_request *r)
{
	nw_str method = nw_method(r), target = nw_target(r);
	char what[600];

	if (fault_is_set()) {
		PyErr_Clear();
		errors_say(NW_INFO, "%.*s %.*s: the request was cut short",
			(int)method.len, method.p, (int)target.len, target.p);
		return;
	}
	PyOS_snprintf(what, sizeof(what),
		"%.*s %.*s:", method.len > 40 ? 40 : (int)method.len, method.p,
		target.len > 500 ? 500 : (int)target.len, target.p);
	errors_log(what);
}

static int
wsgi_handle(nw_request *r, void *state)
{
	PyObject *env = NULL;
	int failed;

	(void)state;
	failed = set_attach(&set, r);
	if (!failed)
		failed = call(&set, r, &env);
	set_detach(&set);
	if (failed)
		log_failure(r);
	Py_XDECREF(env);
	return failed;
}

static void
wsgi_close(nw_server *s, void *state)
{
	(void)s, (void)state;
	set_drop(&set);
	Py_CLEAR(app);
	environ_close();
	interp_close();
	gate_close();
}

const nw_app narwhal_app = {
	NW_APP_ABI,
	.open = wsgi_open,
	.handle = wsgi_handle,
	.close = wsgi_close,
};
