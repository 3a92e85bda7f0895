/*
 * target.c -- take a request target apart (RFC 9112 3.2, RFC 3986).
 *
 * A path is decoded once and not otherwise changed: no dot segments are
 * folded, no slashes merged.  Bytes that RFC 3986 does not allow but browsers
 * send (quotes, braces, bytes over 0x7f) pass as they are, and so does a stray
 * '%' in a query, which nobody decodes here.
 */
#include <errno.h>
#include <string.h>

#include "http/framing.h"
#include "http/target.h"

/* What cannot stand in a path or query: blanks, control bytes, a fragment. */
static const bool forbidden[256] = {
	[0 ... ' '] = 1,
	['#'] = 1,
	[0x7f] = 1,
};

/* out has room for s.len bytes, which is enough. */
static int
decode(struct str s, char *out, size_t *ret_n)
{
	size_t i, n = 0;
	int high, low;

	for (i = 0; i < s.len; i++) {
		if (s.p[i] != '%') {
			out[n++] = s.p[i];
			continue;
		}
		if (s.len - i < 3)
			return 400;
		high = str_hex_digit(s.p[i + 1]);
		low = str_hex_digit(s.p[i + 2]);
		if (high == -1 || low == -1)
			return 400;
		out[n++] = (char)(high << 4 | low);
		i += 2;
	}
	*ret_n = n;
	return 0;
}

static int
decode_path(struct target *t, struct arena *a)
{
	char *out;

	t->path = t->raw_path;
	if (!memchr(t->path.p, '%', t->path.len))
		return 0;
	out = arena_alloc(a, t->path.len);
	if (!out)
		return -1;
	t->path.p = out;
	return decode(t->raw_path, out, &t->path.len);
}

static bool
has_forbidden(struct str s)
{
	size_t i;

	for (i = 0; i < s.len; i++)
		if (forbidden[(unsigned char)s.p[i]])
			return true;
	return false;
}

/* path [ "?" query ]; the path is "/..." or, in an absolute form, empty. */
static int
read_path(struct target *t, struct str s, struct arena *a)
{
	if (has_forbidden(s))
		return 400;
	t->query = s;
	str_cut(&t->query, '?', &t->raw_path);
	t->has_query = t->raw_path.len < s.len;
	if (!t->has_query)
		t->query = (struct str){s.p + s.len, 0};
	if (t->raw_path.len == 0)
		t->raw_path = STR("/");
	return decode_path(t, a);
}

/* "http://" authority path: up to the first of "/?#" is the authority. */
static int
read_absolute(struct target *t, struct str s, struct arena *a)
{
	struct str rest = s;
	size_t n = 0;

	if (!str_cut(&rest, ':', &t->scheme) || !str_starts(rest, STR("//")))
		return 400;
	if (!str_eq_nocase(t->scheme, STR("http")) &&
		!str_eq_nocase(t->scheme, STR("https")))
		return 400;
	rest = (struct str){rest.p + 2, rest.len - 2};
	while (n < rest.len && !strchr("/?#", rest.p[n]))
		n++;
	t->form = TARGET_ABSOLUTE;
	t->authority = (struct str){rest.p, n};
	/* A host has no '@', so userinfo is refused here (RFC 9110 4.2.4). */
	if (n == 0 || !framing_is_host(t->authority))
		return 400;
	return read_path(t, (struct str){rest.p + n, rest.len - n}, a);
}

static int
read_asterisk(struct target *t, const struct head *h)
{
	if (!str_eq(h->method, STR("OPTIONS")))
		return 400;
	t->form = TARGET_ASTERISK;
	t->raw_path = t->path = h->target;
	return 0;
}

int
target_read(struct target *t, const struct head *h, struct arena *a)
{
	*t = (struct target){0};
	if (str_eq(h->method, STR("CONNECT")))
		return 501;
	if (str_eq(h->target, STR("*")))
		return read_asterisk(t, h);
	if (h->target.len > 0 && h->target.p[0] == '/')
		return read_path(t, h->target, a);
	return read_absolute(t, h->target, a);
}
