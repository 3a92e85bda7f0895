/*
 * access.c -- the access log.
 *
 * The format is taken apart once; a line is then a walk over its atoms.  Who
 * opens the file and when a line is due is left to others.
 *
 * Always holds: whatever a client or an application sent, nothing but
 * printable ASCII without quotes and backslashes gets into a line, so one
 * request is one line and a quoted value ends where it seems to end.
 */
#include "worker/access.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/*
 * An atom is known by its letter in the format; '{Name}i' and '{Name}o' by the
 * last one, with the name as text.  These have no letter of their own:
 */
#define LITERAL '%' /* the text itself */
#define TARGET '>'

struct access_atom {
	char kind;
	struct str text;
};

static const char letters[] = "hlutrmUqHsBbfaTDMLpQWR";

/* What becomes of '{VARIABLE}e': the part of an environ a server knows. */
static const struct {
	const char *name;
	struct access_atom atom;
} variables[] = {
	{"REMOTE_ADDR", {'h', {0}}},
	{"REQUEST_METHOD", {'m', {0}}},
	{"RAW_URI", {TARGET, {0}}},
	{"REQUEST_URI", {TARGET, {0}}},
	{"PATH_INFO", {'U', {0}}},
	{"QUERY_STRING", {'q', {0}}},
	{"SERVER_PROTOCOL", {'H', {0}}},
	{"CONTENT_TYPE", {'i', {"content-type", 12}}},
	{"CONTENT_LENGTH", {'i', {"content-length", 14}}},
	{NULL, {0, {0}}},
};

/* ---- the format ---- */

static struct access_atom
literal(const char *p, size_t n)
{
	return (struct access_atom){LITERAL, {p, n}};
}

static struct access_atom
field(const char *name)
{
	return (struct access_atom){'i', {name, strlen(name)}};
}

static struct access_atom
variable(struct str name)
{
	for (size_t i = 0; variables[i].name; i++)
		if (str_eq_nocase(name, str_of(variables[i].name)))
			return variables[i].atom;
	if (name.len > 5 && strncasecmp(name.p, "HTTP_", 5) == 0)
		return (struct access_atom){'e', {name.p + 5, name.len - 5}};
	return literal("-", 1);
}

/* What stands between '%(' and ')s'.  -1: nothing we know. */
static int
read_name(struct str s, struct access_atom *ret)
{
	struct str inner = {s.p + 1, s.len - 3};
	char last = s.len ? s.p[s.len - 1] : '\0';

	if (s.len == 1 && strchr(letters, last)) {
		*ret = last == 'l'    ? literal("-", 1)
			: last == 'f' ? field("referer")
			: last == 'a' ? field("user-agent")
				      : (struct access_atom){last, {0}};
		return 0;
	}
	if (s.len < 4 || s.p[0] != '{' || s.p[s.len - 2] != '}')
		return -1;
	if (last == 'e')
		*ret = variable(inner);
	else if (last == 'i' || last == 'o')
		*ret = (struct access_atom){last, inner};
	else
		return -1;
	return 0;
}

/* Take the next atom off the format.  1; 0 at its end; -1: it is none. */
static int
next_atom(const char **format, struct access_atom *ret)
{
	const char *p = *format, *end;
	size_t n = strcspn(p, "%");

	if (n > 0) {
		*ret = literal(p, n);
		*format += n;
		return 1;
	}
	if (*p == '\0')
		return 0;
	if (p[1] == '%') {
		*ret = literal(p, 1);
		*format += 2;
		return 1;
	}
	end = p[1] == '(' ? strchr(p, ')') : NULL;
	if (!end || end[1] != 's' ||
		read_name((struct str){p + 2, (size_t)(end - p) - 2}, ret) ==
			-1)
		return -1;
	*format = end + 2;
	return 1;
}

