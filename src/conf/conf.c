/*
 * conf.c -- gather one generation of the configuration.
 *
 * Every key starts from its default; the file, then the command line replace
 * it; the environment counts only for what neither of them sets.  That is the
 * order of narwhal(8) seen from its end, and an odd $PORT harms nobody who
 * does not use it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "conf/ini.h"
#include "conf/load.h"

#define FILE_MAX (1024 * 1024)
#define DEFAULT_PATH "narwhal.ini"

/* ---- faults ---- */

static size_t
row(const struct key *k)
{
	return (size_t)(k - keys);
}

static void
add_place(struct load *l, const struct key *k, struct buf *b)
{
	switch (l->c->source[row(k)]) {
	case CONF_FILE:
		buf_addf(b, "%s:%d: %s: ", l->c->path, l->c->line[row(k)],
			k->name);
		return;
	case CONF_COMMAND_LINE:
		buf_addf(b, "--%s: ", k->name);
		return;
	case CONF_ENVIRONMENT:
		buf_addf(b, "%s (from the environment): ", k->name);
		return;
	case CONF_DEFAULT:
		buf_addf(b, "%s: ", k->name);
	}
}

void
load_fault(struct load *l, const struct key *k, const char *fmt, ...)
{
	va_list ap;

	add_place(l, k, l->errors);
	va_start(ap, fmt);
	buf_vaddf(l->errors, fmt, ap);
	va_end(ap);
	buf_add_char(l->errors, '\n');
	l->refused[row(k)] = true;
	l->faults++;
}

void
load_note(struct load *l, const struct key *k, const char *fmt, ...)
{
	va_list ap;

	if (!l->notes)
		return;
	add_place(l, k, l->notes);
	va_start(ap, fmt);
	buf_vaddf(l->notes, fmt, ap);
	va_end(ap);
	buf_add_char(l->notes, '\n');
}

/* Set k from a text of the given source; line is that of the file. */
static void
set(struct load *l, const struct key *k, struct str text, const char *base,
	enum conf_source source, int line)
{
	const char *why;

	l->c->source[row(k)] = source;
	l->c->line[row(k)] = line;
	if (key_set(l->c, k, text, base, &why) == -1)
		load_fault(l, k, "%s", why);
}

static void
set_defaults(struct load *l)
{
	for (size_t i = 0; i < keys_len; i++)
		set(l, &keys[i], str_of(keys[i].initial), l->cwd, CONF_DEFAULT,
			0);
}

/* ---- the file ---- */

static void
file_fault(struct load *l, int line, struct str name, const char *why,
	const char *near)
{
	buf_addf(l->errors, "%s:%d: ", l->c->path, line);
	if (name.len)
		buf_addf(l->errors, "%.*s: ", STR_ARG(name));
	buf_addf(l->errors, "%s", why);
	if (near)
		buf_addf(l->errors, " (did you mean '%s'?)", near);
	buf_add_char(l->errors, '\n');
	l->faults++;
}

static void
on_fault(void *arg, int line, struct str name, const char *why)
{
	file_fault(arg, line, name, why, NULL);
}

static void
on_section(void *arg, int line, struct str name)
{
	struct load *l = arg;
	char shown[64];

	if (key_is_section(name))
		return;
	snprintf(shown, sizeof(shown), "[%.*s]",
		name.len < 50 ? (int)name.len : 50, name.len ? name.p : "");
	file_fault(l, line, str_of(shown), "unknown section",
		key_nearest_section(name));
}

static void
add_pair(struct load *l, struct conf_pairs *pairs, int line, struct str name,
	struct str value)
{
	struct arena *a = &l->c->arena;
	struct conf_pair *v = pairs->v;

	for (size_t i = 0; i < pairs->n; i++)
		if (str_eq(name, str_of(v[i].name))) {
			file_fault(l, line, name,
				arena_printf(
					a, "already set on line %d", v[i].line),
				NULL);
			return;
		}
	/* room for 1, 2, 4, 8 ... */
	if ((pairs->n & (pairs->n - 1)) == 0)
		v = arena_alloc(a, (pairs->n ? pairs->n * 2 : 1) * sizeof(*v));
	if (v && v != pairs->v && pairs->n)
		memcpy(v, pairs->v, pairs->n * sizeof(*v));
	if (v)
		v[pairs->n] = (struct conf_pair){
			arena_dup(a, name).p, arena_dup(a, value).p, line};
	if (!v || !v[pairs->n].name || !v[pairs->n].value) {
		file_fault(l, line, name, "out of memory", NULL);
		return;
	}
	pairs->v = v;
	pairs->n++;
}

/* A key that is no row: is there one near, or a section where it could be? */
static void
unknown_key(struct load *l, int line, struct str section, struct str name)
{
	const char *near_section = key_nearest_section(section);
	const struct key *near = key_nearest(name);

	if (!key_is_section(section) && near_section &&
		key_is_pairs_section(str_of(near_section)))
		return; /* one fault, that of the section, is enough */
	file_fault(l, line, name, "unknown key", near ? near->name : NULL);
}

