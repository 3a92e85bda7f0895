/*
 * input.c -- wsgi.input.
 *
 * read() of a declared length makes the result once and receives into it; a
 * chunked body grows its result by doubling.  readline and iteration look
 * through a buffer of their own, each byte once.  A body that ends early is
 * an exception (fault.h), never a short result; what was read of it is lost,
 * as it is with any file that fails.
 */
#include "wsgi/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "wsgi/fault.h"
#include "wsgi/text.h"

#define LINE_MAX_AHEAD 65536 /* of the buffer for lines */
#define GROW_MIN 65536 /* first size of a result of unknown length */
#define HUGE_PAGE ((uintptr_t)2 << 20)

/* ---- bytes, inside the gate: 0 or more, or -1 with errno ---- */

/* What readline has read ahead comes first. */
static size_t
take_ahead(struct input *in, char *p, size_t n)
{
	if (n > in->len - in->at)
		n = in->len - in->at;
	if (n)
		memcpy(p, in->line + in->at, n);
	in->at += n;
	return n;
}

/* Some bytes, one receive at most. */
static ssize_t
receive(struct input *in, char *p, size_t n)
{
	ssize_t got;

	if (in->at < in->len)
		return (ssize_t)take_ahead(in, p, n);
	if (in->ended || n == 0)
		return 0;
	got = nw_read(in->r, p, n);
	in->ended = got == 0;
	return got;
}

/* n bytes, fewer only at the end. */
static ssize_t
receive_all(struct input *in, char *p, size_t n)
{
	size_t at = 0;

	while (at < n) {
		ssize_t got = receive(in, p + at, n - at);

		if (got == -1)
			return -1;
		if (got == 0)
			break;
		at += (size_t)got;
	}
	return (ssize_t)at;
}

/* The bytes left, or -1 if that is not known. */
static int64_t
bytes_left(const struct input *in)
{
	int64_t left = in->ended ? 0 : nw_body_left(in->r);

	return left == -1 ? -1 : left + (int64_t)(in->len - in->at);
}

/* ---- results ---- */

static PyObject *
fail(PyObject *bytes, int err)
{
	Py_XDECREF(bytes);
	fault_raise(err);
	return NULL;
}

static PyObject *
empty(void)
{
	return PyBytes_FromStringAndSize(NULL, 0);
}

/*
 * A fresh large object costs a page fault every 4 KiB, which on a virtual
 * machine takes longer than the upload itself; huge pages make it 512 times
 * fewer.  Where the system has none this does nothing.
 */
static void
prefer_huge_pages(char *p, size_t n)
{
	uintptr_t from = ((uintptr_t)p + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	uintptr_t to = ((uintptr_t)p + n) & ~(HUGE_PAGE - 1);

	if (from < to)
		madvise((void *)from, to - from, MADV_HUGEPAGE);
}

/* A result whose size is known before. */
static PyObject *
read_known(struct input *in, size_t n)
{
	PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)n);
	ssize_t got = -1;
	int err;

	if (!bytes)
		return NULL;
	if (n >= 2 * HUGE_PAGE)
		prefer_huge_pages(PyBytes_AS_STRING(bytes), n);
	if (!gate_enter(&in->r)) {
		Py_DECREF(bytes);
		return NULL;
	}
	got = receive_all(in, PyBytes_AS_STRING(bytes), n);
	err = errno;
	gate_leave();
	if (got == -1)
		return fail(bytes, err);
	if ((size_t)got < n)
		_PyBytes_Resize(&bytes, got);
	return bytes;
}

/* At most max bytes of a body that ends nobody knows where. */
static PyObject *
read_growing(struct input *in, size_t max)
{
	size_t cap = max < GROW_MIN ? max : GROW_MIN, len = 0;
	PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)cap);
	ssize_t got;
	int err;

	while (bytes) {
		if (!gate_enter(&in->r)) {
			Py_DECREF(bytes);
			return NULL;
		}
		got = receive_all(
			in, PyBytes_AS_STRING(bytes) + len, cap - len);
		err = errno;
		gate_leave();
		if (got == -1)
			return fail(bytes, err);
		len += (size_t)got;
		if (len < cap || cap == max)
			break;
		cap = cap > max / 2 ? max : cap * 2;
		_PyBytes_Resize(&bytes, (Py_ssize_t)cap);
		if (bytes && cap >= 2 * HUGE_PAGE)
			prefer_huge_pages(PyBytes_AS_STRING(bytes), cap);
	}
	if (bytes && len < cap)
		_PyBytes_Resize(&bytes, (Py_ssize_t)len);
	return bytes;
}

