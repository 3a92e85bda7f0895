/*
 * reader.c -- a second reader of requests, slow and obvious.
 *
 * A line is cut off, looked at as a whole, and then the next; each function is
 * a rule of a grammar and false means that the bytes do not follow it.
 */
#include "rfc/reader.h"
#include "rfc/text.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What the server keeps to in chunk lines (chunk.h). */
#define CHUNK_LINE 4096
#define CHUNK_EXTS 65536

/* What the fields of a head said. */
struct said {
	bool absolute;
	struct text authority; /* of an absolute form */
	int hosts, lengths, codings; /* lines */
	bool chunked, other_coding, close, keep_alive, expect, other_expect;
	uint64_t length;
};

struct reader {
	struct text in;
	struct reading *r;
	const struct reader_limits *limits;
	FILE *told;
	struct said said;
	size_t ext_len;
	uint64_t body_len;
};

/* ---- the target (RFC 9112 3.2, RFC 3986) ---- */

static bool
is_escape(const char *p, const char *end)
{
	return end - p >= 3 && p[0] == '%' && isxdigit((unsigned char)p[1]) &&
		isxdigit((unsigned char)p[2]);
}

static bool
is_reg_name(struct text t)
{
	const char *p = t.p;

	while (p < t.end) {
		if (*p == '%' && !is_escape(p, t.end))
			return false;
		if (*p != '%' &&
			!text_all_of((struct text){p, p + 1},
				"-._~!$&'()*+,;=" DIGIT ALPHA))
			return false;
		p += *p == '%' ? 3 : 1;
	}
	return t.p < t.end;
}

static bool
is_ip_literal(struct text t)
{
	char z[64];
	struct in6_addr a;
	struct text version;

	snprintf(z, sizeof(z), "%.*s", (int)text_len(t), t.p);
	if (strlen(z) == text_len(t) && inet_pton(AF_INET6, z, &a) == 1)
		return true;
	return text_cut(&t, '.', &version) && version.p < version.end &&
		tolower((unsigned char)*version.p) == 'v' &&
		text_all_of(
			(struct text){version.p + 1, version.end}, HEXDIG) &&
		text_all_of(t, "-._~!$&'()*+,;=:" DIGIT ALPHA);
}

static bool
is_port(struct text t)
{
	if (text_len(t) > 0 && !text_all_of(t, DIGIT))
		return false;
	while (t.p < t.end && *t.p == '0')
		t.p++;
	return text_len(t) == 0 || (text_len(t) <= 5 && atoi(t.p) <= 65535);
}

/* uri-host [ ":" port ]; an empty host is told apart by the caller. */
static bool
is_authority(struct text t)
{
	struct text host = t, port = {t.end, t.end};

	if (t.p < t.end && *t.p == '[') {
		t.p++;
		if (!text_cut(&t, ']', &host) || !is_ip_literal(host))
			return false;
		return t.p == t.end ||
			(*t.p == ':' && is_port((struct text){t.p + 1, t.end}));
	}
	if (text_cut(&t, ':', &host))
		port = t;
	return is_reg_name(host) && is_port(port);
}

/* No blank, no control byte, no fragment; escapes in the path are whole. */
static bool
is_path_and_query(struct text t)
{
	bool query = false;

	for (; t.p < t.end; t.p++) {
		if ((unsigned char)*t.p <= ' ' || *t.p == 0x7f || *t.p == '#')
			return false;
		query = query || *t.p == '?';
		if (*t.p == '%' && !query && !is_escape(t.p, t.end))
			return false;
	}
	return true;
}

static bool
is_absolute(struct text t, struct said *said)
{
	struct text scheme, rest;

	/* https would have to come from a trusted gateway (RFC 9110 7.4) */
	if (!text_cut(&t, ':', &scheme) || !text_is_nocase(scheme, "http"))
		return false;
	if (text_len(t) < 2 || memcmp(t.p, "//", 2) != 0)
		return false;
	t.p += 2;
	for (rest = t; rest.p < rest.end && !strchr("/?#", *rest.p);)
		rest.p++;
	said->absolute = true;
	said->authority = (struct text){t.p, rest.p};
	return is_authority(said->authority) && is_path_and_query(rest);
}

static bool
is_target(struct text t, bool options, struct said *said)
{
	if (text_is(t, "*"))
		return options;
	if (t.p < t.end && *t.p == '/')
		return is_path_and_query(t);
	return is_absolute(t, said);
}

/* ---- the head ---- */

