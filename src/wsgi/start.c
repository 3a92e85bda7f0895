/*
 * start.c -- start_response.
 *
 * Status and fields go to the server at once; it keeps them until the first
 * byte of the body, so a second call with exc_info can still replace them.
 * Types are checked here; tokens, control bytes, hop-by-hop fields and lengths
 * by the server, so that C applications have the same rules.  Exceptions are
 * raised outside the gate, for they may run Python code.
 */
#include "wsgi/start.h"

#include <errno.h>
#include <stdlib.h>

#include "wsgi/fault.h"
#include "wsgi/text.h"

/* ---- status ---- */

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* `200 OK`, `200 ` or `200` */
static bool
read_status(nw_str s, int *ret_code)
{
	if (s.len < 3 || !is_digit(s.p[0]) || !is_digit(s.p[1]) ||
		!is_digit(s.p[2]) || (s.len > 3 && s.p[3] != ' '))
		return false;
	for (size_t i = 3; i < s.len; i++) {
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
			return false;
	}
	*ret_code = (s.p[0] - '0') * 100 + (s.p[1] - '0') * 10 + s.p[2] - '0';
	return *ret_code >= 200 && *ret_code <= 599;
}

static int
check_status(PyObject *status, int *ret_code, const char **ret_reason)
{
	nw_str s;

	if (!PyUnicode_Check(status)) {
		PyErr_Format(PyExc_TypeError,
			"start_response: status must be str, not %.100s",
			Py_TYPE(status)->tp_name);
		return -1;
	}
	if (!text_bytes(status, &s) || !read_status(s, ret_code)) {
		PyErr_Format(PyExc_ValueError,
			"start_response: status %R is not of the form '200 OK'",
			status);
		return -1;
	}
	*ret_reason = s.len > 3 ? s.p + 4 : NULL;
	return 0;
}

/* ---- header fields ---- */

static int
check_list(PyObject *headers)
{
	if (PyList_Check(headers))
		return 0;
	PyErr_Format(PyExc_TypeError,
		"start_response: headers must be a list, not %.100s",
		Py_TYPE(headers)->tp_name);
	return -1;
}

static bool
is_header(PyObject *h)
{
	return PyTuple_Check(h) && PyTuple_GET_SIZE(h) == 2 &&
		PyUnicode_Check(PyTuple_GET_ITEM(h, 0)) &&
		PyUnicode_Check(PyTuple_GET_ITEM(h, 1));
}

/* Give all to the server.  Returns the one that was refused, or NULL. */
static PyObject *
add_headers(struct start *s, nw_request *r, PyObject *headers)
{
	for (Py_ssize_t i = 0; i < PyList_GET_SIZE(headers); i++) {
		PyObject *h = PyList_GET_ITEM(headers, i);
		nw_str name, value;

		if (!is_header(h) || !text_pair(h, &name, &value) ||
			r->api->add_field(r, name, value) == -1)
			return Py_NewRef(h);
		if (name.len == 14 && text_eq_nocase(name, "content-length"))
			s->length = strtoll(value.p, NULL, 10);
	}
	return NULL;
}

static bool
is_hop_by_hop(nw_str name)
{
	static const char *const names[] = {"connection", "keep-alive",
		"proxy-connection", "te", "trailer", "trailers",
		"transfer-encoding", "upgrade"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (text_eq_nocase(name, names[i]))
			return true;
	}
	return false;
}

static void
raise_refused(PyObject *header)
{
	const char *why = "it has characters a header must not have";
	nw_str name, value;

	if (!is_header(header)) {
		PyErr_Format(PyExc_TypeError,
			"start_response: a header must be a tuple (str, str), "
			"not %R",
			header);
		return;
	}
	if (!text_pair(header, &name, &value))
		why = "it is not latin-1";
	else if (is_hop_by_hop(name))
		why = "hop-by-hop fields are the server's";
	else if (text_eq_nocase(name, "content-length"))
		why = "it is no length, or there is another one";
	PyErr_Format(PyExc_ValueError, "start_response: header %R refused: %s",
		header, why);
}

/* ---- start_response ---- */

/* None is like none; else it is a tuple of three. */
static int
check_exc_info(PyObject **exc_info)
{
	if (!*exc_info || *exc_info == Py_None) {
		*exc_info = NULL;
		return 0;
	}
	if (PyTuple_Check(*exc_info) && PyTuple_GET_SIZE(*exc_info) == 3)
		return 0;
	PyErr_Format(PyExc_TypeError,
		"start_response: exc_info must be a tuple of three, not %R",
		*exc_info);
	return -1;
}

