/*
 * str.c -- borrowed byte strings.
 *
 * Nothing here allocates, and nothing depends on the locale: HTTP and the INI
 * file mean ASCII.
 */
#include <errno.h>
#include <string.h>

#include "base/str.h"

struct str
str_of(const char *z)
{
	return (struct str){z, z ? strlen(z) : 0};
}

bool
str_eq(struct str a, struct str b)
{
	return a.len == b.len && (a.len == 0 || !memcmp(a.p, b.p, a.len));
}

static unsigned char
lower(unsigned char c)
{
	return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

bool
str_same_letters(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i] != b[i] && lower(a[i]) != lower(b[i]))
			return false;
	return true;
}

bool
str_starts(struct str s, struct str prefix)
{
	return s.len >= prefix.len &&
		str_eq((struct str){s.p, prefix.len}, prefix);
}

struct str
str_skip(struct str s, size_t n)
{
	if (n > s.len)
		n = s.len;
	return n ? (struct str){s.p + n, s.len - n} : s;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

struct str
str_trim(struct str s)
{
	while (s.len && is_blank(s.p[0]))
		s.p++, s.len--;
	while (s.len && is_blank(s.p[s.len - 1]))
		s.len--;
	return s;
}

bool
str_cut(struct str *s, char c, struct str *ret_piece)
{
	const char *q;

	if (!s->p)
		return false;
	q = s->len ? memchr(s->p, c, s->len) : NULL;
	if (!q) {
		*ret_piece = *s;
		*s = (struct str){NULL, 0};
		return true;
	}
	*ret_piece = (struct str){s->p, (size_t)(q - s->p)};
	s->len -= ret_piece->len + 1;
	s->p = q + 1;
	return true;
}

int
str_to_u64(struct str s, uint64_t *ret_value)
{
	uint64_t v = 0;

	for (size_t i = 0; i < s.len; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			goto invalid;
	if (!s.len)
		goto invalid;
	for (size_t i = 0; i < s.len; i++)
		if (__builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, s.p[i] - '0', &v)) {
			errno = ERANGE;
			return -1;
		}
	*ret_value = v;
	return 0;
invalid:
	errno = EINVAL;
	return -1;
}

int
str_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
