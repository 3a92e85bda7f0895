/*
 * text.c -- bytes of HTTP and str of PEP 3333.
 */
#include "wsgi/text.h"

#define LITERALS 16

static struct {
	const char *z;
	PyObject *str;
} literals[LITERALS];

bool
text_eq_nocase(nw_str s, const char *z)
{
	size_t i;

	for (i = 0; i < s.len && z[i]; i++) {
		char c = s.p[i];

		if ((c >= 'A' && c <= 'Z' ? c | 0x20 : c) != z[i])
			return false;
	}
	return i == s.len && !z[i];
}

static PyObject *
interned(const char *z)
{
	int i = 0;

	while (literals[i].z && strcmp(literals[i].z, z) != 0)
		i++;
	assert(i < LITERALS - 1);
	if (!literals[i].str) {
		literals[i].str = PyUnicode_InternFromString(z);
		literals[i].z = literals[i].str ? z : NULL;
	}
	return literals[i].str;
}

PyObject *
text_attribute(PyObject *o, const char *name)
{
	PyObject *str = interned(name);

	return str ? PyObject_GetAttr(o, str) : NULL;
}

PyObject *
text_call(PyObject *o, const char *name)
{
	PyObject *str = interned(name);

	return str ? PyObject_CallMethodNoArgs(o, str) : NULL;
}
