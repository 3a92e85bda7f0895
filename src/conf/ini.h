/*
 * ini.h -- the INI file's lines: sections, keys, values.
 *
 * The grammar, all of it:
 *
 *	[section]
 *	key = value
 *	key = "value, literally"
 *	; comment, # comment
 *
 * Indentation means nothing; lines end in LF or CRLF; a blank followed by ; or
 * # starts a comment.  Between double quotes everything stands for itself,
 * except that a double quote is written twice.  Knows no section and no key by
 * name.
 */
#ifndef CONF_INI_H
#define CONF_INI_H

#include "base/str.h"

#define INI_LINE_MAX 4096 /* bytes of a line without its end */
#define INI_NAME_MAX 100 /* bytes of a key */

/* Told of each thing in the order of the file; strings end with the call. */
struct ini_visitor {
	/* a section begins */
	void (*section)(void *arg, int line, struct str name);
	/* section is "" before the first one; name and value end in a NUL */
	void (*pair)(void *arg, int line, struct str section, struct str name,
		struct str value);
	/* a line that cannot be read, of this key if the key could be */
	void (*fault)(void *arg, int line, struct str name, const char *why);
	void *arg;
};

void ini_read(struct str text, const struct ini_visitor *v);

/* Would ini_read() take this value for something else without quotes? */
bool ini_needs_quotes(struct str value);

#endif