static bool
read_request_line(struct reader *d, struct text line)
{
	struct text method, target;

	d->r->over |= text_len(line) > d->limits->line;
	if (!text_cut(&line, ' ', &method) || !text_is_token(method))
		return false;
	if (!text_cut(&line, ' ', &target) || text_len(line) != 8)
		return false;
	if (memcmp(line.p, "HTTP/1.", 7) != 0 ||
		!isdigit((unsigned char)line.p[7]))
		return false; /* 505 where it is another version */
	d->r->http_1_0 = line.p[7] == '0';
	d->r->head_only = text_is(method, "HEAD");
	if (text_is(method, "CONNECT")) /* for proxies: 501 */
		return false;
	fprintf(d->told, "%.*s %.*s HTTP/1.%d\n", (int)text_len(method),
		method.p, (int)text_len(target), target.p, !d->r->http_1_0);
	return is_target(target, text_is(method, "OPTIONS"), &d->said);
}

/* field-line = field-name ":" OWS field-value OWS */
static bool
split_field(struct text line, struct text *name, struct text *value)
{
	if (!text_cut(&line, ':', name) || !text_is_token(*name) ||
		!text_is_value(line))
		return false;
	*value = text_trim(line);
	return true;
}

/* More than fits is as bad as what is no number. */
static bool
read_number(struct text t, int base, uint64_t *ret)
{
	char z[32];

	if (!text_all_of(t, base == 16 ? HEXDIG : DIGIT))
		return false;
	while (text_len(t) > 1 && *t.p == '0')
		t.p++;
	if (text_len(t) > 20)
		return false;
	snprintf(z, sizeof(z), "%.*s", (int)text_len(t), t.p);
	*ret = strtoull(z, NULL, base);
	if (text_len(t) > (base == 16 ? 16 : 19))
		return false;
	return *ret <= INT64_MAX;
}

static void
read_coding(struct said *s, struct text coding)
{
	if (!s->chunked && text_is_nocase(coding, "chunked"))
		s->chunked = true;
	else
		s->other_coding = true;
}

static void
read_options(struct said *s, struct text list)
{
	struct text t;
	bool more = true;

	while (text_next(&list, &more, &t)) {
		s->close |= text_is_nocase(t, "close");
		s->keep_alive |= text_is_nocase(t, "keep-alive");
	}
}

static void
read_expectations(struct said *s, struct text list)
{
	struct text t;
	bool more = true;

	while (text_next(&list, &more, &t)) {
		if (text_is_nocase(t, "100-continue"))
			s->expect = true;
		else if (text_len(t) > 0)
			s->other_expect = true;
	}
}

static bool
heed_field(struct said *s, struct text name, struct text value)
{
	struct text t;
	bool more = true;

	if (text_is_nocase(name, "host")) {
		s->hosts++;
		return text_len(value) == 0 || is_authority(value);
	}
	if (text_is_nocase(name, "content-length")) {
		s->lengths++;
		return read_number(value, 10, &s->length);
	}
	if (text_is_nocase(name, "transfer-encoding")) {
		s->codings++;
		while (text_next(&value, &more, &t))
			read_coding(s, t);
	}
	if (text_is_nocase(name, "connection"))
		read_options(s, value);
	if (text_is_nocase(name, "expect"))
		read_expectations(s, value);
	return true;
}

static void
tell_field(FILE *told, struct text name, struct text value)
{
	fprintf(told, "%.*s: ", (int)text_len(name), name.p);
	fwrite(value.p, 1, text_len(value), told);
	fputc('\n', told);
}

/* RFC 9112 3.2.2: an absolute form's authority is the Host. */
static void
tell(struct reader *d, struct text name, struct text value)
{
	if (d->said.absolute && text_is_nocase(name, "host"))
		value = d->said.authority;
	tell_field(d->told, name, value);
}

/* Up to the empty line.  In trailers nothing is heeded. */
static bool
read_fields(struct reader *d, bool trailers)
{
	struct text line, name, value;
	size_t n = 0;

	for (; text_line(&d->in, &line); n++) {
		d->r->over |= n > d->limits->fields ||
			text_len(line) > d->limits->field;
		if (text_len(line) == 0)
			return true;
		if (!split_field(line, &name, &value))
			return false;
		if (!trailers && !heed_field(&d->said, name, value))
			return false;
		if (trailers)
			tell_field(d->told, name, value);
		else
			tell(d, name, value);
	}
	return false;
}

/* What the lines say together (RFC 9112 3.2, 6.1, 6.3; RFC 9110 10.1.1). */
static bool
judge_head(struct reader *d)
{
	const struct said *s = &d->said;
	bool old = d->r->http_1_0;

	if (s->hosts > 1 || (s->hosts == 0 && !old))
		return false;
	if (s->lengths > 1 || (s->lengths && s->codings))
		return false;
	if (s->codings && (old || !s->chunked || s->other_coding))
		return false;
	if (s->other_expect && !old)
		return false;
	if (s->hosts == 0 && s->absolute)
		tell_field(d->told, (struct text){"Host", &"Host"[4]},
			s->authority);
	d->r->close = s->close || (old && !s->keep_alive);
	d->r->expects = s->expect && !old && (s->chunked || s->length > 0);
	return true;
}

