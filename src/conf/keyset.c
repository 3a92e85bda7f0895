/*
 * keyset.c -- a text becomes a member of struct conf, and back.
 *
 * Judges one value at a time.  What several keys say together, and whether the
 * paths and names exist, is check.c's.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/allow.h"
#include "conf/keys.h"
#include "conf/value.h"
#include "http/proxy.h"

static int
refuse(const char **ret_why, const char *why)
{
	*ret_why = why ? why : "out of memory";
	return -1;
}

static enum value_unit
unit_of(const struct key *k)
{
	switch (k->type) {
	case KEY_SIZE:
	case KEY_SIZE64:
		return VALUE_SIZE;
	case KEY_TIME:
		return VALUE_TIME;
	case KEY_MODE:
		return VALUE_OCTAL;
	default:
		return VALUE_COUNT;
	}
}

/* Both ways: the first word is how it prints. */
static const char *const switches[2][5] = {
	{"no", "false", "off", "0", NULL},
	{"yes", "true", "on", "1", NULL},
};

static void
store_number(struct conf *c, const struct key *k, uint64_t v)
{
	void *at = (char *)c + k->offset;

	if (k->type == KEY_COUNT64 || k->type == KEY_SIZE64)
		*(uint64_t *)at = v;
	else if (k->type == KEY_SIZE)
		*(size_t *)at = (size_t)v;
	else if (k->type == KEY_TIME)
		*(int64_t *)at = (int64_t)v;
	else
		*(int *)at = (int)v;
}

static uint64_t
load_number(const struct conf *c, const struct key *k)
{
	const void *at = (const char *)c + k->offset;

	if (k->type == KEY_COUNT64 || k->type == KEY_SIZE64)
		return *(const uint64_t *)at;
	if (k->type == KEY_SIZE)
		return *(const size_t *)at;
	if (k->type == KEY_TIME)
		return (uint64_t) * (const int64_t *)at;
	return (uint64_t) * (const int *)at;
}

static int
refuse_range(struct conf *c, const struct key *k, struct str text,
	const char **ret_why)
{
	struct buf b;
	const char *why;

	buf_init(&b);
	buf_addf(&b, "%.*s is out of range (", STR_ARG(text));
	value_print(unit_of(k), k->min, &b);
	buf_add_str(&b, STR(" to "));
	value_print(unit_of(k), k->max, &b);
	buf_add_char(&b, ')');
	why = arena_dup(&c->arena, buf_str(&b)).p;
	buf_done(&b);
	return refuse(ret_why, why);
}

static int
set_number(struct conf *c, const struct key *k, struct str text,
	const char **ret_why)
{
	uint64_t v;

	if (!k->initial && !text.len) {
		store_number(c, k, UINT64_MAX);
		return 0;
	}
	if (value_read(unit_of(k), text, &v) == -1) {
		if (errno == ERANGE)
			return refuse_range(c, k, text, ret_why);
		return refuse(ret_why,
			arena_printf(&c->arena, "'%.*s' is not %s",
				STR_ARG(text), value_nouns[unit_of(k)]));
	}
	if (v < k->min || v > k->max)
		return refuse_range(c, k, text, ret_why);
	store_number(c, k, v);
	return 0;
}

/* Twice the processors this process may use, and one. */
static uint64_t
auto_workers(const struct key *k)
{
	cpu_set_t set;
	uint64_t n = 1;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = (uint64_t)CPU_COUNT(&set);
	n = n * 2 + 1;
	return n < k->max ? n : k->max;
}

static const char *const *
names_of(const struct key *k)
{
	return k->type == KEY_PROXY ? proxy_mode_names : log_level_names;
}

static int
set_name(struct conf *c, const struct key *k, struct str text,
	const char **ret_why)
{
	const char *const *names = names_of(k);

	for (int i = 0; names[i]; i++)
		if (str_eq(text, str_of(names[i]))) {
			store_number(c, k, (uint64_t)i);
			return 0;
		}
	return refuse(ret_why,
		arena_printf(&c->arena, "'%.*s' is not %s, %s, %s or %s",
			STR_ARG(text), names[0], names[1], names[2], names[3]));
}

static int
set_switch(struct conf *c, const struct key *k, struct str text,
	const char **ret_why)
{
	for (int on = 0; on < 2; on++)
		for (int i = 0; switches[on][i]; i++)
			if (str_eq(text, str_of(switches[on][i]))) {
				store_number(c, k, (uint64_t)on);
				return 0;
			}
	return refuse(ret_why,
		arena_printf(
			&c->arena, "'%.*s' is not yes or no", STR_ARG(text)));
}

char *
key_path(struct arena *a, const char *base, struct str path)
{
	while (str_starts(path, STR("./")))
		path = str_skip(path, 2);
	if (str_starts(path, STR("/")))
		return (char *)arena_dup(a, path).p;
	if (!path.len || str_eq(path, STR(".")))
		return arena_strdup(a, base);
	if (!strcmp(base, "/"))
		base = "";
	return arena_printf(a, "%s/%.*s", base, STR_ARG(path));
}

static int
set_text(struct conf *c, const struct key *k, const char *text,
	const char **ret_why)
{
	if (!text)
		return refuse(ret_why, NULL);
	*(const char **)((char *)c + k->offset) = *text ? text : NULL;
	return 0;
}

/* MODULE or MODULE:CALLABLE */
static const char *
wsgi_fault(struct str spec)
{
	struct str module, piece;

	if (!str_cut(&spec, ':', &module) || !module.len)
		return "names no module";
	if (spec.p && !str_trim(spec).len)
		return "names no callable behind its colon";
	while (str_cut(&module, '.', &piece)) {
		if (!piece.len)
			return "names a module with an empty part";
		for (size_t i = 0; i < piece.len; i++)
			if (strchr(" \t/()[]'\",;", piece.p[i]))
				return "names no module";
	}
	return NULL;
}

