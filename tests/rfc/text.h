/*
 * text.h -- the words that requests are made of.
 *
 * A text is what lies between two pointers.  Functions that take some of it
 * off move its beginning.
 */
#ifndef RFC_TEXT_H
#define RFC_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define DIGIT "0123456789"
#define ALPHA "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define HEXDIG DIGIT "ABCDEFabcdef"

struct text {
	const char *p, *end;
};

size_t text_len(struct text t);
bool text_is(struct text t, const char *z);
bool text_is_nocase(struct text t, const char *z);

/* Only bytes of the set (which is no NUL), at least one. */
bool text_all_of(struct text t, const char *set);

/* RFC 9110 5.6.2, 5.5 (HTAB, SP, VCHAR, obs-text), 5.6.3 */
bool text_is_token(struct text t);
bool text_is_value_char(char c);
bool text_is_value(struct text t);
bool text_is_blank(char c);

struct text text_trim(struct text t);

/* What is before the first c goes to *before, t goes on behind it. */
bool text_cut(struct text *t, char c, struct text *before);

/* The next element of a list, *more being true at first; false after the last. */
bool text_next(struct text *list, bool *more, struct text *element);

/* A line without its CRLF.  A CR elsewhere is for its rule to refuse. */
bool text_line(struct text *t, struct text *line);

#endif