const char *
access_check(const char *format)
{
	static char why[64];
	struct access_atom atom;
	int r, len = 2;

	while ((r = next_atom(&format, &atom)) == 1)
		;
	if (r == 0)
		return NULL;
	if (format[1] == '(')
		len = (int)strcspn(format, ")") + 2;
	snprintf(why, sizeof(why), "unknown atom '%.*s'", len, format);
	return why;
}

int
access_init(struct access_log *a, int fd, const char *format)
{
	size_t max = strlen(format), size = max * sizeof(struct access_atom);
	char *copy;
	int r;

	*a = (struct access_log){.fd = fd};
	a->atoms = malloc(size + max + 1);
	if (!a->atoms)
		return -1;
	copy = (char *)a->atoms + size;
	format = memcpy(copy, format, max + 1);
	while ((r = next_atom(&format, &a->atoms[a->natoms])) == 1)
		a->natoms++;
	if (r == 0)
		return 0;
	access_done(a);
	errno = EINVAL;
	return -1;
}

void
access_done(struct access_log *a)
{
	free(a->atoms);
	buf_done(&a->line);
	*a = (struct access_log){.fd = -1};
}

/* ---- a line ---- */

static bool
is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void
add_escaped(struct buf *b, struct str s)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n;

	while (s.len > 0) {
		for (n = 0; n < s.len && is_plain(s.p[n]); n++)
			;
		buf_add(b, s.p, n);
		if (n < s.len) {
			unsigned char c = s.p[n++];
			char x[4] = {'\\', 'x', hex[c >> 4], hex[c & 15]};

			buf_add(b, x, sizeof(x));
		}
		s.p += n;
		s.len -= n;
	}
}

static void
add_value(struct buf *b, struct str s)
{
	if (s.len == 0)
		buf_add_char(b, '-');
	else
		add_escaped(b, s);
}

static void
add_field(struct buf *b, const struct head *h, struct str name)
{
	const struct str *value = h ? head_get(h, name) : NULL;

	add_value(b, value ? *value : STR(""));
}

/* Is the field X-Name what an environ calls HTTP_X_NAME? */
static bool
is_variable(struct str name, struct str variable_name)
{
	if (name.len != variable_name.len)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.p[i] == '-' ? '_' : name.p[i];

		if (name.p[i] == '_' ||
			toupper((unsigned char)c) !=
				toupper((unsigned char)variable_name.p[i]))
			return false;
	}
	return true;
}

static void
add_variable(struct buf *b, const struct head *h, struct str name)
{
	struct str value = {NULL, 0};

	for (size_t i = 0; h && i < h->nfields && !value.p; i++)
		if (is_variable(h->fields[i].name, name))
			value = h->fields[i].value;
	add_value(b, value);
}

