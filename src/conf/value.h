/*
 * value.h -- numbers and their units, as text and back.
 */
#ifndef CONF_VALUE_H
#define CONF_VALUE_H

#include "base/buf.h"

enum value_unit {
	VALUE_COUNT, /* plain digits */
	VALUE_SIZE, /* bytes; k, m, g of 1024 */
	VALUE_TIME, /* milliseconds; ms, s, m, h, plain digits are seconds */
	VALUE_OCTAL
};

/* What a good text of that unit is, for `... is not a size (...)`. */
extern const char *const value_nouns[];

/* -1 with errno: EINVAL for a text of another form, ERANGE beyond 64 bits. */
int value_read(enum value_unit unit, struct str text, uint64_t *ret_value);

/* The shortest exact text; value_read() gives the same value back. */
void value_print(enum value_unit unit, uint64_t value, struct buf *b);

#endif
