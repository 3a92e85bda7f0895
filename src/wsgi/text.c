/*
 * text.c -- bytes of HTTP and str of PEP 3333.
 */
#include "wsgi/text.h"

bool
text_eq_nocase(nw_str s, const char *z)
{
	size_t i;

	for (i = 0; i < s.len && z[i]; i++) {
		char c = s.p[i];

		if ((c >= 'A' && c <= 'Z' ? c | 0x20 : c) != z[i])
			return false;
	}
	return i == s.len && !z[i];
}
