/*
 * framing.c -- where a request ends and what becomes of its connection.
 *
 * One pass over the fields, which are told apart by length and first letter,
 * so the many that do not matter here cost next to nothing.  Where RFC 9112
 * leaves a choice the stricter reading is taken: a message whose end could be
 * understood in two ways is refused.
 */
#include <arpa/inet.h>
#include <string.h>

#include "http/framing.h"
#include "http/strict.h"

/* What the lines said, until all have been seen. */
struct lines {
	struct framing f;
	int minor;
	bool host;
	bool transfer_encoding;
	bool unknown_coding;
	bool close;
	bool keep_alive;
	bool expect;
	bool unknown_expect;
};

/*
 * The next element of a comma-separated list, without its OWS.  Empty ones are
 * passed over (RFC 9110 5.6.1.2).
 */
static bool
next_element(struct str *list, struct str *ret)
{
	while (str_cut(list, ',', ret)) {
		*ret = str_trim(*ret);
		if (ret->len)
			return true;
	}
	return false;
}

static int
read_host(struct lines *l, struct str value)
{
	if (l->host || !framing_is_host(value))
		return 400;
	l->host = true;
	return 0;
}

static int
read_length(struct lines *l, struct str value)
{
	if (l->f.has_length || str_to_u64(value, &l->f.length) == -1)
		return 400;
	if (l->f.length > INT64_MAX)
		return 400;
	l->f.has_length = true;
	return 0;
}

/* chunked once, as the last one and without parameters (RFC 9112 6.1, 7). */
static int
read_coding(struct lines *l, struct str coding)
{
	struct str name;

	if (l->f.chunked)
		return 400;
	if (str_eq_nocase(coding, STR("chunked"))) {
		l->f.chunked = true;
		return 0;
	}
	str_cut(&coding, ';', &name);
	name = str_trim(name);
	if (!strict_is_token(name) || str_eq_nocase(name, STR("chunked")))
		return 400;
	l->unknown_coding = true;
	return 0;
}

/* Empty elements are refused: someone may have seen a coding there. */
static int
read_codings(struct lines *l, struct str list)
{
	struct str coding;
	int status = list.len ? 0 : 400;

	l->transfer_encoding = true;
	while (!status && str_cut(&list, ',', &coding))
		status = read_coding(l, str_trim(coding));
	return status;
}

static void
read_connection(struct lines *l, struct str list)
{
	struct str option;

	while (next_element(&list, &option)) {
		if (str_eq_nocase(option, STR("close")))
			l->close = true;
		else if (str_eq_nocase(option, STR("keep-alive")))
			l->keep_alive = true;
	}
}

static void
read_expect(struct lines *l, struct str list)
{
	struct str expectation;

	while (next_element(&list, &expectation)) {
		if (str_eq_nocase(expectation, STR("100-continue")))
			l->expect = true;
		else
			l->unknown_expect = true;
	}
}

static void
read_te(struct lines *l, struct str list)
{
	struct str coding;

	while (next_element(&list, &coding))
		if (str_eq_nocase(coding, STR("trailers")))
			l->f.te_trailers = true;
}

static bool
is(const struct field *f, struct str name)
{
	return (f->name.p[0] | 0x20) == name.p[0] &&
		str_eq_nocase(f->name, name);
}

static int
read_field(struct lines *l, const struct field *f)
{
	switch (f->name.len) {
	case 2:
		if (is(f, STR("te")))
			read_te(l, f->value);
		return 0;
	case 4:
		return is(f, STR("host")) ? read_host(l, f->value) : 0;
	case 6:
		if (is(f, STR("expect")))
			read_expect(l, f->value);
		return 0;
	case 10:
		if (is(f, STR("connection")))
			read_connection(l, f->value);
		return 0;
	case 14:
		return is(f, STR("content-length")) ? read_length(l, f->value)
						    : 0;
	case 17:
		return is(f, STR("transfer-encoding"))
			? read_codings(l, f->value)
			: 0;
	default:
		return 0;
	}
}

/* What can only be said of all the lines together. */
static int
judge(struct lines *l)
{
	struct framing *f = &l->f;
	bool http_1_0 = l->minor == 0;

	if (!l->host && !http_1_0)
		return 400;
	if (l->transfer_encoding && (http_1_0 || f->has_length))
		return 400;
	if (l->unknown_coding)
		return 501;
	if (l->unknown_expect && !http_1_0)
		return 417;
	f->keep_alive = !l->close && (!http_1_0 || l->keep_alive);
	f->te_trailers = f->te_trailers && !http_1_0;
	f->expect = l->expect && !http_1_0 && (f->chunked || f->length > 0);
	return 0;
}

int
framing_read(struct framing *f, const struct head *h)
{
	struct lines l = {.minor = h->minor};
	int status = 0;
	size_t i;

	for (i = 0; i < h->nfields && !status; i++)
		status = read_field(&l, &h->fields[i]);
	if (!status)
		status = judge(&l);
	if (status)
		l.f = (struct framing){0};
	*f = l.f;
	return status;
}

