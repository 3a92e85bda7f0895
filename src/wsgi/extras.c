/*
 * extras.c -- early hints and trailers, which PEP 3333 does not know.
 *
 * Request trailers are part of the body's end, see input.c.
 */
#include "wsgi/extras.h"

#include <errno.h>

#include "wsgi/fault.h"
#include "wsgi/text.h"

static int
read_hint(PyObject *pair, nw_field *f)
{
	if (PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2 &&
		PyUnicode_Check(PyTuple_GET_ITEM(pair, 0)) &&
		PyUnicode_Check(PyTuple_GET_ITEM(pair, 1)) &&
		text_pair(pair, &f->name, &f->value))
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
early_hints(PyObject *self, PyObject *headers)
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
	return Py_NewRef(Py_None);
}

/* 0 or the errno */
static int
give_trailer(nw_request *r, PyObject *n, PyObject *v)
{
	nw_str name, value;

	if (!text_bytes(n, &name) || !text_bytes(v, &value))
		return EINVAL;
	return nw_add_trailer(r, name, value) == -1 ? errno : 0;
}

static PyObject *
add_trailer(PyObject *self, PyObject *args)
{
	struct start *s = (struct start *)self;
	PyObject *name, *value;
	nw_request *r;
	int err;

	if (!PyArg_ParseTuple(args, "UU:add_trailer", &name, &value) ||
		!start_check(s, "a trailer"))
		return NULL;
	r = gate_enter(&s->r);
	if (!r)
		return NULL;
	err = give_trailer(r, name, value);
	s->has_trailers = true;
	gate_leave();
	if (!err)
		return Py_NewRef(Py_None);
	if (err == EINVAL)
		PyErr_Format(PyExc_ValueError, "add_trailer: (%R, %R) refused",
			name, value);
	else
		fault_raise(err);
	return NULL;
}

PyMethodDef extras_early_hints_def = {"early_hints", early_hints, METH_O,
	"early_hints([(name, value), ...]): send 103."};

PyMethodDef extras_add_trailer_def = {"add_trailer", add_trailer, METH_VARARGS,
	"add_trailer(name, value): sent after the body."};