static int
base64_digit(unsigned char c)
{
	if (isupper(c))
		return c - 'A';
	if (islower(c))
		return c - 'a' + 26;
	if (isdigit(c))
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* The decoded text up to the colon; false if there is none, or no text. */
static bool
add_user(struct buf *b, struct str coded)
{
	size_t before = b->len;
	unsigned bits = 0, nbits = 0;

	for (size_t i = 0; i < coded.len; i++) {
		int digit = base64_digit(coded.p[i]);
		char c;

		if (digit == -1)
			break;
		bits = bits << 6 | (unsigned)digit;
		nbits += 6;
		if (nbits < 8)
			continue;
		nbits -= 8;
		c = (char)(bits >> nbits);
		if (c == ':')
			return b->len > before;
		add_escaped(b, (struct str){&c, 1});
	}
	b->len = before;
	return false;
}

/* RFC 7617: Authorization: Basic base64(user ":" password) */
static void
add_basic_user(struct buf *b, const struct head *h)
{
	const struct str *value = h ? head_get(h, STR("authorization")) : NULL;
	struct str scheme, coded;

	if (value) {
		coded = *value;
		if (str_cut(&coded, ' ', &scheme) &&
			str_eq_nocase(scheme, STR("basic")) &&
			add_user(b, str_trim(coded)))
			return;
	}
	buf_add_char(b, '-');
}

static void
add_stamp(struct access_log *a)
{
	time_t now = time(NULL);

	if (now != a->stamp_at || a->stamp_len == 0) {
		a->stamp_len = clock_access_stamp(a->stamp);
		a->stamp_at = now;
	}
	buf_add_char(&a->line, '[');
	buf_add(&a->line, a->stamp, a->stamp_len);
	buf_add_char(&a->line, ']');
}

/* Seconds with six decimals. */
static void
add_seconds(struct buf *b, uint64_t us)
{
	char decimals[7] = ".";

	for (uint64_t i = 6, rest = us % 1000000; i > 0; i--, rest /= 10)
		decimals[i] = (char)('0' + rest % 10);
	buf_add_u64(b, us / 1000000);
	buf_add(b, decimals, sizeof(decimals));
}

static void
add_protocol(struct buf *b, const struct head *h)
{
	if (h && h->method.len)
		buf_add_str(b, h->minor ? STR("HTTP/1.1") : STR("HTTP/1.0"));
	else
		buf_add_char(b, '-');
}

static struct str
text_of(char kind, const struct access_entry *e)
{
	switch (kind) {
	case 'h':
		return e->peer;
	case 'r':
		return e->line;
	case 'm':
		return e->head ? e->head->method : STR("");
	case TARGET:
		return e->head ? e->head->target : STR("");
	case 'U':
		return e->path;
	case 'q':
		return e->query;
	}
	return STR("");
}

static uint64_t
number_of(char kind, const struct access_entry *e)
{
	uint64_t us = e->micros > 0 ? (uint64_t)e->micros : 0;

	switch (kind) {
	case 's':
		return (uint64_t)e->status;
	case 'B':
	case 'b':
		return e->body_bytes;
	case 'T':
		return us / 1000000;
	case 'M':
		return us / 1000;
	case 'D':
	case 'L':
		return us;
	case 'Q':
		return (uint64_t)e->peak_chunks;
	case 'W':
		return e->blocked_out_us;
	case 'R':
		return e->blocked_in_us;
	case 'p':
		return (uint64_t)getpid();
	}
	return 0;
}

static void
add_atom(struct access_log *a, const struct access_atom *atom,
	const struct access_entry *e)
{
	uint64_t number = number_of(atom->kind, e);
	struct buf *b = &a->line;

	switch (atom->kind) {
	case LITERAL:
		buf_add_str(b, atom->text);
		break;
	case 'h':
	case 'r':
	case 'm':
	case TARGET:
	case 'U':
	case 'q':
		add_value(b, text_of(atom->kind, e));
		break;
	case 'u':
		add_basic_user(b, e->head);
		break;
	case 't':
		add_stamp(a);
		break;
	case 'H':
		add_protocol(b, e->head);
		break;
	case 'L':
		add_seconds(b, number);
		break;
	case 'p':
		buf_add_char(b, '<');
		buf_add_u64(b, number);
		buf_add_char(b, '>');
		break;
	case 'i':
		add_field(b, e->head, atom->text);
		break;
	case 'o':
		if (e->response_field)
			add_value(b, e->response_field(e->arg, atom->text));
		else
			buf_add_char(b, '-');
		break;
	case 'e':
		add_variable(b, e->head, atom->text);
		break;
	case 'b':
		if (number == 0) {
			buf_add_char(b, '-');
			break;
		}
		/* fall through */
	default:
		buf_add_u64(b, number);
	}
}

void
access_write(struct access_log *a, const struct access_entry *e)
{
	if (a->fd == -1)
		return;
	buf_reset(&a->line);
	for (size_t i = 0; i < a->natoms; i++)
		add_atom(a, &a->atoms[i], e);
	buf_add_char(&a->line, '\n');
	if (!a->line.failed)
		(void)io_write_line(a->fd, a->line.p, a->line.len, &a->reader);
}