static void
raise_again(PyObject *exc_info)
{
	PyObject *type = PyTuple_GET_ITEM(exc_info, 0),
		 *value = PyTuple_GET_ITEM(exc_info, 1),
		 *tb = PyTuple_GET_ITEM(exc_info, 2);

	if (!PyExceptionInstance_Check(value)) {
		PyErr_Format(PyExc_AssertionError,
			"start_response: the response was sent already (%R)",
			type);
		return;
	}
	if (PyTraceBack_Check(tb))
		PyException_SetTraceback(value, tb);
	PyErr_SetObject((PyObject *)Py_TYPE(value), value);
}

/* PEP 3333, "The start_response() Callable" */
static void
raise_late(PyObject *exc_info)
{
	if (exc_info)
		raise_again(exc_info);
	else
		PyErr_SetString(PyExc_AssertionError,
			"start_response was called twice without exc_info");
}

/* 0, the errno, or -1 and what was refused. */
static int
give(struct start *s, nw_request *r, int code, const char *reason,
	PyObject *headers, PyObject **ret_refused)
{
	s->started = false;
	s->length = -1;
	s->no_content = code == 204 || code == 205 || code == 304;
	if (nw_start(r, code, reason) == -1)
		return errno;
	*ret_refused = add_headers(s, r, headers);
	s->started = !*ret_refused;
	return s->started ? 0 : -1;
}

static int
start(struct start *s, PyObject *status, PyObject *headers, PyObject *exc_info)
{
	PyObject *refused = NULL;
	const char *reason;
	nw_request *r;
	int code, err = 0;
	bool late;

	if (check_exc_info(&exc_info) == -1 ||
		check_status(status, &code, &reason) == -1 ||
		check_list(headers) == -1)
		return -1;
	r = gate_enter(&s->r);
	if (!r)
		return -1;
	late = exc_info ? nw_is_committed(r) : s->started;
	if (!late)
		err = give(s, r, code, reason, headers, &refused);
	gate_leave();
	if (late)
		raise_late(exc_info);
	else if (refused)
		raise_refused(refused);
	else if (err)
		fault_raise(err);
	Py_XDECREF(refused);
	return late || err ? -1 : 0;
}

/* The arguments by position or by name. */
static int
read_arguments(
	PyObject *const *args, Py_ssize_t n, PyObject *names, PyObject *ret[3])
{
	static const char *const known[] = {"status", "headers", "exc_info"};
	Py_ssize_t nnames = names ? PyTuple_GET_SIZE(names) : 0;

	for (Py_ssize_t i = 0; i < n && i < 3; i++)
		ret[i] = args[i];
	for (Py_ssize_t i = 0; i < nnames; i++) {
		PyObject *name = PyTuple_GET_ITEM(names, i);
		int k = 0;

		while (k < 3 &&
			PyUnicode_CompareWithASCIIString(name, known[k]) != 0)
			k++;
		if (k == 3 || ret[k]) {
			PyErr_Format(PyExc_TypeError,
				"start_response: unexpected argument %R", name);
			return -1;
		}
		ret[k] = args[n + i];
	}
	if (n <= 3 && ret[0] && ret[1])
		return 0;
	PyErr_SetString(PyExc_TypeError,
		"start_response(status, headers, exc_info=None)");
	return -1;
}

static PyObject *
start_call(
	PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
	struct start *s = (struct start *)self;
	PyObject *a[3] = {NULL, NULL, NULL};

	if (read_arguments(args, PyVectorcall_NARGS(nargsf), names, a) == -1 ||
		start(s, a[0], a[1], a[2]) == -1)
		return NULL;
	return Py_NewRef(s->write ? s->write : Py_None);
}

bool
start_check(const struct start *s, const char *what)
{
	if (s->started)
		return true;
	PyErr_Format(PyExc_AssertionError,
		"%s was given before start_response was called", what);
	return false;
}

/* ---- the object ---- */

static PyTypeObject start_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "narwhal.StartResponse",
	.tp_basicsize = sizeof(struct start),
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
	.tp_doc = "start_response(status, headers, exc_info=None) -> write",
	.tp_vectorcall_offset = offsetof(struct start, call),
	.tp_call = PyVectorcall_Call,
};

int
start_type_ready(void)
{
	return PyType_Ready(&start_type);
}

struct start *
start_new(void)
{
	struct start *s = PyObject_New(struct start, &start_type);

	if (!s)
		return NULL;
	s->call = start_call;
	s->r = NULL;
	s->write = NULL;
	return s;
}

void
start_attach(struct start *s, nw_request *r, bool head_only)
{
	s->r = r;
	s->started = false;
	s->head_only = head_only;
	s->no_content = false;
	s->has_trailers = false;
	s->length = -1;
	s->sent = 0;
}
