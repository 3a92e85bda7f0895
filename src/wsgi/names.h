/*
 * names.h -- header names of requests as environ keys.
 */
#ifndef WSGI_NAMES_H
#define WSGI_NAMES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "narwhal/app.h"

enum name_kind {
	NAME_FIELD, /* HTTP_..., repeated ones joined with a comma */
	NAME_COOKIE, /* the same, joined as cookies are */
	NAME_TYPE, /* CONTENT_TYPE */
	NAME_LENGTH, /* Content-Length, which the server has read */
	NAME_DROPPED /* has an underscore: could pass for another name */
};

/* Longer names are not kept. */
#define NAME_KEPT_MAX 48

struct name {
	enum name_kind kind;
	PyObject *key; /* NULL for the last two kinds */
	PyObject *value; /* the last one seen, or NULL */
	size_t len;
	char bytes[NAME_KEPT_MAX];
};

/*
 * What is known of a header name, as it is spelt; valid until the next call.
 * NULL with an exception.
 */
struct name *names_get(nw_str name);

/* Forget all. */
void names_drop(void);

#endif
