/*
 * keys.h -- the key table: one row per INI key.
 *
 * The parser, -T, --help, the completion of a near miss and the check of the
 * man page all read it; a key that is not here does not exist.
 */
#ifndef CONF_KEYS_H
#define CONF_KEYS_H

#include "conf/conf.h"

enum key_type {
	KEY_TEXT,
	KEY_PATH, /* relative to the file's folder, or the current directory */
	KEY_LOG, /* a path, or "-" */
	KEY_APP, /* what app_find() understands; so:./x.so is a path */
	KEY_BIND, /* a list of addresses; unix:x is a path */
	KEY_PEERS, /* a list of addresses, networks, `*` and `unix` */
	KEY_PATHS, /* a list of paths, separated by commas only */
	KEY_COUNT, /* int */
	KEY_COUNT64,
	KEY_SIZE, /* size_t, units k m g of 1024 */
	KEY_SIZE64,
	KEY_TIME, /* int64_t milliseconds; units ms s m h, plain is seconds */
	KEY_MODE, /* octal; without a default it may be empty, -1 */
	KEY_WORKERS, /* count or `auto` */
	KEY_LEVEL, /* error warning info debug */
	KEY_PROXY, /* off v1 v2 auto */
	KEY_SWITCH /* yes or no, int */
};

struct key {
	const char *section;
	const char *name;
	enum key_type type;
	size_t offset; /* in struct conf */
	const char *initial; /* the default as text, NULL for none */
	uint64_t min, max; /* of the numeric types */
	const char *arg; /* what --help calls the value, or all words: a|b */
	const char *help; /* one line */
};

extern const struct key keys[];
extern const size_t keys_len;

/* Sections whose keys are names of the user's own, not rows. */
bool key_is_pairs_section(struct str section);

/* Is there such a section (of rows or of pairs)? */
bool key_is_section(struct str section);
const char *key_nearest_section(struct str section); /* or NULL */

/* The row of that name, or NULL. */
const struct key *key_find(struct str name);

/* The nearest row by edit distance, NULL if none is near enough. */
const struct key *key_nearest(struct str name);

/*
 * path as seen from the folder base, from *a; an absolute one stays as it is.
 * NULL with ENOMEM.
 */
char *key_path(struct arena *a, const char *base, struct str path);

/*
 * Put the text into *c.  Returns 0, or -1 with a reason in *ret_why, from
 * c->arena.  base is the folder relative paths start from.
 */
int key_set(struct conf *c, const struct key *k, struct str text,
	const char *base, const char **ret_why);

/* The value in force as the INI would have it, but not quoted. */
void key_print(const struct conf *c, const struct key *k, struct buf *b);

#endif