static PyObject *
read_bytes(struct input *in, size_t max)
{
	int64_t left;

	if (max == 0)
		return empty();
	if (!gate_enter(&in->r))
		return NULL;
	left = bytes_left(in);
	gate_leave();
	if (left == 0)
		return empty();
	if (left == -1)
		return read_growing(in, max);
	return read_known(in, (uint64_t)left < max ? (size_t)left : max);
}

/* ---- lines ---- */

/* Fill the line buffer, unless another thread has; as receive(). */
static ssize_t
look_ahead(struct input *in)
{
	ssize_t got;

	if (in->at < in->len)
		return 1;
	if (!in->line)
		in->line = malloc(LINE_MAX_AHEAD);
	if (!in->line) {
		errno = ENOMEM;
		return -1;
	}
	if (in->ended)
		return 0;
	got = nw_read(in->r, in->line, LINE_MAX_AHEAD);
	in->ended = got == 0;
	in->at = 0;
	in->len = got > 0 ? (size_t)got : 0;
	return got;
}

/* How much of the line buffer belongs to the line, and does it end there? */
static size_t
line_part(const struct input *in, size_t max, bool *ret_ends)
{
	size_t n = in->len - in->at;
	const char *p, *end;

	if (n > max)
		n = max;
	p = in->line + in->at;
	end = n ? memchr(p, '\n', n) : NULL;
	*ret_ends = end || n == max;
	return end ? (size_t)(end - p) + 1 : n;
}

/* Put n bytes of the line buffer behind *bytes, of which len are used. */
static int
append(struct input *in, PyObject **bytes, size_t len, size_t n)
{
	size_t cap = *bytes ? (size_t)PyBytes_GET_SIZE(*bytes) : 0;

	if (!*bytes)
		*bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)n);
	else if (len + n > cap)
		_PyBytes_Resize(bytes,
			(Py_ssize_t)(len + n > cap * 2 ? len + n : cap * 2));
	if (!*bytes)
		return -1;
	take_ahead(in, PyBytes_AS_STRING(*bytes) + len, n);
	return 0;
}

/* A line that is not whole in the buffer. */
static PyObject *
read_long_line(struct input *in, size_t max)
{
	PyObject *bytes = NULL;
	size_t len = 0, n;
	bool ends = false;

	while (!ends) {
		if (in->at == in->len) {
			ssize_t got;
			int err;

			if (!gate_enter(&in->r)) {
				Py_XDECREF(bytes);
				return NULL;
			}
			got = look_ahead(in);
			err = errno;
			gate_leave();
			if (got == -1)
				return fail(bytes, err);
			if (got == 0)
				break;
		}
		n = line_part(in, max - len, &ends);
		if (append(in, &bytes, len, n) == -1)
			return NULL;
		len += n;
	}
	if (bytes && len < (size_t)PyBytes_GET_SIZE(bytes))
		_PyBytes_Resize(&bytes, (Py_ssize_t)len);
	return bytes || PyErr_Occurred() ? bytes : empty();
}

static PyObject *
read_line(struct input *in, size_t max)
{
	PyObject *bytes;
	bool ends;
	size_t n;

	if (max == 0)
		return empty();
	if (in->at == in->len)
		return read_long_line(in, max);
	n = line_part(in, max, &ends);
	if (!ends)
		return read_long_line(in, max);
	bytes = PyBytes_FromStringAndSize(in->line + in->at, (Py_ssize_t)n);
	in->at += n;
	return bytes;
}

/* ---- the methods ---- */

/* The optional size: None, absent and negative mean all there is. */
static int
read_size(const char *name, PyObject *const *args, Py_ssize_t n, size_t *ret)
{
	Py_ssize_t size = -1;

	if (n > 1) {
		PyErr_Format(PyExc_TypeError,
			"%s expected at most 1 argument, got %zd", name, n);
		return -1;
	}
	if (n == 1 && args[0] != Py_None) {
		size = PyNumber_AsSsize_t(args[0], NULL);
		if (size == -1 && PyErr_Occurred())
			return -1;
	}
	*ret = size < 0 ? PY_SSIZE_T_MAX : (size_t)size;
	return 0;
}

static PyObject *
input_read(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
	size_t max;

	if (read_size("read", args, n, &max) == -1)
		return NULL;
	return read_bytes((struct input *)self, max);
}

static PyObject *
input_readline(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
	size_t max;

	if (read_size("readline", args, n, &max) == -1)
		return NULL;
	return read_line((struct input *)self, max);
}

