/*
 * test_keys.c -- the key table, and one value at a time.
 */
#include <check.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "conf/keys.h"
#include "http/proxy.h"

Suite *keys_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))

static struct conf c;
static struct buf b;

static void
setup(void)
{
	memset(&c, 0, sizeof(c));
	buf_init(&b);
	ck_assert_int_eq(arena_init(&c.arena, 4096), 0);
}

static void
teardown(void)
{
	arena_done(&c.arena);
	buf_done(&b);
}

static const struct key *
find(const char *name)
{
	const struct key *k = key_find(str_of(name));

	ck_assert_msg(k, "no key %s", name);
	return k;
}

/* The value as it prints, or NULL if the text was refused. */
static const char *
set(const char *name, const char *text)
{
	const char *why = NULL;

	buf_reset(&b);
	if (key_set(&c, find(name), str_of(text), "/base", &why) == -1) {
		ck_assert_ptr_nonnull(why);
		return NULL;
	}
	key_print(&c, find(name), &b);
	return buf_z(&b);
}

START_TEST(rows)
{
	for (size_t i = 0; i < keys_len; i++) {
		ck_assert(key_is_section(str_of(keys[i].section)));
		ck_assert(!key_is_pairs_section(str_of(keys[i].section)));
		/* names are unique over all sections */
		ck_assert_ptr_eq(key_find(str_of(keys[i].name)), &keys[i]);
		ck_assert(*keys[i].help && *keys[i].arg);
		ck_assert_uint_le(keys[i].offset, sizeof(c));
		/* no two rows share a member */
		for (size_t j = 0; j < i; j++)
			ck_assert_uint_ne(keys[i].offset, keys[j].offset);
	}
	ck_assert(key_is_pairs_section(STR("env")));
	ck_assert(key_is_pairs_section(STR("options")));
	ck_assert(!key_is_section(STR("sever")));
	ck_assert_ptr_null(key_find(STR("Workers")));
	ck_assert_ptr_null(key_find(STR("")));
}
END_TEST

static const char *const *
words_of(const struct key *k)
{
	static const char *const yes_no[] = {"yes", "no", NULL}, *none[1];

	return k->type == KEY_LEVEL	? log_level_names
		: k->type == KEY_PROXY	? proxy_mode_names
		: k->type == KEY_SWITCH ? yes_no
					: none;
}

/* A row whose value is one of some words has them all, and each is good. */
START_TEST(words)
{
	for (size_t i = 0; i < keys_len; i++) {
		const char *const *w = words_of(&keys[i]);
		bool has_words = *w != NULL;
		struct str rest = str_of(keys[i].arg), word;

		ck_assert_int_eq(strchr(keys[i].arg, '|') != NULL, has_words);
		for (; *w; w++) {
			ck_assert(str_cut(&rest, '|', &word));
			ck_assert(str_eq(word, str_of(*w)));
			ck_assert_str_eq(set(keys[i].name, *w), *w);
		}
		ck_assert(!has_words || !rest.p);
	}
}
END_TEST

/* Each default is a good value, and what it prints is another. */
START_TEST(defaults_there_and_back)
{
	for (size_t i = 0; i < keys_len; i++) {
		const char *z = set(
			keys[i].name, keys[i].initial ? keys[i].initial : "");
		char *once;

		ck_assert_msg(z, "%s", keys[i].name);
		if (keys[i].initial)
			ck_assert_str_eq(z, keys[i].initial);
		once = strdup(z);
		ck_assert_str_eq(set(keys[i].name, once), once);
		free(once);
	}
}
END_TEST

/* The bounds themselves are good, one beyond them is not. */
START_TEST(bounds_are_exact)
{
	char text[32];

	for (size_t i = 0; i < keys_len; i++) {
		const struct key *k = &keys[i];
		const char *ms = k->type == KEY_TIME ? "ms" : "";

		if (!k->max || k->type == KEY_MODE)
			continue;
		snprintf(text, sizeof(text), "%ju%s", (uintmax_t)k->min, ms);
		ck_assert_msg(set(k->name, text), "%s = %s", k->name, text);
		snprintf(text, sizeof(text), "%ju%s", (uintmax_t)k->max, ms);
		ck_assert_msg(set(k->name, text), "%s = %s", k->name, text);
		snprintf(
			text, sizeof(text), "%ju%s", (uintmax_t)k->max + 1, ms);
		ck_assert_msg(!set(k->name, text), "%s = %s", k->name, text);
		if (!k->min)
			continue;
		snprintf(
			text, sizeof(text), "%ju%s", (uintmax_t)k->min - 1, ms);
		ck_assert_msg(!set(k->name, text), "%s = %s", k->name, text);
	}
}
END_TEST

