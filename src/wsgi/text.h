/*
 * text.h -- bytes of HTTP and str of PEP 3333: latin-1 both ways.
 */
#ifndef WSGI_TEXT_H
#define WSGI_TEXT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <string.h>

#include "narwhal/app.h"

/* A new str with one character for each byte. */
static inline PyObject *
text_new(nw_str s)
{
	return PyUnicode_DecodeLatin1(s.p, (Py_ssize_t)s.len, NULL);
}

/*
 * The bytes of a str, which live as long as it does and end in a NUL.  False
 * if it has a character beyond latin-1.
 */
static inline bool
text_bytes(PyObject *o, nw_str *ret)
{
#if PY_VERSION_HEX < 0x030c0000
	if (PyUnicode_READY(o) == -1) {
		PyErr_Clear();
		return false;
	}
#endif
	if (PyUnicode_KIND(o) != PyUnicode_1BYTE_KIND)
		return false;
	ret->p = (const char *)PyUnicode_1BYTE_DATA(o);
	ret->len = (size_t)PyUnicode_GET_LENGTH(o);
	return true;
}

/* Is this latin-1 str exactly these bytes? */
static inline bool
text_is(PyObject *o, nw_str s)
{
	return (size_t)PyUnicode_GET_LENGTH(o) == s.len &&
		(s.len == 0 ||
			memcmp(PyUnicode_1BYTE_DATA(o), s.p, s.len) == 0);
}

/* The same without regard to the case of ASCII letters; z is in lower case. */
bool text_eq_nocase(nw_str s, const char *z);

/* The bytes of a tuple of two str; false if one is not latin-1. */
static inline bool
text_pair(PyObject *tuple, nw_str *ret_name, nw_str *ret_value)
{
	return text_bytes(PyTuple_GET_ITEM(tuple, 0), ret_name) &&
		text_bytes(PyTuple_GET_ITEM(tuple, 1), ret_value);
}

/*
 * The attribute of an object, and a call of its method without arguments.  The
 * name is a literal, interned at its first use: a new str each time would push
 * others out of Python's cache of attributes.
 */
PyObject *text_attribute(PyObject *o, const char *name);
PyObject *text_call(PyObject *o, const char *name);

#endif
