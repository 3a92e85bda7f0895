/*
 * file.c -- wsgi.file_wrapper.
 *
 * Whatever is wrapped can be iterated over, in reads of the block size.  A
 * real file goes by the kernel instead, but only where Python's own file
 * objects tell where in it they are: an object with a fileno() of its own may
 * have quite other bytes to give than that descriptor has (a gzip.GzipFile).
 */
#include "wsgi/file.h"

#include <string.h>
#include <structmember.h>
#include <sys/stat.h>

#include "wsgi/text.h"

struct file {
	PyObject_HEAD PyObject *filelike;
	PyObject *read; /* its method */
	PyObject *close; /* its method, or NULL */
	Py_ssize_t block_size;
};

static PyTypeObject file_type;
static PyObject *raw_type, *reader_type, *random_type; /* of the module io */

/* ---- the wrapper ---- */

static int
file_init(PyObject *self, PyObject *args, PyObject *names)
{
	static char first[] = "filelike", second[] = "blksize",
		    *known[] = {first, second, NULL};
	struct file *f = (struct file *)self;
	PyObject *filelike;
	Py_ssize_t block_size = 8192;

	if (!PyArg_ParseTupleAndKeywords(
		    args, names, "O|n", known, &filelike, &block_size))
		return -1;
	Py_XSETREF(f->filelike, Py_NewRef(filelike));
	Py_XSETREF(f->read, text_attribute(filelike, "read"));
	if (!f->read)
		return -1;
	Py_XSETREF(f->close, text_attribute(filelike, "close"));
	if (!f->close && !PyErr_ExceptionMatches(PyExc_AttributeError))
		return -1;
	PyErr_Clear();
	f->block_size = block_size;
	return 0;
}

static PyObject *
file_next(PyObject *self)
{
	struct file *f = (struct file *)self;
	PyObject *block;
	int there;

	if (!f->read)
		return NULL;
	block = PyObject_CallFunction(f->read, "n", f->block_size);
	there = block ? PyObject_IsTrue(block) : 0;
	if (there <= 0)
		Py_CLEAR(block);
	return block;
}

static int
file_traverse(PyObject *self, visitproc visit, void *arg)
{
	struct file *f = (struct file *)self;

	Py_VISIT(f->filelike);
	Py_VISIT(f->read);
	Py_VISIT(f->close);
	return 0;
}

static int
file_clear(PyObject *self)
{
	struct file *f = (struct file *)self;

	Py_CLEAR(f->filelike);
	Py_CLEAR(f->read);
	Py_CLEAR(f->close);
	return 0;
}

static void
file_dealloc(PyObject *self)
{
	PyObject_GC_UnTrack(self);
	file_clear(self);
	Py_TYPE(self)->tp_free(self);
}

/* `close` is an attribute only if the wrapped object has one. */
static PyMemberDef file_members[] = {
	{"filelike", T_OBJECT_EX, offsetof(struct file, filelike), READONLY,
		NULL},
	{"close", T_OBJECT_EX, offsetof(struct file, close), READONLY, NULL},
	{"blksize", T_PYSSIZET, offsetof(struct file, block_size), READONLY,
		NULL},
	{NULL, 0, 0, 0, NULL},
};

static PyTypeObject file_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "narwhal.FileWrapper",
	.tp_basicsize = sizeof(struct file),
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
	.tp_doc = "FileWrapper(filelike, blksize=8192)",
	.tp_new = PyType_GenericNew,
	.tp_init = file_init,
	.tp_dealloc = file_dealloc,
	.tp_traverse = file_traverse,
	.tp_clear = file_clear,
	.tp_iter = PyObject_SelfIter,
	.tp_iternext = file_next,
	.tp_members = file_members,
};

PyObject *
file_type_ready(void)
{
	PyObject *io = PyImport_ImportModule("io");

	if (!io)
		return NULL;
	raw_type = PyObject_GetAttrString(io, "FileIO");
	reader_type = PyObject_GetAttrString(io, "BufferedReader");
	random_type = PyObject_GetAttrString(io, "BufferedRandom");
	Py_DECREF(io);
	if (!raw_type || !reader_type || !random_type ||
		PyType_Ready(&file_type) == -1)
		return NULL;
	return (PyObject *)&file_type;
}

bool
file_is_wrapper(PyObject *o)
{
	return Py_IS_TYPE(o, &file_type);
}

/* ---- by the kernel ---- */

static bool
is_a(PyObject *o, PyObject *type)
{
	return (PyObject *)Py_TYPE(o) == type;
}

/* Is it, or is it over, an io.FileIO?  1, 0, or -1 with an exception. */
static int
is_real(PyObject *file)
{
	PyObject *raw;
	int yes;

	if (is_a(file, raw_type))
		return 1;
	if (!is_a(file, reader_type) && !is_a(file, random_type))
		return 0;
	raw = text_attribute(file, "raw");
	if (!raw)
		return -1;
	yes = is_a(raw, raw_type);
	Py_DECREF(raw);
	return yes;
}

/* What tempfile.NamedTemporaryFile() gives stands before the real one. */
static PyObject *
real_file(PyObject *o)
{
	if (strcmp(Py_TYPE(o)->tp_name, "_TemporaryFileWrapper") == 0)
		return text_attribute(o, "file");
	return Py_NewRef(o);
}

/* Descriptor and position; written data goes to the file first. */
static int
locate(PyObject *file, int *ret_fd, off_t *ret_at)
{
	PyObject *o;

	o = is_a(file, random_type) ? text_call(file, "flush")
				    : Py_NewRef(Py_None);
	if (!o)
		return -1;
	Py_DECREF(o);
	*ret_fd = PyObject_AsFileDescriptor(file);
	if (*ret_fd == -1)
		return -1;
	o = text_call(file, "tell");
	if (!o)
		return -1;
	*ret_at = (off_t)PyLong_AsLongLong(o);
	Py_DECREF(o);
	return PyErr_Occurred() ? -1 : 0;
}

/* 1 with a descriptor, a position and the bytes from there on; 0; -1 */
static int
measure(PyObject *file, int *ret_fd, off_t *ret_at, int64_t *ret_left)
{
	struct stat st;
	int real = is_real(file);

	if (real != 1)
		return real;
	if (locate(file, ret_fd, ret_at) == -1) {
		/* a pipe has no position: it is read */
		if (!PyErr_ExceptionMatches(PyExc_OSError))
			return -1;
		PyErr_Clear();
		return 0;
	}
	if (fstat(*ret_fd, &st) == -1 || !S_ISREG(st.st_mode))
		return 0;
	*ret_left = st.st_size > *ret_at ? st.st_size - *ret_at : 0;
	return 1;
}

static enum sent
send_range(struct start *s, int fd, off_t at, int64_t left)
{
	if (write_length(s, left) == SENT_FAILED)
		return SENT_FAILED;
	if (s->length != -1 && left > s->length - s->sent)
		left = s->length - s->sent;
	if (left <= 0)
		return SENT;
	return write_file(s, fd, at, left);
}

enum sent
file_send(struct start *s, PyObject *wrapper, bool *ret_done)
{
	PyObject *filelike = ((struct file *)wrapper)->filelike, *file;
	int64_t left;
	off_t at;
	int fd, real;

	*ret_done = false;
	file = filelike ? real_file(filelike) : NULL;
	if (!file)
		return SENT_FAILED;
	real = measure(file, &fd, &at, &left);
	*ret_done = real != 0;
	if (real == 1)
		real = (int)send_range(s, fd, at, left);
	else
		real = real == -1 ? SENT_FAILED : SENT;
	Py_DECREF(file);
	return (enum sent)real;
}
