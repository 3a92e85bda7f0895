/*
 * fault.c -- what goes wrong on the client's side, as Python exceptions.
 *
 * The module `narwhal` holds the classes, so that an application can name
 * them; one that should also run elsewhere catches OSError.
 */
#include "wsgi/fault.h"

#include <errno.h>
#include <string.h>

static PyObject *client_error, *disconnected, *timeout, *bad_body;

/* A new class in the module, below `base` and perhaps a second one. */
static PyObject *
add_class(PyObject *module, const char *name, const char *doc, PyObject *base,
	PyObject *second)
{
	PyObject *bases, *class;
	char full[64];

	bases = second ? PyTuple_Pack(2, base, second) : PyTuple_Pack(1, base);
	if (!bases)
		return NULL;
	PyOS_snprintf(full, sizeof(full), "narwhal.%s", name);
	class = PyErr_NewExceptionWithDoc(full, doc, bases, NULL);
	Py_DECREF(bases);
	if (class && PyModule_AddObjectRef(module, name, class) == -1)
		Py_CLEAR(class);
	return class;
}

static int
add_classes(PyObject *module)
{
	client_error = add_class(module, "ClientError",
		"The request or its answer ended on the client's side.",
		PyExc_OSError, NULL);
	if (!client_error)
		return -1;
	disconnected = add_class(module, "ClientDisconnected",
		"The client left.", client_error, PyExc_ConnectionResetError);
	timeout = add_class(module, "ClientTimeout", "The client was too slow.",
		client_error, PyExc_TimeoutError);
	bad_body = add_class(module, "BadBody",
		"The request body broke its framing or is too large.",
		client_error, NULL);
	return disconnected && timeout && bad_body ? 0 : -1;
}

static struct PyModuleDef module_def = {
	PyModuleDef_HEAD_INIT,
	.m_name = "narwhal",
	.m_doc = "What the server has for its applications; narwhal-wsgi(7).",
	.m_size = -1,
};

static PyObject *
module_init(void)
{
	PyObject *module = PyModule_Create(&module_def);

	if (!module)
		return NULL;
	if (add_classes(module) == 0 &&
		PyModule_AddStringConstant(module, "version", NW_VERSION) == 0)
		return module;
	Py_DECREF(module);
	return NULL;
}

int
fault_register(void)
{
	return PyImport_AppendInittab("narwhal", module_init);
}

static PyObject *
class_of(int err, const char **ret_text)
{
	switch (err) {
	case ECONNRESET:
	case EPIPE:
		*ret_text = "the client left";
		return disconnected;
	case ETIMEDOUT:
		*ret_text = "the client was too slow";
		return timeout;
	case EPROTO:
		*ret_text = "the request body is malformed";
		return bad_body;
	case EFBIG:
		*ret_text = "the request body is over the limit";
		return bad_body;
	case ECANCELED:
		*ret_text = "the response was replaced by an error";
		return client_error;
	case EMSGSIZE:
		*ret_text = "more than the declared Content-Length";
		return PyExc_OSError;
	default:
		*ret_text = strerror(err);
		return PyExc_OSError;
	}
}

void
fault_raise(int err)
{
	const char *text;
	PyObject *class = class_of(err, &text), *e;

	e = PyObject_CallFunction(class, "is", err, text);
	if (!e)
		return;
	PyErr_SetObject((PyObject *)Py_TYPE(e), e);
	Py_DECREF(e);
}

bool
fault_is_set(void)
{
	return client_error && PyErr_ExceptionMatches(client_error);
}
