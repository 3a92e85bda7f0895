/*
 * test_man.c -- the man page and the example file say what the table says.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "conf/ini.h"
#include "conf/keys.h"

Suite *man_suite(void);

static char *
file(const char *path)
{
	size_t n;
	char *p = io_read_file(path, 1 << 20, &n);

	ck_assert_msg(p, "cannot read %s", path);
	return p;
}

START_TEST(each_key_with_its_default)
{
	char *page = file(NW_SOURCE "/man/narwhal.ini.5"), item[200];

	for (size_t i = 0; i < keys_len; i++) {
		const struct key *k = &keys[i];

		/* a default that needs room stands in a display */
		if (k->initial && strchr(k->initial, '"')) {
			snprintf(item, sizeof(item), "\n%s\n.Ed\n", k->initial);
			ck_assert_msg(strstr(page, item), "%s", item);
		}
		if (k->initial && !strchr(k->initial, '"'))
			snprintf(item, sizeof(item), ".It Ic %s Pq Li %s\n",
				k->name, k->initial);
		else
			snprintf(item, sizeof(item), ".It Ic %s Pq Li ",
				k->name);
		ck_assert_msg(strstr(page, item), "%s", item);
		snprintf(item, sizeof(item), ".Ss Section %s\n", k->section);
		ck_assert_msg(strstr(page, item), "%s", item);
	}
	free(page);
}
END_TEST

/* Nor does the page know a key that is none. */
START_TEST(no_key_but_those)
{
	char *page = file(NW_SOURCE "/man/narwhal.ini.5"), name[100];
	const char *p = page;
	size_t n = 0;

	while ((p = strstr(p, "\n.It Ic "))) {
		p += strlen("\n.It Ic ");
		ck_assert_int_eq(sscanf(p, "%99s", name), 1);
		ck_assert_msg(key_find(str_of(name)), "%s", name);
		n++;
	}
	ck_assert_uint_eq(n, keys_len);
	free(page);
}
END_TEST

/* Bounds of the numbers, as `MIN to MAX` or `at most MAX`. */
START_TEST(each_range)
{
	char *page = file(NW_SOURCE "/man/narwhal.ini.5"), item[200];
	const char *from, *to;

	for (size_t i = 0; i < keys_len; i++) {
		const struct key *k = &keys[i];

		if (k->type != KEY_SIZE && k->type != KEY_COUNT &&
			k->type != KEY_WORKERS)
			continue;
		snprintf(item, sizeof(item), "\n.It Ic %s ", k->name);
		from = strstr(page, item);
		ck_assert_ptr_nonnull(from);
		to = strstr(from + 1, "\n.It ");
		snprintf(item, sizeof(item), "%ju to %ju%s", (uintmax_t)k->min,
			(uintmax_t)(k->type == KEY_SIZE ? k->max >> 20
							: k->max),
			k->type == KEY_SIZE ? "m" : "");
		from = strstr(from, item);
		ck_assert_msg(
			from && (!to || from < to), "%s: %s", k->name, item);
	}
	free(page);
}
END_TEST

/* ---- conf/narwhal.ini ---- */

static bool seen[CONF_KEYS_MAX];

static void
on_section(void *arg, int line, struct str name)
{
	(void)arg;
	ck_assert_msg(key_is_section(name), "line %d", line);
}

static void
on_pair(void *arg, int line, struct str section, struct str name,
	struct str value)
{
	const struct key *k = key_find(name);

	(void)arg;
	ck_assert_msg(k, "line %d: %s", line, name.p);
	ck_assert(str_eq(section, str_of(k->section)));
	seen[k - keys] = true;
	/* a demonstration needs an application, and more than one worker */
	if (strcmp(k->name, "workers") && strcmp(k->section, "app") &&
		strcmp(k->section, "wsgi"))
		ck_assert_pstr_eq(value.p, k->initial);
}

static void
on_fault(void *arg, int line, struct str name, const char *why)
{
	(void)arg;
	(void)name;
	ck_abort_msg("line %d: %s", line, why);
}

START_TEST(the_example_has_every_key)
{
	const struct ini_visitor v = {on_section, on_pair, on_fault, NULL};
	char *text = file(NW_SOURCE "/conf/narwhal.ini"), item[100];

	ini_read(str_of(text), &v);
	for (size_t i = 0; i < keys_len; i++) {
		/* one without a default may stand in a comment */
		snprintf(item, sizeof(item), "\n; %s = ", keys[i].name);
		ck_assert_msg(
			seen[i] || (!keys[i].initial && strstr(text, item)),
			"%s", keys[i].name);
	}
	free(text);
}
END_TEST

START_TEST(the_example_loads)
{
	struct conf_args args = {
		.path = NW_SOURCE "/conf/narwhal.ini", .path_given = true};
	struct buf errors;
	struct conf *c;

	buf_init(&errors);
	c = conf_load(&args, &errors, NULL);
	ck_assert_msg(c, "%s", buf_z(&errors));
	conf_free(c);
	buf_done(&errors);
}
END_TEST

/* ---- --help ---- */

START_TEST(help_names_each_key)
{
	char *text = NULL, item[100];
	size_t n;
	FILE *f = open_memstream(&text, &n);

	conf_print_help(f);
	fclose(f);
	for (size_t i = 0; i < keys_len; i++) {
		snprintf(item, sizeof(item), "  --%s=%s\n", keys[i].name,
			keys[i].arg);
		ck_assert_msg(strstr(text, item), "%s", item);
	}
	free(text);
}
END_TEST

Suite *
man_suite(void)
{
	Suite *s = suite_create("man");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, each_key_with_its_default);
	tcase_add_test(tc, no_key_but_those);
	tcase_add_test(tc, each_range);
	tcase_add_test(tc, the_example_has_every_key);
	tcase_add_test(tc, the_example_loads);
	tcase_add_test(tc, help_names_each_key);
	suite_add_tcase(s, tc);
	return s;
}