/* The next line, or NULL; at the end without an exception. */
static PyObject *
input_next(PyObject *self)
{
	PyObject *line = read_line((struct input *)self, PY_SSIZE_T_MAX);

	if (line && PyBytes_GET_SIZE(line) == 0)
		Py_CLEAR(line);
	return line;
}

static PyObject *
input_readlines(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
	PyObject *lines, *line;
	size_t hint, total = 0;

	if (read_size("readlines", args, n, &hint) == -1)
		return NULL;
	if (hint == 0)
		hint = PY_SSIZE_T_MAX;
	lines = PyList_New(0);
	while (lines && total < hint && (line = input_next(self))) {
		total += (size_t)PyBytes_GET_SIZE(line);
		if (PyList_Append(lines, line) == -1)
			Py_CLEAR(lines);
		Py_DECREF(line);
	}
	if (PyErr_Occurred())
		Py_CLEAR(lines);
	return lines;
}

/* Some bytes into a buffer, as of a raw file; 0 at the end. */
static PyObject *
input_readinto(PyObject *self, PyObject *arg)
{
	struct input *in = (struct input *)self;
	Py_buffer b;
	ssize_t got;
	int err;

	if (PyObject_GetBuffer(arg, &b, PyBUF_WRITABLE) == -1)
		return NULL;
	if (!gate_enter(&in->r)) {
		PyBuffer_Release(&b);
		return NULL;
	}
	got = receive(in, b.buf, (size_t)b.len);
	err = errno;
	gate_leave();
	PyBuffer_Release(&b);
	if (got == -1)
		return fail(NULL, err);
	return PyLong_FromSsize_t(got);
}

static PyObject *
pair_of(const nw_field *f)
{
	PyObject *name = text_new(f->name), *value = text_new(f->value),
		 *pair = NULL;

	if (name && value)
		pair = PyTuple_Pack(2, name, value);
	Py_XDECREF(name);
	Py_XDECREF(value);
	return pair;
}

/* The trailer fields as a list; empty until the body has been read. */
static PyObject *
input_trailers(PyObject *self, PyObject *none)
{
	struct input *in = (struct input *)self;
	PyObject *list = PyList_New(0);
	const nw_field *f;
	nw_request *r;
	size_t n = 0;

	(void)none;
	r = list ? gate_enter(&in->r) : NULL;
	if (!r) {
		Py_XDECREF(list);
		return NULL;
	}
	f = nw_trailers(r, &n);
	gate_leave();
	for (size_t i = 0; list && i < n; i++) {
		PyObject *pair = pair_of(&f[i]);

		if (!pair || PyList_Append(list, pair) == -1)
			Py_CLEAR(list);
		Py_XDECREF(pair);
	}
	return list;
}

/* ---- the object ---- */

static PyMethodDef input_methods[] = {
	{"read", (PyCFunction)(void (*)(void))input_read, METH_FASTCALL,
		"read(size=-1): size bytes, fewer only at the body's end."},
	{"readline", (PyCFunction)(void (*)(void))input_readline, METH_FASTCALL,
		"readline(size=-1): to the next newline."},
	{"readlines", (PyCFunction)(void (*)(void))input_readlines,
		METH_FASTCALL, "readlines(hint=-1): a list of lines."},
	{"readinto", input_readinto, METH_O,
		"readinto(buffer): what is there, waiting for the first byte."},
	{NULL, NULL, 0, NULL},
};

static PyMethodDef trailers_def = {"trailers", input_trailers, METH_NOARGS,
	"trailers(): the request's trailer fields, once the body was read."};

static void
input_dealloc(PyObject *self)
{
	free(((struct input *)self)->line);
	PyObject_Free(self);
}

static PyTypeObject input_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "narwhal.Input",
	.tp_basicsize = sizeof(struct input),
	.tp_flags = Py_TPFLAGS_DEFAULT,
	.tp_doc = "The request body.",
	.tp_dealloc = input_dealloc,
	.tp_iter = PyObject_SelfIter,
	.tp_iternext = input_next,
	.tp_methods = input_methods,
};

int
input_type_ready(void)
{
	return PyType_Ready(&input_type);
}

struct input *
input_new(void)
{
	struct input *in = PyObject_New(struct input, &input_type);

	if (!in)
		return NULL;
	in->line = NULL;
	input_attach(in, NULL);
	return in;
}

void
input_attach(struct input *in, nw_request *r)
{
	in->r = r;
	in->at = in->len = 0;
	in->ended = false;
}

PyObject *
input_trailers_function(struct input *in)
{
	return PyCFunction_New(&trailers_def, (PyObject *)in);
}