static int
set_app(struct conf *c, const struct key *k, struct str text, const char *base,
	const char **ret_why)
{
	struct str rest = str_skip(text, 3);
	const char *why = NULL;

	if (str_starts(text, STR("so:"))) {
		if (!rest.len)
			why = "names no file";
		else if (memchr(rest.p, '/', rest.len))
			return set_text(c, k,
				arena_printf(&c->arena, "so:%s",
					key_path(&c->arena, base, rest)),
				ret_why);
	} else if (str_starts(text, STR("wsgi:"))) {
		why = wsgi_fault(str_skip(text, 5));
	} else if (text.len && !memchr(text.p, ':', text.len)) {
		why = "is not MODULE:CALLABLE, wsgi:MODULE or so:NAME";
	} else if (text.len) {
		why = wsgi_fault(text);
	}
	if (why)
		return refuse(ret_why,
			arena_printf(
				&c->arena, "'%.*s' %s", STR_ARG(text), why));
	return set_text(c, k, arena_dup(&c->arena, text).p, ret_why);
}

/* One item of a list as it is kept, or NULL with a reason. */
static const char *
list_item(struct conf *c, const struct key *k, struct str item,
	const char *base, const char **ret_why)
{
	struct str path = str_skip(item, 5);
	struct allow_entry entry;
	const char *why;

	*ret_why = "out of memory";
	if (k->type == KEY_PATHS)
		return key_path(&c->arena, base, item);
	if (k->type == KEY_PEERS && allow_read(item, &entry, &why) == -1) {
		refuse(ret_why,
			arena_printf(
				&c->arena, "'%.*s': %s", STR_ARG(item), why));
		return NULL;
	}
	if (k->type == KEY_BIND && str_starts(item, STR("unix:")) && path.len)
		return arena_printf(
			&c->arena, "unix:%s", key_path(&c->arena, base, path));
	return arena_dup(&c->arena, item).p;
}

/* Take the next item off the list: commas part items, in most lists blanks. */
static bool
next_item(const struct key *k, struct str *s, struct str *ret_item)
{
	const char *parts = k->type == KEY_PATHS ? "," : ", \t";
	size_t n;

	for (;;) {
		while (s->len && strchr(", \t", s->p[0]))
			s->p++, s->len--;
		if (!s->len)
			return false;
		for (n = 0; n < s->len && !strchr(parts, s->p[n]);)
			n++;
		*ret_item = str_trim((struct str){s->p, n});
		s->p += n;
		s->len -= n;
		return true;
	}
}

static int
set_list(struct conf *c, const struct key *k, struct str text, const char *base,
	const char **ret_why)
{
	struct conf_list *at = (void *)((char *)c + k->offset), list = {0};
	struct str rest = text, item;
	size_t n = 0;

	while (next_item(k, &rest, &item))
		n++;
	list.v = arena_alloc(&c->arena, (n + 1) * sizeof(*list.v));
	if (!list.v)
		return refuse(ret_why, NULL);
	for (rest = text; next_item(k, &rest, &item); list.n++) {
		list.v[list.n] = list_item(c, k, item, base, ret_why);
		if (!list.v[list.n])
			return -1;
	}
	*at = list;
	return 0;
}

int
key_set(struct conf *c, const struct key *k, struct str text, const char *base,
	const char **ret_why)
{
	switch (k->type) {
	case KEY_TEXT:
		return set_text(c, k, arena_dup(&c->arena, text).p, ret_why);
	case KEY_LOG:
		if (str_eq(text, STR("-")))
			return set_text(c, k, "-", ret_why);
		/* fallthrough */
	case KEY_PATH:
		return set_text(c, k,
			text.len ? key_path(&c->arena, base, text) : "",
			ret_why);
	case KEY_APP:
		return set_app(c, k, text, base, ret_why);
	case KEY_BIND:
	case KEY_PEERS:
	case KEY_PATHS:
		return set_list(c, k, text, base, ret_why);
	case KEY_LEVEL:
	case KEY_PROXY:
		return set_name(c, k, text, ret_why);
	case KEY_SWITCH:
		return set_switch(c, k, text, ret_why);
	case KEY_WORKERS:
		if (str_eq(text, STR("auto"))) {
			store_number(c, k, auto_workers(k));
			return 0;
		}
		/* fallthrough */
	default:
		return set_number(c, k, text, ret_why);
	}
}

static void
print_list(const struct conf_list *list, struct buf *b)
{
	for (size_t i = 0; i < list->n; i++) {
		if (i)
			buf_add_str(b, STR(", "));
		buf_add_str(b, str_of(list->v[i]));
	}
}

void
key_print(const struct conf *c, const struct key *k, struct buf *b)
{
	const void *at = (const char *)c + k->offset;

	switch (k->type) {
	case KEY_TEXT:
	case KEY_LOG:
	case KEY_PATH:
	case KEY_APP:
		buf_add_str(b, str_of(*(const char *const *)at));
		return;
	case KEY_BIND:
	case KEY_PEERS:
	case KEY_PATHS:
		print_list(at, b);
		return;
	case KEY_LEVEL:
	case KEY_PROXY:
		buf_add_str(b, str_of(names_of(k)[load_number(c, k)]));
		return;
	case KEY_SWITCH:
		buf_add_str(b, str_of(switches[load_number(c, k)][0]));
		return;
	default:
		if (k->initial || load_number(c, k) != UINT64_MAX)
			value_print(unit_of(k), load_number(c, k), b);
	}
}
