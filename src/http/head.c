/*
 * head.c -- a request head, as views into the bytes that came.
 *
 * Only the container: strict.c judges the bytes, parser.c fills it, framing.c
 * and target.c read it.  The array of fields is the caller's and is kept over
 * resets.
 */
#include "http/head.h"

void
head_init(struct head *h, struct field *fields, size_t max)
{
	*h = (struct head){.fields = fields, .fields_max = max};
}

void
head_reset(struct head *h)
{
	head_init(h, h->fields, h->fields_max);
}

const struct str *
head_get(const struct head *h, struct str name)
{
	const struct field *f;

	for (f = h->fields; f < h->fields + h->nfields; f++)
		if (str_eq_nocase(f->name, name))
			return &f->value;
	return NULL;
}