static bool
is_in(struct str name, const struct str *names, size_t n)
{
	while (n > 0)
		if (str_eq_nocase(name, names[--n]))
			return true;
	return false;
}

/*
 * RFC 9110 7.6.1, and what RFC 2616 13.5.1 (which PEP 3333 means) named
 * besides; the server alone speaks about its connections.
 */
bool
framing_is_hop_by_hop(struct str name)
{
	static const struct str names[] = {
		STR("connection"),
		STR("keep-alive"),
		STR("proxy-authenticate"),
		STR("proxy-authorization"),
		STR("proxy-connection"),
		STR("te"),
		STR("trailer"),
		STR("transfer-encoding"),
		STR("upgrade"),
	};

	return is_in(name, names, sizeof(names) / sizeof(names[0]));
}

/* http-parser refuses any name that begins with Transfer-Encoding. */
bool
framing_owns(struct str name)
{
	static const struct str names[] = {
		STR("connection"),
		STR("content-length"),
		STR("expect"),
		STR("proxy-connection"),
		STR("te"),
		STR("upgrade"),
	};
	struct str prefix = STR("transfer-encoding");

	if (name.len >= prefix.len &&
		str_eq_nocase((struct str){name.p, prefix.len}, prefix))
		return true;
	return is_in(name, names, sizeof(names) / sizeof(names[0]));
}

/* ---- Host (RFC 9110 7.2, RFC 3986 3.2.2) ---- */

/* unreserved and sub-delims */
static const bool name_chars[256] = {
	['!'] = 1,
	['$'] = 1,
	['&' ... '.'] = 1,
	['0' ... '9'] = 1,
	[';'] = 1,
	['='] = 1,
	['A' ... 'Z'] = 1,
	['_'] = 1,
	['a' ... 'z'] = 1,
	['~'] = 1,
};

static bool
is_name_char(char c)
{
	return name_chars[(unsigned char)c];
}

static bool
is_hex(char c)
{
	return str_hex_digit(c) != -1;
}

/* The empty name is one. */
static bool
is_reg_name(struct str s)
{
	size_t i;

	for (i = 0; i < s.len; i++) {
		if (is_name_char(s.p[i]))
			continue;
		if (s.p[i] != '%' || s.len - i < 3 || !is_hex(s.p[i + 1]) ||
			!is_hex(s.p[i + 2]))
			return false;
		i += 2;
	}
	return true;
}

static bool
is_ipv6(struct str s)
{
	char z[INET6_ADDRSTRLEN];
	struct in6_addr a;

	if (s.len >= sizeof(z) || memchr(s.p, 0, s.len))
		return false;
	memcpy(z, s.p, s.len);
	z[s.len] = 0;
	return inet_pton(AF_INET6, z, &a) == 1;
}

/* "v" 1*HEXDIG "." 1*( unreserved / sub-delims / ":" ) */
static bool
is_ip_future(struct str s)
{
	struct str version;
	size_t i;

	if (!str_cut(&s, '.', &version) || version.len < 2 || s.len == 0)
		return false;
	for (i = 1; i < version.len; i++)
		if (!is_hex(version.p[i]))
			return false;
	for (i = 0; i < s.len; i++)
		if (!is_name_char(s.p[i]) && s.p[i] != ':')
			return false;
	return (version.p[0] | 0x20) == 'v';
}

/* *DIGIT in the grammar, but there are no more ports than these. */
static bool
is_port(struct str s)
{
	uint64_t port;

	return s.len == 0 || (str_to_u64(s, &port) == 0 && port <= 65535);
}

/* What follows the host: nothing, or a colon and a port. */
static bool
is_port_part(struct str s)
{
	if (s.len == 0)
		return true;
	return s.p[0] == ':' && is_port((struct str){s.p + 1, s.len - 1});
}

static bool
is_literal_host(struct str s)
{
	const char *close = memchr(s.p, ']', s.len);
	struct str inner, rest;

	if (!close)
		return false;
	inner = (struct str){s.p + 1, (size_t)(close - s.p) - 1};
	rest = (struct str){close + 1, s.len - inner.len - 2};
	return is_port_part(rest) && (is_ipv6(inner) || is_ip_future(inner));
}

/*
 * Empty is what a client sends whose target has no authority (RFC 9110 7.2);
 * a port without a host is nothing.
 */
bool
framing_is_host(struct str value)
{
	const char *colon;
	size_t n;

	if (value.len == 0)
		return true;
	if (value.p[0] == '[')
		return is_literal_host(value);
	colon = memchr(value.p, ':', value.len);
	n = colon ? (size_t)(colon - value.p) : value.len;
	return n > 0 && is_reg_name((struct str){value.p, n}) &&
		is_port_part((struct str){value.p + n, value.len - n});
}
