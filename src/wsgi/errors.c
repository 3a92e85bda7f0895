/*
 * errors.c -- wsgi.errors, sys.stdout and sys.stderr, and tracebacks.
 *
 * What the application prints reaches the error log as it is, a line in one
 * write(2), before the call returns: nothing is lost when the worker dies.
 * Text with any code point is taken.  As everywhere in the server nothing
 * fails because of its log, so LogFile, the file below the text stream,
 * swallows what the kernel says, and closing it does nothing.
 */
#include "wsgi/errors.h"

#include <errno.h> /* TEMP_FAILURE_RETRY */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static nw_server *server;
static PyObject *stream;
static PyObject *format_exception; /* of the module traceback */

/* ---- LogFile ---- */

static PyObject *
log_write(PyObject *self, PyObject *arg)
{
	int fd = nw_log_fd(server);
	Py_buffer b;
	Py_ssize_t at = 0;

	(void)self;
	if (PyObject_GetBuffer(arg, &b, PyBUF_SIMPLE) == -1)
		return NULL;
	Py_BEGIN_ALLOW_THREADS while (at < b.len)
	{
		ssize_t n = TEMP_FAILURE_RETRY(
			write(fd, (char *)b.buf + at, b.len - at));

		if (n == -1)
			break;
		at += n;
	}
	Py_END_ALLOW_THREADS at = b.len;
	PyBuffer_Release(&b);
	return PyLong_FromSsize_t(at);
}

static PyObject *
log_fileno(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	return PyLong_FromLong(nw_log_fd(server));
}

static PyObject *
log_isatty(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	return PyBool_FromLong(isatty(nw_log_fd(server)));
}

static PyObject *
say_true(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	return Py_NewRef(Py_True);
}

static PyObject *
say_false(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	return Py_NewRef(Py_False);
}

static PyObject *
say_nothing(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	return Py_NewRef(Py_None);
}

static PyObject *
get_closed(PyObject *self, void *arg)
{
	(void)self, (void)arg;
	return Py_NewRef(Py_False);
}

static PyObject *
get_name(PyObject *self, void *arg)
{
	(void)self, (void)arg;
	return PyUnicode_FromString("<error-log>");
}

static PyMethodDef log_methods[] = {
	{"write", log_write, METH_O, NULL},
	{"fileno", log_fileno, METH_NOARGS, NULL},
	{"isatty", log_isatty, METH_NOARGS, NULL},
	{"writable", say_true, METH_NOARGS, NULL},
	{"readable", say_false, METH_NOARGS, NULL},
	{"seekable", say_false, METH_NOARGS, NULL},
	{"flush", say_nothing, METH_NOARGS, NULL},
	{"close", say_nothing, METH_NOARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static PyGetSetDef log_getset[] = {
	{"closed", get_closed, NULL, NULL, NULL},
	{"name", get_name, NULL, NULL, NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject log_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "narwhal.LogFile",
	.tp_basicsize = sizeof(PyObject),
	.tp_flags = Py_TPFLAGS_DEFAULT,
	.tp_doc = "The server's error log as a file of bytes.",
	.tp_methods = log_methods,
	.tp_getset = log_getset,
};

/* ---- the stream ---- */

/*
 * io.TextIOWrapper(LogFile(), ..., line_buffering=True): it gathers the pieces
 * of a line, and what goes to its .buffer is not held back at all.
 */
static PyObject *
stream_new(PyObject *io)
{
	PyObject *file = (PyObject *)PyObject_New(PyObject, &log_type),
		 *text = NULL;

	if (file)
		text = PyObject_CallMethod(io, "TextIOWrapper", "OsssO", file,
			"utf-8", "backslashreplace", "\n", Py_True);
	Py_XDECREF(file);
	return text;
}

static int
put_in_place(void)
{
	static const char *const names[] = {
		"stdout", "stderr", "__stdout__", "__stderr__"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (PySys_SetObject(names[i], stream) == -1)
			return -1;
	}
	return 0;
}

int
errors_open(nw_server *s)
{
	PyObject *io = PyImport_ImportModule("io"),
		 *traceback = PyImport_ImportModule("traceback");

	server = s;
	if (traceback)
		format_exception =
			PyObject_GetAttrString(traceback, "format_exception");
	if (io && PyType_Ready(&log_type) == 0)
		stream = stream_new(io);
	Py_XDECREF(io);
	Py_XDECREF(traceback);
	return stream && format_exception ? put_in_place() : -1;
}

PyObject *
errors_stream(void)
{
	return stream;
}

/* ---- tracebacks and lines ---- */

/* The traceback without the frames of the gateway's own loader. */
static PyObject *
skip_own_frames(PyObject *tb)
{
	while (tb && PyTraceBack_Check(tb)) {
		PyTracebackObject *t = (PyTracebackObject *)tb;
		PyCodeObject *code = PyFrame_GetCode(t->tb_frame);
		int own = PyUnicode_CompareWithASCIIString(
				  code->co_filename, "<narwhal>") == 0;

		Py_DECREF(code);
		if (!own || !t->tb_next)
			break;
		tb = (PyObject *)t->tb_next;
	}
	return tb;
}

/* Text of an exception, or NULL with another exception. */
static PyObject *
format(const char *what, PyObject *type, PyObject *value, PyObject *tb)
{
	PyObject *lines, *none, *all = NULL, *text = NULL;

	tb = skip_own_frames(tb);
	lines = PyObject_CallFunctionObjArgs(format_exception, type,
		value ? value : Py_None, tb ? tb : Py_None, NULL);
	none = PyUnicode_FromString("");
	if (lines && none)
		all = PyUnicode_Join(none, lines);
	if (all)
		text = PyUnicode_FromFormat("%s\n%U", what, all);
	Py_XDECREF(all);
	Py_XDECREF(none);
	Py_XDECREF(lines);
	return text;
}

static void
log_text(PyObject *text)
{
	PyObject *b =
		PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");

	if (b)
		nw_log(server, NW_ERROR, PyBytes_AS_STRING(b),
			(size_t)PyBytes_GET_SIZE(b));
	Py_XDECREF(b);
}

void
errors_log(const char *what)
{
	PyObject *type, *value, *tb, *text;

	PyErr_Fetch(&type, &value, &tb);
	if (!type)
		return;
	PyErr_NormalizeException(&type, &value, &tb);
	text = format(what, type, value, tb);
	if (text) {
		log_text(text);
		Py_DECREF(text);
	}
	if (PyErr_Occurred()) { /* no memory, or a __str__ that fails */
		PyErr_Clear();
		errors_say(NW_ERROR, "%s: %s", what,
			((PyTypeObject *)type)->tp_name);
	}
	Py_XDECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(tb);
}

void
errors_say(nw_level level, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	nw_log(server, level, line,
		(size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}
