/*
 * witness.c -- answers each request with what it was, as plain text.
 *
 *	POST /a?b=c HTTP/1.1
 *	Host: example.com
 *
 *	the body, and with a chunked one, behind a newline, the trailers
 *
 * Every field in its order, the request decoded.  The option `read-size` is
 * how much is asked for at once, 4096 without it; with 0 the body is not read,
 * with `pass` the server is told to pass it through.
 */
#include "kit.h"

struct testimony {
	char *p;
	size_t len, cap;
};

static char *
room_for(struct testimony *t, size_t n)
{
	if (t->cap - t->len < n) {
		t->cap = (t->len + n) * 2;
		t->p = realloc(t->p, t->cap);
		if (t->p == NULL)
			abort(); /* a test on a machine without memory */
	}
	return t->p + t->len;
}

static void
add(struct testimony *t, const char *p, size_t n)
{
	memcpy(room_for(t, n), p, n);
	t->len += n;
}

static void
add_fields(struct testimony *t, const nw_field *f, size_t n)
{
	for (; n > 0; n--, f++) {
		add(t, f->name.p, f->name.len);
		add(t, ": ", 2);
		add(t, f->value.p, f->value.len);
		add(t, "\n", 1);
	}
}

static void
add_head(struct testimony *t, nw_request *r)
{
	const nw_field *f;
	size_t n;

	add(t, nw_method(r).p, nw_method(r).len);
	add(t, " ", 1);
	add(t, nw_target(r).p, nw_target(r).len);
	add(t, nw_minor_version(r) ? " HTTP/1.1\n" : " HTTP/1.0\n", 10);
	f = nw_fields(r, &n);
	add_fields(t, f, n);
	add(t, "\n", 1);
}

static void
add_trailers(struct testimony *t, nw_request *r)
{
	const nw_field *f;
	size_t n;

	if (nw_content_length(r) != -1)
		return;
	add(t, "\n", 1);
	f = nw_trailers(r, &n);
	add_fields(t, f, n);
}

static int
tell(nw_request *r, size_t max)
{
	struct testimony t = {NULL, 0, 0};
	ssize_t n = 0;

	add_head(&t, r);
	while (max > 0 && (n = nw_read(r, room_for(&t, max), max)) > 0)
		t.len += (size_t)n;
	if (n == 0 && max > 0)
		add_trailers(&t, r);
	if (n == 0)
		n = answer(r, 200, t.p, t.len);
	free(t.p);
	return (int)n;
}

static int
pass(nw_request *r)
{
	struct testimony t = {NULL, 0, 0};
	int result;

	add_head(&t, r);
	result = nw_start(r, 200, NULL) == -1 ||
		nw_write(r, t.p, t.len) == -1 || nw_pass_body(r) == -1;
	t.len = 0;
	if (!result)
		add_trailers(&t, r);
	result = result || nw_write(r, t.p, t.len) == -1;
	free(t.p);
	return -result;
}

static int
handle(nw_request *r, void *state)
{
	const char *size = nw_option(r->server, "read-size");

	(void)state;
	if (size && strcmp(size, "pass") == 0)
		return pass(r);
	return tell(r, size ? strtoul(size, NULL, 10) : 4096);
}

const nw_app narwhal_app = {NW_APP_ABI, .handle = handle};