/* ---- the body ---- */

static void
note_body(struct reader *d, uint64_t n)
{
	d->body_len += n;
	d->r->over |= d->limits->body && d->body_len > d->limits->body;
}

static bool
read_length_body(struct reader *d)
{
	note_body(d, d->said.length);
	if (d->said.length > text_len(d->in))
		return false;
	fwrite(d->in.p, 1, d->said.length, d->told);
	d->in.p += d->said.length;
	return true;
}

/* quoted-string of RFC 9110 5.6.4 at the front */
static bool
skip_quoted(struct text *t)
{
	for (t->p++; t->p < t->end && *t->p != '"'; t->p++) {
		if (*t->p == '\\')
			t->p++;
		if (t->p == t->end || !text_is_value_char(*t->p))
			return false;
	}
	return t->p < t->end && *t->p++ == '"';
}

static bool
skip_token(struct text *t)
{
	struct text token = {t->p, t->p};

	while (token.end < t->end &&
		text_is_token((struct text){token.end, token.end + 1}))
		token.end++;
	t->p = token.end;
	return token.p < token.end;
}

static void
skip_blanks(struct text *t)
{
	while (t->p < t->end && text_is_blank(*t->p))
		t->p++;
}

/* *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] ) */
static bool
is_chunk_ext(struct text t)
{
	while (t.p < t.end) {
		skip_blanks(&t);
		if (t.p == t.end || *t.p++ != ';')
			return false;
		skip_blanks(&t);
		if (!skip_token(&t))
			return false;
		struct text behind = t;
		skip_blanks(&behind);
		if (behind.p == behind.end || *behind.p != '=')
			continue;
		t = (struct text){behind.p + 1, t.end};
		skip_blanks(&t);
		if (t.p < t.end && *t.p == '"' ? !skip_quoted(&t)
					       : !skip_token(&t))
			return false;
	}
	return true;
}

/* chunk-size [ chunk-ext ] CRLF */
static bool
read_chunk_line(struct reader *d, uint64_t *ret_n)
{
	struct text line, size;

	if (!text_line(&d->in, &line))
		return false;
	size = (struct text){line.p, line.p};
	while (size.end < line.end && isxdigit((unsigned char)*size.end))
		size.end++;
	line.p = size.end;
	d->ext_len += text_len(line);
	d->r->over |= text_len(size) + text_len(line) >= CHUNK_LINE ||
		d->ext_len >= CHUNK_EXTS;
	return read_number(size, 16, ret_n) && is_chunk_ext(line);
}

static bool
read_trailers(struct reader *d)
{
	const char *from = d->in.p;
	bool good;

	fputc('\n', d->told);
	good = read_fields(d, true);
	d->r->over |= (size_t)(d->in.p - from) > d->limits->head;
	return good;
}

static bool
read_chunked_body(struct reader *d)
{
	uint64_t n;

	while (read_chunk_line(d, &n)) {
		if (n == 0)
			return read_trailers(d);
		note_body(d, n);
		if (n > text_len(d->in) || text_len(d->in) - n < 2)
			return false;
		fwrite(d->in.p, 1, n, d->told);
		d->in.p += n;
		if (memcmp(d->in.p, "\r\n", 2) != 0)
			return false;
		d->in.p += 2;
	}
	return false;
}

/* ---- a request ---- */

/* RFC 9112 2.2: empty lines before a request are passed over. */
static void
skip_empty_lines(struct text *t)
{
	while (text_len(*t) >= 2 && memcmp(t->p, "\r\n", 2) == 0)
		t->p += 2;
}

static enum reading_kind
read_request(struct reader *d)
{
	const char *from = d->in.p;
	struct text line;
	bool good;

	skip_empty_lines(&d->in);
	if (text_len(d->in) == 0)
		return READING_NOTHING;
	good = text_line(&d->in, &line) && read_request_line(d, line) &&
		read_fields(d, false) && judge_head(d);
	d->r->over |= (size_t)(d->in.p - from) > d->limits->head;
	if (!good)
		return READING_BAD;
	fputc('\n', d->told);
	fflush(d->told); /* which tells its length */
	d->r->told_head = d->r->told_len;
	good = d->said.chunked ? read_chunked_body(d) : read_length_body(d);
	return good ? READING_GOOD : READING_BAD_BODY;
}

void
reader_read(const char *p, size_t n, const struct reader_limits *limits,
	struct reading *ret)
{
	struct reader d = {.in = {p, p + n}, .r = ret, .limits = limits};

	*ret = (struct reading){.told = NULL};
	d.told = open_memstream(&ret->told, &ret->told_len);
	if (!d.told)
		abort();
	ret->kind = read_request(&d);
	ret->used = (size_t)(d.in.p - p);
	fclose(d.told);
}

void
reading_done(struct reading *r)
{
	free(r->told);
	r->told = NULL;
}
