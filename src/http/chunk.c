/*
 * chunk.c -- the chunked coding (RFC 9112 7.1), strictly.
 *
 * A state per place in the grammar, a byte at a time: what is read here is
 * only the framing, a few bytes a chunk.  Data never passes through.  A chunk's
 * size becomes `left` when its line is complete and not before, so a caller who
 * sees left > 0 stands right before data.
 *
 * The trailer section is gathered whole and judged by strict.c; parser.c takes
 * it apart.
 */
#include <assert.h>

#include "http/chunk.h"

/*
 * chunk-ext = *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] ), so
 * blanks have to lead somewhere: `5 ` and `5;` are no chunk lines.
 */
enum state {
	SIZE_FIRST,
	SIZE,
	EXT, /* blanks before the next ';' */
	NAME_FIRST,
	NAME,
	NAME_END, /* blanks before '=' or the next ';' */
	VALUE_FIRST,
	VALUE,
	QUOTED,
	ESCAPED,
	QUOTED_END,
	LINE_LF,
	DATA_CR,
	DATA_LF,
	TRAILERS_FIRST,
	TRAILERS_LF,
	TRAILERS,
};

static int
go(struct chunk *c, int state)
{
	c->state = state;
	return 0;
}

static int
want(struct chunk *c, bool good, int state)
{
	return good ? go(c, state) : 400;
}

static bool
is_blank(char ch)
{
	return ch == ' ' || ch == '\t';
}

static bool
is_tchar(char ch)
{
	return strict_is_token((struct str){&ch, 1});
}

static bool
is_text(char ch)
{
	return strict_is_value((struct str){&ch, 1});
}

/* Behind something that may be the last of the line. */
static int
end_part(struct chunk *c, char ch, int blank)
{
	if (ch == '\r')
		return go(c, LINE_LF);
	if (ch == ';')
		return go(c, NAME_FIRST);
	return want(c, is_blank(ch), blank);
}

static int
read_size(struct chunk *c, char ch)
{
	int digit = str_hex_digit(ch);

	if (digit == -1)
		return c->state == SIZE ? end_part(c, ch, EXT) : 400;
	if (c->size > INT64_MAX >> 4)
		return 400;
	c->size = c->size << 4 | (uint64_t)digit;
	return go(c, SIZE);
}

static int
read_name(struct chunk *c, char ch)
{
	if (is_tchar(ch))
		return go(c, NAME);
	if (ch == '=')
		return go(c, VALUE_FIRST);
	return end_part(c, ch, NAME_END);
}

static int
read_name_end(struct chunk *c, char ch)
{
	if (is_blank(ch))
		return 0;
	if (ch == '=')
		return go(c, VALUE_FIRST);
	return want(c, ch == ';', NAME_FIRST);
}

static int
read_value_first(struct chunk *c, char ch)
{
	if (is_blank(ch))
		return 0;
	if (ch == '"')
		return go(c, QUOTED);
	return want(c, is_tchar(ch), VALUE);
}

static int
read_quoted(struct chunk *c, char ch)
{
	if (ch == '"')
		return go(c, QUOTED_END);
	if (ch == '\\')
		return go(c, ESCAPED);
	return is_text(ch) ? 0 : 400;
}

static int
end_line(struct chunk *c, char ch)
{
	if (ch != '\n')
		return 400;
	c->left = c->size;
	c->size = 0;
	c->line_len = 0;
	return go(c, c->left ? DATA_CR : TRAILERS_FIRST);
}

static int
end_body(struct chunk *c, char ch)
{
	c->done = ch == '\n';
	return c->done ? 0 : 400;
}

static int
read_byte(struct chunk *c, char ch)
{
	switch (c->state) {
	case SIZE_FIRST:
	case SIZE:
		return read_size(c, ch);
	case EXT:
		return is_blank(ch) ? 0 : want(c, ch == ';', NAME_FIRST);
	case NAME_FIRST:
		return is_blank(ch) ? 0 : want(c, is_tchar(ch), NAME);
	case NAME:
		return read_name(c, ch);
	case NAME_END:
		return read_name_end(c, ch);
	case VALUE_FIRST:
		return read_value_first(c, ch);
	case VALUE:
		return is_tchar(ch) ? 0 : end_part(c, ch, EXT);
	case QUOTED:
		return read_quoted(c, ch);
	case ESCAPED:
		return want(c, is_text(ch), QUOTED);
	case QUOTED_END:
		return end_part(c, ch, EXT);
	case LINE_LF:
		return end_line(c, ch);
	case DATA_CR:
		return want(c, ch == '\r', DATA_LF);
	case DATA_LF:
		return want(c, ch == '\n', SIZE_FIRST);
	default:
		assert(c->state == TRAILERS_LF);
		return end_body(c, ch);
	}
}

/* The limits of a line, and of what nobody reads in all of them. */
static int
count_byte(struct chunk *c)
{
	if (c->state >= LINE_LF)
		return 0;
	if (c->state > SIZE && ++c->ext_len > CHUNK_EXT_MAX)
		return 400;
	return ++c->line_len > CHUNK_LINE_MAX ? 400 : 0;
}

/* Most bodies have no trailers, and then nothing is gathered. */
static int
begin_trailers(struct chunk *c, char ch, size_t *i)
{
	if (ch != '\r')
		return go(c, TRAILERS);
	++*i;
	return go(c, TRAILERS_LF);
}

/* p[0 .. n) may go beyond the trailers: what is too much is taken off again. */
static int
read_trailers(struct chunk *c, const char *p, size_t n, size_t *ret_used)
{
	struct buf *b = c->trailers;
	size_t before = b->len, room = c->limits->head - before, len;
	int status;

	n = n < room ? n : room;
	buf_add(b, p, n);
	if (b->failed)
		return 500;
	status = strict_scan(&c->strict, c->limits, b->p, b->len, &len);
	if (status || !len) {
		*ret_used = n;
		return status;
	}
	*ret_used = len - before;
	b->len = len;
	c->done = true;
	return 0;
}

static int
parse_some(struct chunk *c, const char *p, size_t n, size_t *i)
{
	size_t used = 0;
	int status;

	if (c->state == TRAILERS_FIRST)
		return begin_trailers(c, p[*i], i);
	if (c->state == TRAILERS) {
		status = read_trailers(c, p + *i, n - *i, &used);
		*i += used;
		return status;
	}
	status = read_byte(c, p[*i]);
	++*i;
	return status ? status : count_byte(c);
}

int
chunk_parse(struct chunk *c, const char *p, size_t n, size_t *ret_used)
{
	size_t i = 0;
	int status = 0;

	assert(c->left == 0);
	while (!status && i < n && c->left == 0 && !c->done)
		status = parse_some(c, p, n, &i);
	*ret_used = i;
	return status;
}

void
chunk_took(struct chunk *c, uint64_t n)
{
	assert(n <= c->left);
	c->left -= n;
}

struct str
chunk_trailers(const struct chunk *c)
{
	return buf_str(c->trailers);
}

void
chunk_reset(struct chunk *c, struct buf *trailers,
	const struct strict_limits *limits)
{
	*c = (struct chunk){.trailers = trailers, .limits = limits};
	buf_reset(trailers);
	strict_reset_trailers(&c->strict);
}

size_t
chunk_head(char *p, uint64_t n)
{
	size_t digits, i;

	assert(n > 0);
	digits = (67 - (size_t)__builtin_clzll(n)) / 4;
	for (i = digits; i > 0; n >>= 4)
		p[--i] = "0123456789abcdef"[n & 15];
	p[digits] = '\r';
	p[digits + 1] = '\n';
	return digits + 2;
}
