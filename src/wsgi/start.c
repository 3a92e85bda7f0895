/*
 * start.c -- start_response, write() and what else speaks of the response.
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

/* Longer bytes objects are not copied but kept until they are sent. */
#define KEEP_MIN 4096

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
check_header_types(PyObject *headers)
{
	if (!PyList_Check(headers)) {
		PyErr_Format(PyExc_TypeError,
			"start_response: headers must be a list, not %.100s",
			Py_TYPE(headers)->tp_name);
		return -1;
	}
	for (Py_ssize_t i = 0; i < PyList_GET_SIZE(headers); i++) {
		PyObject *h = PyList_GET_ITEM(headers, i);

		if (PyTuple_Check(h) && PyTuple_GET_SIZE(h) == 2 &&
			PyUnicode_Check(PyTuple_GET_ITEM(h, 0)) &&
			PyUnicode_Check(PyTuple_GET_ITEM(h, 1)))
			continue;
		PyErr_Format(PyExc_TypeError,
			"start_response: header %zd must be a tuple (str, str), "
			"not %R",
			i, h);
		return -1;
	}
	return 0;
}

/* Name and value of a checked header; false if one is not latin-1. */
static bool
header_bytes(PyObject *h, nw_str *ret_name, nw_str *ret_value)
{
	return text_bytes(PyTuple_GET_ITEM(h, 0), ret_name) &&
		text_bytes(PyTuple_GET_ITEM(h, 1), ret_value);
}

