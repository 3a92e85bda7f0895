/*
 * send.c -- the iterable that an application returns, to the client.
 *
 * Each item is one write.  Sending stops early when nothing more can go out:
 * the client left, the declared length is reached, or there is no body (HEAD,
 * 204, 304); that is no failure.  Nothing is held back to learn a length; a
 * list or tuple of one item, and a file, have theirs.
 */
#include "wsgi/send.h"

#include "wsgi/errors.h"
#include "wsgi/file.h"
#include "wsgi/text.h"

static PyObject *
item_at(PyObject *seq, Py_ssize_t i)
{
	return PyList_CheckExact(seq) ? PyList_GET_ITEM(seq, i)
				      : PyTuple_GET_ITEM(seq, i);
}

/* A list may change while its items are sent. */
static enum sent
send_sequence(struct start *s, PyObject *seq)
{
	enum sent r = SENT;

	if (Py_SIZE(seq) == 1 && PyBytes_Check(item_at(seq, 0)))
		r = write_length(s, PyBytes_GET_SIZE(item_at(seq, 0)));
	for (Py_ssize_t i = 0; r == SENT && i < Py_SIZE(seq); i++) {
		PyObject *item = Py_NewRef(item_at(seq, i));

		r = write_bytes(s, item);
		Py_DECREF(item);
	}
	return r;
}

static enum sent
send_items(struct start *s, PyObject *iterable)
{
	PyObject *iterator = PyObject_GetIter(iterable), *item;
	enum sent r = SENT;

	if (!iterator)
		return SENT_FAILED;
	while (r == SENT && (item = PyIter_Next(iterator))) {
		r = write_bytes(s, item);
		Py_DECREF(item);
	}
	Py_DECREF(iterator);
	return r == SENT && PyErr_Occurred() ? SENT_FAILED : r;
}

static enum sent
send_any(struct start *s, PyObject *result)
{
	bool done = false;
	enum sent r = SENT;

	if (PyList_CheckExact(result) || PyTuple_CheckExact(result))
		return send_sequence(s, result);
	if (file_is_wrapper(result) && s->started)
		r = file_send(s, result, &done);
	return r == SENT && !done ? send_items(s, result) : r;
}

int
send_result(struct start *s, PyObject *result)
{
	if (send_any(s, result) == SENT_FAILED)
		return -1;
	if (s->started)
		return 0;
	PyErr_SetString(PyExc_AssertionError,
		"the application never called start_response");
	return -1;
}

static PyObject *
close_method(PyObject *result)
{
	PyObject *close = text_attribute(result, "close");

	if (!close && PyErr_ExceptionMatches(PyExc_AttributeError))
		PyErr_Clear();
	return close;
}

void
send_close(PyObject *result)
{
	PyObject *type, *value, *tb, *close, *none = NULL;

	if (PyList_CheckExact(result) || PyTuple_CheckExact(result))
		return;
	PyErr_Fetch(&type, &value, &tb);
	close = close_method(result);
	if (close)
		none = PyObject_CallNoArgs(close);
	Py_XDECREF(close);
	Py_XDECREF(none);
	errors_log("close() of the application's iterable failed");
	PyErr_Restore(type, value, tb);
}
