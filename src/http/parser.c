/*
 * parser.c -- tokenise a request head with http-parser.
 *
 * http-parser gets the raw bytes in pieces: those between the fields that
 * framing.c owns, which it would judge in its own way, behind a method of our
 * choice, since it knows but 34.  What is kept from it is put into the head
 * here, in its place.  So all it can do is to agree with strict.c about where
 * the parts begin and end; when it does not, the answer is 400.
 *
 * The bytes are not copied, nothing is allocated, and the pieces are seen once.
 */
#include <assert.h>
#include <string.h>

#include <http_parser.h>

#include "http/framing.h"
#include "http/parser.h"

/* Of " HTTP/1.1\r\n". */
#define VERSION_LEN 11

struct tokens {
	struct http_parser parser; /* its data points back to here */
	struct head *head;
	struct field *field; /* the one whose value comes next */
	struct str target;
	bool full;
	bool complete;
};

static struct field *
add_field(struct tokens *t, const char *p, size_t n)
{
	struct head *h = t->head;
	struct field *f;

	if (h->nfields == h->fields_max) {
		t->full = true;
		return NULL;
	}
	f = &h->fields[h->nfields++];
	f->name = (struct str){p, n};
	f->value = (struct str){p + n, 0};
	return f;
}

static int
on_url(struct http_parser *parser, const char *p, size_t n)
{
	struct tokens *t = parser->data;

	t->target = (struct str){p, n};
	return 0;
}

static int
on_name(struct http_parser *parser, const char *p, size_t n)
{
	struct tokens *t = parser->data;

	t->field = add_field(t, p, n);
	return t->field ? 0 : -1;
}

/* An empty value is told only with the next line, from where p then is. */
static int
on_value(struct http_parser *parser, const char *p, size_t n)
{
	struct tokens *t = parser->data;

	if (n)
		t->field->value = str_trim((struct str){p, n});
	return 0;
}

static int
on_complete(struct http_parser *parser)
{
	struct tokens *t = parser->data;

	t->complete = true;
	return 0;
}

static const struct http_parser_settings callbacks = {
	.on_url = on_url,
	.on_header_field = on_name,
	.on_header_value = on_value,
	.on_message_complete = on_complete,
};

static void
tokens_init(struct tokens *t, struct head *h)
{
	*t = (struct tokens){.head = h};
	http_parser_init(&t->parser, HTTP_REQUEST);
	t->parser.data = t;
	http_parser_set_max_header_size(UINT32_MAX); /* strict.c judged it */
}

static int
feed(struct tokens *t, const char *p, const char *end)
{
	size_t n = (size_t)(end - p);

	if (n == 0)
		return 0; /* to http-parser that would be the end of it all */
	if (http_parser_execute(&t->parser, &callbacks, p, n) == n &&
		HTTP_PARSER_ERRNO(&t->parser) == HPE_OK)
		return 0;
	return t->full ? 431 : 400;
}

static const char *
line_end(const char *p, const char *end)
{
	const char *lf = memchr(p, '\n', (size_t)(end - p));

	return lf ? lf + 1 : end;
}

/* Most lines cannot be one of framing's, and the first letter tells. */
static bool
may_be_owned(char c)
{
	c |= 0x20;
	return c == 'c' || c == 't' || c == 'e' || c == 'u' || c == 'p';
}

/* The length of the name of the line at p if it is framing's, else 0. */
static size_t
owned_name(const char *p, const char *end)
{
	const char *colon;

	if (!may_be_owned(*p))
		return 0;
	colon = memchr(p, ':', (size_t)(end - p));
	if (!colon || !framing_owns((struct str){p, (size_t)(colon - p)}))
		return 0;
	return (size_t)(colon - p);
}

static int
add_owned(struct tokens *t, const char *line, size_t n, const char *end)
{
	struct field *f = add_field(t, line, n);

	if (!f)
		return 431;
	line += n + 1;
	f->value = str_trim((struct str){line, (size_t)(end - line) - 2});
	return 0;
}

/*
 * Field lines and the empty line, in [line .. end); the piece that is fed first
 * begins at p, in front of them.
 */
static int
read_fields(struct tokens *t, const char *p, const char *line, const char *end)
{
	const char *next;
	size_t name;
	int status = 0;

	for (; line < end && !status; line = next) {
		next = line_end(line, end);
		name = owned_name(line, next);
		if (!name)
			continue;
		status = feed(t, p, line);
		if (!status)
			status = add_owned(t, line, name, next);
		p = next;
	}
	if (!status)
		status = feed(t, p, end);
	if (!status && !t->complete)
		status = 400;
	return status;
}

/* The parts of a request line that strict.c accepted, CRLF included. */
static void
split_line(struct head *h, const char *p, const char *end)
{
	const char *sp = memchr(p, ' ', (size_t)(end - p));
	const char *version = end - VERSION_LEN;

	assert(sp && sp < version);
	h->line = (struct str){p, (size_t)(end - p) - 2};
	h->method = (struct str){p, (size_t)(sp - p)};
	h->target = (struct str){sp + 1, (size_t)(version - sp) - 1};
	h->minor = end[-3] > '0';
}

/* CONNECT is refused by target.c, whatever its target looks like. */
static int
read_connect(struct tokens *t, const char *line, const char *end)
{
	static const char get[] = "GET /";
	struct str target = t->head->target;
	int status = feed(t, get, get + sizeof(get) - 1);

	return status ? status
		      : read_fields(t, target.p + target.len, line, end);
}

static int
read_request(struct tokens *t, const char *line, const char *end)
{
	static const char get[] = "GET ";
	struct str target = t->head->target;
	int status = feed(t, get, get + sizeof(get) - 1);

	if (!status)
		status = read_fields(t, target.p, line, end);
	if (!status && (t->target.p != target.p || t->target.len != target.len))
		status = 400;
	return status;
}

int
parser_read(struct head *h, const char *p, size_t len)
{
	const char *end = p + len, *fields = line_end(p, end);
	struct tokens t;

	head_reset(h);
	split_line(h, p, fields);
	tokens_init(&t, h);
	if (str_eq(h->method, STR("CONNECT")))
		return read_connect(&t, fields, end);
	return read_request(&t, fields, end);
}

int
parser_read_trailers(struct head *h, const char *p, size_t len)
{
	static const char get[] = "GET / HTTP/1.1\r\n";
	struct tokens t;
	int status;

	head_reset(h);
	tokens_init(&t, h);
	status = feed(&t, get, get + sizeof(get) - 1);
	return status ? status : read_fields(&t, p, p, p + len);
}