/* Give all to the server.  Returns the one that was refused, or NULL. */
static PyObject *
add_headers(struct start *s, nw_request *r, PyObject *headers)
{
	for (Py_ssize_t i = 0; i < PyList_GET_SIZE(headers); i++) {
		PyObject *h = PyList_GET_ITEM(headers, i);
		nw_str name, value;

		if (!header_bytes(h, &name, &value) ||
			r->api->add_field(r, name, value) == -1)
			return h;
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

	if (!header_bytes(header, &name, &value))
		why = "it is not latin-1";
	else if (is_hop_by_hop(name))
		why = "hop-by-hop fields are the server's";
	else if (text_eq_nocase(name, "content-length"))
		why = "it is no length, or there is another one";
	PyErr_Format(PyExc_ValueError, "start_response: header %R refused: %s",
		header, why);
}

/* ---- start_response ---- */

/* exc_info without exception is like none; else a tuple of three. */
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

/* May it be (re)started?  PEP 3333, "The start_response() Callable". */
static int
check_turn(struct start *s, nw_request *r, PyObject *exc_info)
{
	if (exc_info && nw_is_committed(r)) {
		raise_again(exc_info);
		return -1;
	}
	if (!exc_info && s->started) {
		PyErr_SetString(PyExc_AssertionError,
			"start_response was called twice without exc_info");
		return -1;
	}
	return 0;
}

static bool
may_have_body(const struct start *s, int code)
{
	return !s->head_only && code != 204 && code != 304;
}

static int
start(struct start *s, PyObject *status, PyObject *headers, PyObject *exc_info)
{
	PyObject *refused = NULL;
	const char *reason;
	nw_request *r;
	int code, err = 0;

	if (check_exc_info(&exc_info) == -1 ||
		check_status(status, &code, &reason) == -1 ||
		check_header_types(headers) == -1)
		return -1;
	r = gate_enter(&s->r);
	if (!r)
		return -1;
	gate_leave();
	if (check_turn(s, r, exc_info) == -1)
		return -1;
	if (!gate_enter(&s->r))
		return -1;
	s->started = false;
	s->length = -1;
	if (nw_start(r, code, reason) == -1)
		err = errno;
	else
		refused = add_headers(s, r, headers);
	gate_leave();
	if (err)
		fault_raise(err);
	if (refused)
		raise_refused(refused);
	if (err || refused)
		return -1;
	s->has_body = may_have_body(s, code);
	s->started = true;
	return 0;
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

/* ---- the body ---- */

static void
release_bytes(void *arg)
{
	Py_DECREF((PyObject *)arg);
}

/* 0, or the errno. */
static int
hand_over(nw_request *r, PyObject *bytes, size_t n)
{
	const char *p = PyBytes_AS_STRING(bytes);
	int failed;

	if (n < KEEP_MIN || !PyBytes_CheckExact(bytes))
		failed = nw_write(r, p, n);
	else
		failed = nw_write_release(
			r, p, n, release_bytes, Py_NewRef(bytes));
	return failed ? errno : 0;
}

/* The client's end of it is no failure of the application's. */
static enum sent
outcome(int err)
{
	if (!err)
		return SENT;
	fault_raise(err);
	if (err != EMSGSIZE && !fault_is_set())
		return SENT_FAILED;
	PyErr_Clear();
	return SENT_ENOUGH;
}

static bool
check_started(const struct start *s, const char *what)
{
	if (s->started)
		return true;
	PyErr_Format(PyExc_AssertionError,
		"%s was given before start_response was called", what);
	return false;
}

static int
check_bytes(PyObject *o)
{
	if (PyBytes_Check(o))
		return 0;
	PyErr_Format(PyExc_TypeError, "the body must be bytes, not %.100s: %R",
		Py_TYPE(o)->tp_name, o);
	return -1;
}

/* Into the server with it; the errno, or -1 with an exception. */
static int
send_bytes(struct start *s, PyObject *bytes)
{
	size_t n = (size_t)PyBytes_GET_SIZE(bytes);
	nw_request *r;
	int err;

	if (!check_started(s, "a body"))
		return -1;
	r = gate_enter(&s->r);
	if (!r)
		return -1;
	err = hand_over(r, bytes, n);
	s->sent += (int64_t)n;
	gate_leave();
	return err;
}

enum sent
start_send(struct start *s, PyObject *bytes)
{
	int err;

	if (check_bytes(bytes) == -1)
		return SENT_FAILED;
	if (PyBytes_GET_SIZE(bytes) == 0)
		return SENT;
	err = send_bytes(s, bytes);
	if (err == -1)
		return SENT_FAILED;
	return !err && !s->has_body ? SENT_ENOUGH : outcome(err);
}

enum sent
start_set_length(struct start *s, int64_t length)
{
	char z[24];
	nw_request *r;
	int n;

	if (s->length != -1 || s->sent || s->has_trailers || !s->started ||
		(!s->has_body && !s->head_only))
		return SENT;
	n = PyOS_snprintf(z, sizeof(z), "%lld", (long long)length);
	r = gate_enter(&s->r);
	if (!r)
		return SENT_FAILED;
	s->length = length;
	r->api->add_field(
		r, (nw_str){"Content-Length", 14}, (nw_str){z, (size_t)n});
	gate_leave();
	return SENT;
}

enum sent
start_send_file(struct start *s, int fd, off_t offset, int64_t n)
{
	nw_request *r;
	int err;

	if (!check_started(s, "a body"))
		return SENT_FAILED;
	if (!s->has_body || n == 0)
		return SENT_ENOUGH;
	r = gate_enter(&s->r);
	if (!r)
		return SENT_FAILED;
	err = nw_send_file(r, fd, offset, (size_t)n) == -1 ? errno : 0;
	s->sent += n;
	gate_leave();
	return outcome(err);
}

static PyObject *
start_write(PyObject *self, PyObject *bytes)
{
	int err = 0;

	if (check_bytes(bytes) == -1)
		return NULL;
	if (PyBytes_GET_SIZE(bytes) > 0)
		err = send_bytes((struct start *)self, bytes);
	if (err > 0)
		fault_raise(err);
	if (err)
		return NULL;
	Py_RETURN_NONE;
}

/* ---- early hints and trailers ---- */

static int
read_hint(PyObject *pair, nw_field *f)
{
	if (PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2 &&
		PyUnicode_Check(PyTuple_GET_ITEM(pair, 0)) &&
		PyUnicode_Check(PyTuple_GET_ITEM(pair, 1)) &&
		header_bytes(pair, &f->name, &f->value))
		return 0;
	PyErr_Format(PyExc_TypeError,
		"early_hints: expected a list of tuples (str, str), found %R",
		pair);
	return -1;
}

static int
send_hints(struct start *s, const nw_field *f, Py_ssize_t n)
{
	nw_request *r = gate_enter(&s->r);
	int err = 0;

	if (!r)
		return -1;
	if (!nw_is_committed(r) && nw_send_early_hints(r, f, (size_t)n) == -1)
		err = errno;
	gate_leave();
	if (err == EINVAL)
		PyErr_SetString(
			PyExc_ValueError, "early_hints: a header was refused");
	else if (err)
		fault_raise(err);
	return err ? -1 : 0;
}

static PyObject *
start_early_hints(PyObject *self, PyObject *headers)
{
	PyObject *pairs = PySequence_Tuple(headers);
	nw_field *f = NULL;
	Py_ssize_t n, i;
	int failed = -1;

	if (!pairs)
		return NULL;
	n = PyTuple_GET_SIZE(pairs);
	f = PyMem_New(nw_field, n ? n : 1);
	for (i = 0; f && i < n; i++) {
		if (read_hint(PyTuple_GET_ITEM(pairs, i), &f[i]) == -1)
			break;
	}
	if (!f)
		PyErr_NoMemory();
	else if (i == n)
		failed = send_hints((struct start *)self, f, n);
	PyMem_Free(f);
	Py_DECREF(pairs);
	if (failed)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *
start_add_trailer(PyObject *self, PyObject *args)
{
	struct start *s = (struct start *)self;
	PyObject *n, *v;
	nw_str name, value;
	nw_request *r;
	int err;

	if (!PyArg_ParseTuple(args, "UU:add_trailer", &n, &v) ||
		!check_started(s, "a trailer"))
		return NULL;
	r = gate_enter(&s->r);
	if (!r)
		return NULL;
	err = !text_bytes(n, &name) || !text_bytes(v, &value) ? EINVAL
		: nw_add_trailer(r, name, value) == -1	      ? errno
							      : 0;
	s->has_trailers = true;
	gate_leave();
	if (!err)
		Py_RETURN_NONE;
	if (err == EINVAL)
		PyErr_Format(PyExc_ValueError, "add_trailer: (%R, %R) refused",
			n, v);
	else
		fault_raise(err);
	return NULL;
}

/* ---- the object ---- */

static PyMethodDef functions[] = {
	{"write", start_write, METH_O, "write(bytes): part of the body."},
	{"early_hints", start_early_hints, METH_O,
		"early_hints([(name, value), ...]): send 103."},
	{"add_trailer", start_add_trailer, METH_VARARGS,
		"add_trailer(name, value): sent after the body."},
	{NULL, NULL, 0, NULL},
};

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

PyObject *
start_function(struct start *s, const char *name)
{
	PyMethodDef *f = functions;

	while (strcmp(f->ml_name, name) != 0)
		f++;
	return PyCFunction_New(f, (PyObject *)s);
}

void
start_attach(struct start *s, nw_request *r, bool head_only)
{
	s->r = r;
	s->started = false;
	s->head_only = head_only;
	s->has_body = !head_only;
	s->has_trailers = false;
	s->length = -1;
	s->sent = 0;
}