/* Is the key where it belongs?  If the section is unknown, anywhere is. */
static bool
is_at_home(struct load *l, int line, struct str section, const struct key *k)
{
	struct arena *a = &l->c->arena;
	const char *why;

	if (!section.len)
		why = arena_printf(a,
			"stands before the first section; it belongs in [%s]",
			k->section);
	else if (key_is_section(section) &&
		!str_eq(section, str_of(k->section)))
		why = arena_printf(a, "belongs in [%s]", k->section);
	else
		return true;
	file_fault(l, line, str_of(k->name), why, NULL);
	return false;
}

static void
on_pair(void *arg, int line, struct str section, struct str name,
	struct str value)
{
	struct load *l = arg;
	const struct key *k = key_find(name);

	if (str_eq(section, STR("options"))) {
		add_pair(l, &l->c->options, line, name, value);
	} else if (str_eq(section, STR("env"))) {
		add_pair(l, &l->c->env, line, name, value);
	} else if (!k) {
		unknown_key(l, line, section, name);
	} else if (is_at_home(l, line, section, k)) {
		if (l->c->source[row(k)] == CONF_FILE)
			file_fault(l, line, name,
				arena_printf(&l->c->arena,
					"already set on line %d",
					l->c->line[row(k)]),
				NULL);
		else
			set(l, k, value, l->folder, CONF_FILE, line);
	}
}

static void
path_fault(struct load *l, const char *path)
{
	buf_addf(l->errors, "%s: %s\n", path,
		errno == EFBIG ? "is larger than 1 MiB" : strerror(errno));
	l->faults++;
}

/* The folder that holds the file, as an absolute path. */
static const char *
folder_of(struct load *l, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct str folder = STR(".");

	if (slash)
		folder = (struct str){
			path, slash == path ? 1 : (size_t)(slash - path)};
	return key_path(&l->c->arena, l->cwd, folder);
}

static void
read_file(struct load *l)
{
	const struct ini_visitor v = {on_section, on_pair, on_fault, l};
	const char *path = l->args->path ? l->args->path : DEFAULT_PATH;
	size_t len;
	char *text;

	text = io_read_file(path, FILE_MAX, &len);
	if (!text) {
		if (errno != ENOENT || l->args->path_given)
			path_fault(l, path);
		return;
	}
	l->c->path = arena_strdup(&l->c->arena, path);
	l->folder = folder_of(l, path);
	if (l->c->path && l->folder) {
		ini_read((struct str){text, len}, &v);
	} else {
		errno = ENOMEM;
		path_fault(l, path);
	}
	free(text);
}

/* ---- the command line ---- */

static void
override_fault(struct load *l, struct str name, const char *why)
{
	const struct key *near = key_nearest(name);

	buf_addf(l->errors, "--%.*s: %s", STR_ARG(name), why);
	if (near && !key_find(name))
		buf_addf(l->errors, " (did you mean '--%s'?)", near->name);
	buf_add_char(l->errors, '\n');
	l->faults++;
}

static bool
has_control(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
			return true;
	return false;
}

static void
override(struct load *l, const char *text)
{
	struct str value = str_of(text), name;
	const struct key *k;

	str_cut(&value, '=', &name);
	k = key_find(name);
	if (!k) {
		override_fault(l, name, "unknown key");
	} else if (!value.p) {
		override_fault(l, name, "has no value (--KEY=VALUE)");
	} else if (has_control(value)) {
		override_fault(l, name, "control byte in the value");
	} else {
		if (l->c->source[row(k)] == CONF_FILE)
			load_note(l, k, "overridden by --%s", text);
		set(l, k, str_trim(value), l->cwd, CONF_COMMAND_LINE, 0);
	}
}

/* ---- the environment ---- */

static void
set_from_environment(struct load *l, const char *key, const char *value)
{
	const struct key *k = key_find(str_of(key));

	if (value && *value && l->c->source[row(k)] == CONF_DEFAULT)
		set(l, k, str_of(value), l->cwd, CONF_ENVIRONMENT, 0);
}

static void
read_environment(struct load *l)
{
	const char *port = getenv("PORT");

	set_from_environment(l, "workers", getenv("WEB_CONCURRENCY"));
	set_from_environment(l, "virtualenv", getenv("VIRTUAL_ENV"));
	if (port && *port)
		set_from_environment(l, "bind",
			arena_printf(&l->c->arena, "0.0.0.0:%s", port));
}

/* ---- all of it ---- */

static void
load_all(struct load *l)
{
	char *cwd = getcwd(NULL, 0);

	/* a folder that was removed since the start must not stop a reload */
	l->cwd = l->folder = cwd ? cwd : ".";
	set_defaults(l);
	read_file(l);
	for (size_t i = 0; i < l->args->noverrides; i++)
		override(l, l->args->overrides[i]);
	read_environment(l);
	check_all(l);
	free(cwd);
}

struct conf *
conf_load(const struct conf_args *args, struct buf *errors, struct buf *notes)
{
	struct load l = {.args = args, .errors = errors, .notes = notes};

	l.c = calloc(1, sizeof(*l.c));
	if (!l.c || arena_init(&l.c->arena, 16 * 1024) == -1) {
		path_fault(&l, "configuration");
		free(l.c);
		return NULL;
	}
	load_all(&l);
	if (!l.faults)
		return l.c;
	conf_free(l.c);
	return NULL;
}

void
conf_free(struct conf *c)
{
	if (!c)
		return;
	arena_done(&c->arena);
	free(c);
}
