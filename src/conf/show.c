/*
 * show.c -- the configuration as text: -T, --help, one value for an app.
 */
#include <stdlib.h>
#include <string.h>

#include "conf/ini.h"
#include "conf/keys.h"
#include "conf/value.h"

static void
print_value(FILE *out, struct str value)
{
	if (!ini_needs_quotes(value)) {
		fprintf(out, "%.*s", STR_ARG(value));
		return;
	}
	fputc('"', out);
	for (size_t i = 0; i < value.len; i++) {
		if (value.p[i] == '"')
			fputc('"', out);
		fputc(value.p[i], out);
	}
	fputc('"', out);
}

static void
print_source(const struct conf *c, size_t i, FILE *out)
{
	switch (c->source[i]) {
	case CONF_DEFAULT:
		fprintf(out, " ; default\n");
		return;
	case CONF_ENVIRONMENT:
		fprintf(out, " ; environment\n");
		return;
	case CONF_FILE:
		fprintf(out, " ; %s:%d\n", c->path, c->line[i]);
		return;
	case CONF_COMMAND_LINE:
		fprintf(out, " ; command line\n");
	}
}

static void
print_pairs(const struct conf *c, const char *section,
	const struct conf_pairs *pairs, FILE *out)
{
	fprintf(out, "\n[%s]\n", section);
	for (size_t i = 0; i < pairs->n; i++) {
		fprintf(out, "%s = ", pairs->v[i].name);
		print_value(out, str_of(pairs->v[i].value));
		fprintf(out, " ; %s:%d\n", c->path, pairs->v[i].line);
	}
}

static void
print_key(const struct conf *c, size_t i, FILE *out)
{
	struct buf b;

	buf_init(&b);
	key_print(c, &keys[i], &b);
	fprintf(out, "%s =%s", keys[i].name, b.len ? " " : "");
	print_value(out, buf_str(&b));
	print_source(c, i, out);
	buf_done(&b);
}

void
conf_print(const struct conf *c, FILE *out)
{
	const char *section = "";

	for (size_t i = 0; i < keys_len; i++) {
		if (strcmp(section, keys[i].section)) {
			if (!strcmp(section, "app")) {
				print_pairs(c, "options", &c->options, out);
				print_pairs(c, "env", &c->env, out);
			}
			section = keys[i].section;
			fprintf(out, "%s[%s]\n", i ? "\n" : "", section);
		}
		print_key(c, i, out);
	}
}

void
conf_print_help(FILE *out)
{
	const struct key *k;
	char left[64];

	for (k = keys; k < keys + keys_len; k++) {
		if (k == keys || strcmp(k->section, k[-1].section))
			fprintf(out, "\n[%s]\n", k->section);
		snprintf(left, sizeof(left), "--%s=%s", k->name, k->arg);
		fprintf(out, "  %s\n\t%s", left, k->help);
		if (k->initial)
			fprintf(out, " [%s]", k->initial);
		fputc('\n', out);
	}
}

const char *
conf_find_key(const char *name, const char **ret_near)
{
	const struct key *k = key_find(str_of(name));
	const struct key *near = k ? NULL : key_nearest(str_of(name));

	*ret_near = near ? near->name : NULL;
	return k ? k->name : NULL;
}

const char *
conf_value(const struct conf *c, const char *key, struct buf *b)
{
	const struct key *k = key_find(str_of(key));
	uint64_t bytes;

	if (!k)
		return NULL;
	buf_reset(b);
	key_print(c, k, b);
	if ((k->type == KEY_SIZE || k->type == KEY_SIZE64) &&
		value_read(VALUE_SIZE, buf_str(b), &bytes) == 0) {
		buf_reset(b);
		buf_add_u64(b, bytes);
	}
	return b->failed || !b->len ? NULL : buf_z(b);
}

int
conf_apply_env(const struct conf *c)
{
	for (size_t i = 0; i < c->env.n; i++)
		if (setenv(c->env.v[i].name, c->env.v[i].value, 1) == -1)
			return -1;
	return 0;
}
