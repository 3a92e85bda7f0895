/*
 * ini.c -- the INI file's lines, read with inih.
 *
 * inih finds sections and pairs, but it cuts long lines and section names in
 * silence, joins indented lines to the pair before, takes `[server` without
 * its bracket and starts comments inside values.  It asks our reader for every
 * line, though, before it calls our handler.  So the reader judges the raw
 * line, keeps the name and the whole value, and passes on a short tame line of
 * the same kind, which inih cannot misread; a line with a fault is passed on
 * as an empty one.
 */
#include <ini.h>
#include <stdio.h>
#include <string.h>

#include "conf/ini.h"

struct reader {
	const struct ini_visitor *v;
	struct str rest; /* of the file */
	int line;
	bool pending; /* a pair was passed on */
	struct str section;
	char name[INI_NAME_MAX + 1];
	char value[INI_LINE_MAX + 1];
	size_t name_len;
	size_t value_len;
};

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool
is_comment(char c)
{
	return c == ';' || c == '#';
}

/* The length of s up to the blank that starts a comment. */
static size_t
before_comment(struct str s)
{
	for (size_t i = 1; i < s.len; i++)
		if (is_comment(s.p[i]) && is_blank(s.p[i - 1]))
			return i - 1;
	return s.len;
}

/* Nothing, or blanks and perhaps a comment behind them? */
static bool
is_nothing(struct str s)
{
	s.len = before_comment(s);
	return str_trim(s).len == 0;
}

static bool
is_name(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.p[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
			!(c >= '0' && c <= '9') && c != '-' && c != '_' &&
			c != '.')
			return false;
	}
	return s.len > 0;
}

static const char *
fault(struct reader *r, struct str name, const char *why)
{
	r->v->fault(r->v->arg, r->line, name, why);
	return "";
}

static const char *
raw_fault(struct str line)
{
	if (line.len > INI_LINE_MAX)
		return "the line is longer than 4096 bytes";
	for (size_t i = 0; i < line.len; i++) {
		unsigned char c = (unsigned char)line.p[i];

		if (c == 0)
			return "NUL byte: is this a text file?";
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return "control byte in the line";
	}
	return NULL;
}

/* `[name]`: tell of it, and give inih a section that is as good. */
static const char *
read_section(struct reader *r, struct str line)
{
	const char *close = memchr(line.p, ']', line.len);
	struct str name, rest, none = {NULL, 0};

	if (!close) {
		line.len = before_comment(line);
		name = str_trim((struct str){line.p + 1, line.len - 1});
		fault(r, none, "the section has no closing ]");
	} else {
		name = (struct str){line.p + 1, (size_t)(close - line.p - 1)};
		rest = (struct str){close + 1, line.len - name.len - 2};
		if (!is_nothing(rest))
			fault(r, none, "text behind the section's ]");
	}
	r->section = name;
	r->v->section(r->v->arg, r->line, name);
	return "[section]\n";
}

/* Text behind an opening quote into r->value; what is wrong with it, or NULL. */
static const char *
read_quoted(struct reader *r, struct str s)
{
	size_t i = 1;

	for (;; i++) {
		if (i == s.len)
			return "the value has no closing double quote";
		if (s.p[i] == '"') {
			if (i + 1 == s.len || s.p[i + 1] != '"')
				break;
			i++;
		}
		r->value[r->value_len++] = s.p[i];
	}
	s.p += i + 1;
	s.len -= i + 1;
	return is_nothing(s) ? NULL
			     : "text behind the closing double quote "
			       "(one inside a value is written twice)";
}

static const char *
read_value(struct reader *r, struct str s)
{
	struct str t = str_trim(s);

	r->value_len = 0;
	if (t.len && t.p[0] == '"')
		return read_quoted(r, t);
	s.len = before_comment(s);
	s = str_trim(s);
	if (s.len)
		memcpy(r->value, s.p, s.len);
	r->value_len = s.len;
	return NULL;
}

static const char *
read_pair(struct reader *r, struct str line)
{
	const char *eq = memchr(line.p, '=', line.len);
	struct str name = line, none = {NULL, 0};
	const char *why;

	if (!eq) {
		name.len = before_comment(line);
		name = str_trim(name);
		return fault(r, is_name(name) ? name : none,
			"no '=' and no value (KEY = VALUE)");
	}
	name.len = (size_t)(eq - line.p);
	name = str_trim(name);
	if (!name.len)
		return fault(r, none, "no key before '=' (KEY = VALUE)");
	if (!is_name(name))
		return fault(r, none,
			"a key is made of letters, digits, '-', '_' and '.'");
	if (name.len > INI_NAME_MAX)
		return fault(r, none, "the key is longer than 100 bytes");
	why = read_value(
		r, (struct str){eq + 1, line.len - (size_t)(eq + 1 - line.p)});
	if (why)
		return fault(r, name, why);
	memcpy(r->name, name.p, name.len);
	r->name[name.len] = r->value[r->value_len] = '\0';
	r->name_len = name.len;
	r->pending = true;
	return "key=value\n";
}

/* Judge a line; returns what inih gets in its place. */
static const char *
read_line(struct reader *r, struct str line)
{
	const char *why;

	if (line.len && line.p[line.len - 1] == '\r')
		line.len--;
	why = raw_fault(line);
	if (why)
		return fault(r, (struct str){NULL, 0}, why);
	line = str_trim(line);
	if (!line.len || is_comment(line.p[0]))
		return "";
	return line.p[0] == '[' ? read_section(r, line) : read_pair(r, line);
}

/* The ini_reader: one line more, as fgets(3) has it. */
static char *
next_line(char *p, int max, void *arg)
{
	struct reader *r = arg;
	struct str line;

	if (r->pending) {
		r->pending = false;
		fault(r, (struct str){r->name, r->name_len}, "was not read");
	}
	if (!r->rest.len || !str_cut(&r->rest, '\n', &line))
		return NULL;
	r->line++;
	if (snprintf(p, (size_t)max, "%s", read_line(r, line)) == 0)
		snprintf(p, (size_t)max, "\n");
	return p;
}

/* The ini_handler: inih has found the pair that the reader keeps. */
static int
take_pair(void *arg, const char *section, const char *name, const char *value)
{
	struct reader *r = arg;

	(void)section, (void)name, (void)value;
	if (!r->pending)
		return 1;
	r->pending = false;
	r->v->pair(r->v->arg, r->line, r->section,
		(struct str){r->name, r->name_len},
		(struct str){r->value, r->value_len});
	return 1;
}

void
ini_read(struct str text, const struct ini_visitor *v)
{
	static const struct str bom = STR("\xEF\xBB\xBF");
	struct reader r = {.v = v, .rest = text, .section = STR("")};

	if (str_starts(text, bom))
		r.rest = str_skip(text, bom.len);
	ini_parse_stream(next_line, &r, take_pair, &r);
}

bool
ini_needs_quotes(struct str value)
{
	return str_trim(value).len != value.len ||
		(value.len && (value.p[0] == '"' || is_comment(value.p[0]))) ||
		before_comment(value) != value.len;
}
