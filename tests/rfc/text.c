/*
 * text.c -- the words that requests are made of.
 */
#include "rfc/text.h"

#include <string.h>
#include <strings.h>

size_t
text_len(struct text t)
{
	return (size_t)(t.end - t.p);
}

bool
text_is(struct text t, const char *z)
{
	return text_len(t) == strlen(z) && memcmp(t.p, z, text_len(t)) == 0;
}

bool
text_is_nocase(struct text t, const char *z)
{
	return text_len(t) == strlen(z) &&
		strncasecmp(t.p, z, text_len(t)) == 0;
}

bool
text_all_of(struct text t, const char *set)
{
	const char *p;

	for (p = t.p; p < t.end; p++)
		if (!*p || !strchr(set, *p))
			return false;
	return t.p < t.end;
}

bool
text_is_token(struct text t)
{
	return text_all_of(t, "!#$%&'*+-.^_`|~" DIGIT ALPHA);
}

bool
text_is_value_char(char c)
{
	return c == '\t' || (unsigned char)c >= 0x80 || (c >= ' ' && c <= '~');
}

bool
text_is_value(struct text t)
{
	for (; t.p < t.end; t.p++)
		if (!text_is_value_char(*t.p))
			return false;
	return true;
}

bool
text_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

struct text
text_trim(struct text t)
{
	while (t.p < t.end && text_is_blank(*t.p))
		t.p++;
	while (t.p < t.end && text_is_blank(t.end[-1]))
		t.end--;
	return t;
}

bool
text_cut(struct text *t, char c, struct text *before)
{
	const char *at = t->p;

	while (at < t->end && *at != c)
		at++;
	if (at == t->end)
		return false;
	*before = (struct text){t->p, at};
	t->p = at + 1;
	return true;
}

bool
text_next(struct text *list, bool *more, struct text *element)
{
	if (!*more)
		return false;
	*more = text_cut(list, ',', element);
	if (!*more)
		*element = *list;
	*element = text_trim(*element);
	return true;
}

bool
text_line(struct text *t, struct text *line)
{
	if (!text_cut(t, '\n', line) || line->p == line->end ||
		line->end[-1] != '\r')
		return false;
	line->end--;
	return true;
}
