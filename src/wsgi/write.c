/*
 * write.c -- the body of the response, piece by piece, into the server.
 *
 * Large bytes objects are not copied: the server keeps a reference until they
 * are sent.  Exceptions are raised outside the gate, for they may run Python
 * code.
 */
#include "wsgi/write.h"

#include <errno.h>

#include "wsgi/fault.h"

/* Longer bytes objects are not copied but kept until they are sent. */
#define KEEP_MIN 4096

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
has_no_body(const struct start *s)
{
	return s->head_only || s->no_content;
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

	if (!start_check(s, "a body"))
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
write_bytes(struct start *s, PyObject *bytes)
{
	int err;

	if (check_bytes(bytes) == -1)
		return SENT_FAILED;
	if (PyBytes_GET_SIZE(bytes) == 0)
		return SENT;
	err = send_bytes(s, bytes);
	if (err == -1)
		return SENT_FAILED;
	return !err && has_no_body(s) ? SENT_ENOUGH : outcome(err);
}

enum sent
write_length(struct start *s, int64_t length)
{
	char z[24];
	nw_request *r;
	int n;

	if (s->length != -1 || s->sent || s->has_trailers || !s->started ||
		s->no_content)
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
write_file(struct start *s, int fd, off_t offset, int64_t n)
{
	nw_request *r;
	int err;

	if (!start_check(s, "a body"))
		return SENT_FAILED;
	if (has_no_body(s) || n == 0)
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
call_write(PyObject *self, PyObject *bytes)
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
	return Py_NewRef(Py_None);
}

PyMethodDef write_def = {
	"write", call_write, METH_O, "write(bytes): part of the body."};
