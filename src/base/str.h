/*
 * str.h -- borrowed byte strings: a pointer and a length.
 *
 * A struct str never owns what it points to and need not end in a NUL; it may
 * hold any byte, NUL included.  The empty string may have p == NULL.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
	const char *p;
	size_t len;
};

/* A string literal as a str; its closing NUL is not counted. */
#define STR(lit) ((struct str){(lit), sizeof(lit) - 1})

/* For printf: "%.*s", STR_ARG(s).  Not for strings that may hold a NUL. */
#define STR_ARG(s) (int)(s).len, (s).p

struct str str_of(const char *z); /* NULL gives the empty string */

bool str_eq(struct str a, struct str b);

/* n bytes each, ASCII letters alike in both cases. */
bool str_same_letters(const char *a, const char *b, size_t n);

/* Mostly the lengths differ, so that much is done without a call. */
static inline bool
str_eq_nocase(struct str a, struct str b)
{
	return a.len == b.len && str_same_letters(a.p, b.p, a.len);
}

bool str_starts(struct str s, struct str prefix);

/* s without its first n bytes; the empty string if it has no more. */
struct str str_skip(struct str s, size_t n);

/* s without SP and HTAB at both ends (OWS, RFC 9110 5.6.3). */
struct str str_trim(struct str s);

/*
 * Take the piece of *s before the first c off its front, the c too.  Without
 * a c, or at the end, the piece is all of *s.  False once *s is used up; the
 * empty string has one empty piece when its p is not NULL.
 */
bool str_cut(struct str *s, char c, struct str *ret_piece);

/*
 * 1*DIGIT and nothing else (no sign, no blanks) to a number.  Returns -1 with
 * errno EINVAL if it is something else, ERANGE if it does not fit.
 */
int str_to_u64(struct str s, uint64_t *ret_value);

/* What a hexadecimal digit is worth, or -1 if c is none. */
int str_hex_digit(char c);

#endif
