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

static void
add_fields(struct text *t, const nw_field *f, size_t n)
{
	for (; n > 0; n--, f++) {
		add_bytes(t, f->name.p, f->name.len);
		add_bytes(t, ": ", 2);
		add_bytes(t, f->value.p, f->value.len);
		add_bytes(t, "\n", 1);
	}
}

static void
add_head(struct text *t, nw_request *r)
{
	const nw_field *f;
	size_t n;

	add_bytes(t, nw_method(r).p, nw_method(r).len);
	add_bytes(t, " ", 1);
	add_bytes(t, nw_target(r).p, nw_target(r).len);
	add_bytes(t, nw_minor_version(r) ? " HTTP/1.1\n" : " HTTP/1.0\n", 10);
	f = nw_fields(r, &n);
	add_fields(t, f, n);
	add_bytes(t, "\n", 1);
}

static void
add_trailers(struct text *t, nw_request *r)
{
	const nw_field *f;
	size_t n;

	if (nw_content_length(r) != -1)
		return;
	add_bytes(t, "\n", 1);
	f = nw_trailers(r, &n);
	add_fields(t, f, n);
}

static int
tell(nw_request *r, size_t max)
{
	struct text t = {NULL, 0, 0};
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
	struct text t = {NULL, 0, 0};
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
