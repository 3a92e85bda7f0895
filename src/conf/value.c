/*
 * value.c -- numbers and their units, as text and back.
 *
 * One table for both ways.  There are no signs, no fractions, no exponents and
 * no blanks before a unit: what looks odd is refused, never guessed at.
 */
#include <errno.h>

#include "conf/value.h"

struct unit {
	enum value_unit of;
	const char *suffix;
	uint64_t factor;
};

/* The largest first, so that the first that divides a value prints it. */
static const struct unit units[] = {
	{VALUE_SIZE, "g", 1024 * 1024 * 1024},
	{VALUE_SIZE, "m", 1024 * 1024},
	{VALUE_SIZE, "k", 1024},
	{VALUE_SIZE, "", 1},
	{VALUE_TIME, "h", 60 * 60 * 1000},
	{VALUE_TIME, "m", 60 * 1000},
	{VALUE_TIME, "s", 1000},
	{VALUE_TIME, "ms", 1},
	{VALUE_TIME, "", 1000},
	{VALUE_COUNT, "", 1},
};
#define UNITS (sizeof(units) / sizeof(units[0]))

const char *const value_nouns[] = {
	[VALUE_COUNT] = "a number",
	[VALUE_SIZE] = "a size (a number, then k, m, g or nothing)",
	[VALUE_TIME] = "a time (a number, then ms, s, m, h or nothing)",
	[VALUE_OCTAL] = "an octal number",
};

static int
read_octal(struct str text, uint64_t *ret_value)
{
	uint64_t v = 0;

	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] < '0' || text.p[i] > '7') {
			errno = EINVAL;
			return -1;
		}
		if (v >> 61) {
			errno = ERANGE;
			return -1;
		}
		v = v << 3 | (uint64_t)(text.p[i] - '0');
	}
	*ret_value = v;
	return 0;
}

static int
read_scaled(struct str digits, uint64_t factor, uint64_t *ret_value)
{
	uint64_t v;

	if (str_to_u64(digits, &v) == -1)
		return -1;
	if (__builtin_mul_overflow(v, factor, &v)) {
		errno = ERANGE;
		return -1;
	}
	*ret_value = v;
	return 0;
}

int
value_read(enum value_unit unit, struct str text, uint64_t *ret_value)
{
	struct str digits = {text.p, 0}, suffix;

	if (unit == VALUE_OCTAL && text.len)
		return read_octal(text, ret_value);
	while (digits.len < text.len && text.p[digits.len] >= '0' &&
		text.p[digits.len] <= '9')
		digits.len++;
	suffix = str_skip(text, digits.len);
	for (size_t i = 0; i < UNITS && digits.len; i++)
		if (units[i].of == unit &&
			str_eq(suffix, str_of(units[i].suffix)))
			return read_scaled(digits, units[i].factor, ret_value);
	errno = EINVAL;
	return -1;
}

void
value_print(enum value_unit unit, uint64_t value, struct buf *b)
{
	const struct unit *u = units;

	if (unit == VALUE_OCTAL) {
		buf_addf(b, "%04llo", (unsigned long long)value);
		return;
	}
	while (u->of != unit || value % u->factor)
		u++;
	if (!value) {
		buf_add_char(b, '0');
		return;
	}
	buf_add_u64(b, value / u->factor);
	buf_add_str(b, str_of(u->suffix));
}
