/*
 * conformance.c -- answers each request with what it was, as JSON.
 *
 *	{"method": "POST", "target": "/a?b=c", "version": "HTTP/1.1",
 *	 "headers": [["Host", "example.com"], ["Content-Length", "5"]],
 *	 "headers_form": "raw", "body_b64": "aGVsbG8=", "trailers": []}
 *
 * One character a byte (Latin-1); every field line in its order.  The form is
 * the one that the replay of the request corpus wants.
 */
#include "kit.h"

static void
add(struct text *t, const char *z)
{
	add_bytes(t, z, strlen(z));
}

static void
add_string(struct text *t, nw_str s)
{
	char p[8];
	size_t i;

	add(t, "\"");
	for (i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			snprintf(p, sizeof(p), "\\u%04x", c);
		else
			snprintf(p, sizeof(p), "%c", c);
		add(t, p);
	}
	add(t, "\"");
}

static void
add_fields(struct text *t, const nw_field *f, size_t n)
{
	size_t i;

	add(t, "[");
	for (i = 0; i < n; i++) {
		add(t, i ? ", [" : "[");
		add_string(t, f[i].name);
		add(t, ", ");
		add_string(t, f[i].value);
		add(t, "]");
	}
	add(t, "]");
}

static void
add_base64(struct text *t, const struct text *from)
{
	static const char abc[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = (const unsigned char *)from->p;
	size_t i, n;
	char four[5] = "";
	unsigned v;

	for (i = 0; i < from->len; i += 3) {
		n = from->len - i;
		v = (unsigned)p[i] << 16 | (n > 1 ? p[i + 1] << 8 : 0) |
			(n > 2 ? p[i + 2] : 0);
		four[0] = abc[v >> 18];
		four[1] = abc[v >> 12 & 63];
		four[2] = n > 1 ? abc[v >> 6 & 63] : '=';
		four[3] = n > 2 ? abc[v & 63] : '=';
		add(t, four);
	}
}

static int
read_all(nw_request *r, struct text *body)
{
	ssize_t n;

	while ((n = nw_read(r, room_for(body, 4096), 4096)) > 0)
		body->len += (size_t)n;
	return (int)n;
}

static void
describe(struct text *t, nw_request *r, const struct text *body)
{
	const nw_field *f;
	size_t n;

	add(t, "{\"method\": ");
	add_string(t, nw_method(r));
	add(t, ", \"target\": ");
	add_string(t, nw_target(r));
	add(t,
		nw_minor_version(r) ? ", \"version\": \"HTTP/1.1\""
				    : ", \"version\": \"HTTP/1.0\"");
	add(t, ", \"headers\": ");
	f = nw_fields(r, &n);
	add_fields(t, f, n);
	add(t, ", \"headers_form\": \"raw\", \"body_b64\": \"");
	add_base64(t, body);
	add(t, "\", \"trailers\": ");
	f = nw_trailers(r, &n);
	add_fields(t, f, n);
	add(t, "}");
}

static int
handle(nw_request *r, void *state)
{
	struct text body = {0}, json = {0};
	int result = read_all(r, &body);

	(void)state;
	if (result == 0) {
		describe(&json, r, &body);
		result = answer(r, 200, json.p, json.len);
	}
	free(body.p);
	free(json.p);
	return result;
}

const nw_app narwhal_app = {NW_APP_ABI, .handle = handle};
