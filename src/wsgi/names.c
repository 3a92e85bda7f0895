/*
 * names.c -- header names of requests as environ keys.
 *
 * Clients use the same few names in the same spelling again and again, so the
 * key objects are kept in a table that is indexed by a hash of the bytes.  A
 * name that falls on a taken place replaces what was there: the table never
 * grows, whatever clients send.
 */
#include "wsgi/names.h"

#include <stdint.h>
#include <string.h>

#include "wsgi/text.h"

#define NAMES 256 /* a power of two */

static struct name table[NAMES];
static struct name unkept; /* for a name that is too long */

static unsigned
place_of(nw_str s)
{
	uint64_t h = s.len, word;
	size_t i = 0;

	for (; i + 8 <= s.len; i += 8) {
		memcpy(&word, s.p + i, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	word = 0;
	memcpy(&word, s.p + i, s.len - i);
	h = (h ^ word) * 0x9e3779b97f4a7c15u;
	return (unsigned)(h >> 40) % NAMES;
}

static enum name_kind
kind_of(nw_str s)
{
	if (memchr(s.p, '_', s.len))
		return NAME_DROPPED;
	if (text_eq_nocase(s, "cookie"))
		return NAME_COOKIE;
	if (text_eq_nocase(s, "content-type"))
		return NAME_TYPE;
	if (text_eq_nocase(s, "content-length"))
		return NAME_LENGTH;
	return NAME_FIELD;
}

static char
key_char(char c)
{
	if (c >= 'a' && c <= 'z')
		return c & ~0x20;
	return c == '-' ? '_' : c;
}

static PyObject *
http_key(nw_str s)
{
	PyObject *key = PyUnicode_New((Py_ssize_t)s.len + 5, 127);
	char *p;

	if (!key)
		return NULL;
	p = (char *)PyUnicode_1BYTE_DATA(key);
	memcpy(p, "HTTP_", 5);
	for (size_t i = 0; i < s.len; i++)
		p[5 + i] = key_char(s.p[i]);
	PyUnicode_InternInPlace(&key);
	return key;
}

static int
fill(struct name *n, nw_str s)
{
	Py_CLEAR(n->key);
	Py_CLEAR(n->value);
	n->len = 0;
	n->kind = kind_of(s);
	if (n->kind == NAME_TYPE)
		n->key = PyUnicode_InternFromString("CONTENT_TYPE");
	else if (n->kind == NAME_FIELD || n->kind == NAME_COOKIE)
		n->key = http_key(s);
	if (!n->key && PyErr_Occurred())
		return -1;
	if (s.len <= NAME_KEPT_MAX) {
		memcpy(n->bytes, s.p, s.len);
		n->len = s.len;
	}
	return 0;
}

struct name *
names_get(nw_str s)
{
	struct name *n;

	n = s.len <= NAME_KEPT_MAX ? &table[place_of(s)] : &unkept;
	if (n->len == s.len && s.len && memcmp(n->bytes, s.p, s.len) == 0)
		return n;
	return fill(n, s) == 0 ? n : NULL;
}

void
names_drop(void)
{
	for (int i = 0; i < NAMES; i++) {
		Py_CLEAR(table[i].key);
		Py_CLEAR(table[i].value);
		table[i].len = 0;
	}
	Py_CLEAR(unkept.key);
	Py_CLEAR(unkept.value);
}