static const struct {
	const char *name, *text;
	const char *printed; /* NULL: refused */
} values[] = {
	{"app", "so:echo", "so:echo"},
	{"app", "so:./x.so", "so:/base/x.so"},
	{"app", "so:x/y.so", "so:/base/x/y.so"},
	{"app", "so:/x/y.so", "so:/x/y.so"},
	{"app", "so:", NULL},
	{"app", "missing_colon", NULL},
	{"app", "pkg.mod:app", "pkg.mod:app"},
	{"app", "mod:make(1, 'a:b')", "mod:make(1, 'a:b')"},
	{"app", "wsgi:mod", "wsgi:mod"},
	{"app", "wsgi:pkg.mod:app.wsgi", "wsgi:pkg.mod:app.wsgi"},
	{"app", "wsgi:", NULL},
	{"app", ":app", NULL},
	{"app", "mod:", NULL},
	{"app", "a..b:app", NULL},
	{"app", "a b:app", NULL},
	{"app", "path/to/app.py:app", NULL},
	{"chdir", "", ""},
	{"chdir", ".", "/base"},
	{"chdir", "./", "/base"},
	{"chdir", "a/b", "/base/a/b"},
	{"chdir", "././a", "/base/a"},
	{"chdir", "../a", "/base/../a"},
	{"chdir", "/", "/"},
	{"pythonpath", "a, /b ,./c d", "/base/a, /b, /base/c d"},
	{"pythonpath", ",,", ""},
	{"bind", "127.0.0.1:80 [::1]:80,fd:3 , unix:x",
		"127.0.0.1:80, [::1]:80, fd:3, unix:/base/x"},
	{"unix-socket-mode", "0600", "0600"},
	{"unix-socket-mode", "1000", NULL},
	{"unix-socket-mode", "rw", NULL},
	{"workers", "two", NULL},
	{"workers", "4x", NULL},
	{"workers", "", NULL},
	{"workers", "+4", NULL},
	{"keepalive", "0", "0"},
	{"timeout", "-5", NULL},
	{"header-timeout", "0", NULL},
	{"request-body", "99999999999999999999999", NULL},
	{"request-fields", "1k", NULL},
	{"error-log", "-", "-"},
	{"error-log", "a#b.log", "/base/a#b.log"},
	{"access-log", "", ""},
	{"log-level", "debug", "debug"},
	{"log-level", "Debug", NULL},
	{"log-level", "", NULL},
	{"access-log-format", "x \"y\"", "x \"y\""},
	{"umask", "", ""},
	{"umask", "27", "0027"},
	{"umask", "0", "0000"},
	{"umask", "9", NULL},
	{"umask", "01000", NULL},
	{"pidfile", "run/x.pid", "/base/run/x.pid"},
	{"pidfile", "", ""},
	{"daemon", "yes", "yes"},
	{"daemon", "on", "yes"},
	{"daemon", "1", "yes"},
	{"daemon", "false", "no"},
	{"daemon", "maybe", NULL},
	{"daemon", "Yes", NULL},
	{"daemon", "", NULL},
	{"forwarded-allow-ips", "", ""},
	{"forwarded-allow-ips", "*", "*"},
	{"forwarded-allow-ips", "10.0.0.0/8, fd00::/8 unix",
		"10.0.0.0/8, fd00::/8, unix"},
	{"forwarded-allow-ips", "10.0.0.0/33", NULL},
	{"forwarded-allow-ips", "::1/129", NULL},
	{"forwarded-allow-ips", "localhost", NULL},
};

START_TEST(value)
{
	const char *z = set(values[_i].name, values[_i].text);

	if (values[_i].printed)
		ck_assert_pstr_eq(z, values[_i].printed);
	else
		ck_assert_msg(!z, "'%s'", z);
}
END_TEST

START_TEST(nothing_is_no_path)
{
	set("access-log", "");
	ck_assert_ptr_null(c.access_log);
	set("chdir", "");
	ck_assert_ptr_null(c.chdir);
}
END_TEST

START_TEST(auto_workers)
{
	cpu_set_t all, one;
	int cpu = 0;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	set("workers", "auto");
	ck_assert_int_eq(c.workers, CPU_COUNT(&all) * 2 + 1);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	set("workers", "auto");
	ck_assert_int_eq(sched_setaffinity(0, sizeof(all), &all), 0);
	ck_assert_int_eq(c.workers, 3);
}
END_TEST

static const struct {
	const char *text;
	const char *near; /* NULL: none */
} near[] = {
	{"wrokers", "workers"},
	{"worker", "workers"},
	{"Workers", "workers"},
	{"error_log", "error-log"},
	{"keep-alive", "keepalive"},
	{"bnid", "bind"},
	{"max-request", "max-requests"},
	{"input-blocksize", "input-block-size"},
	{"outgoing-buffer-chunks", "outgoing-body-buffer-chunks"},
	{"usr", "user"},
	{"pid-file", "pidfile"},
	{"preset", NULL},
	{"preload", NULL},
	{"x", NULL},
	{"", NULL},
	{"a-key-that-is-longer-than-any-there-could-be-in-the-table", NULL},
};

START_TEST(nearest)
{
	const struct key *k = key_nearest(str_of(near[_i].text));

	ck_assert_pstr_eq(k ? k->name : NULL, near[_i].near);
}
END_TEST

START_TEST(nearest_section)
{
	ck_assert_pstr_eq(key_nearest_section(STR("sevrer")), "server");
	ck_assert_pstr_eq(key_nearest_section(STR("buffer")), "buffers");
	ck_assert_pstr_eq(key_nearest_section(STR("environ")), NULL);
	ck_assert_pstr_eq(key_nearest_section(STR("option")), "options");
}
END_TEST

Suite *
keys_suite(void)
{
	Suite *s = suite_create("keys");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, rows);
	tcase_add_test(tc, words);
	tcase_add_test(tc, defaults_there_and_back);
	tcase_add_test(tc, bounds_are_exact);
	tcase_add_loop_test(tc, value, 0, N(values));
	tcase_add_test(tc, nothing_is_no_path);
	tcase_add_test(tc, auto_workers);
	tcase_add_loop_test(tc, nearest, 0, N(near));
	tcase_add_test(tc, nearest_section);
	suite_add_tcase(s, tc);
	return s;
}
