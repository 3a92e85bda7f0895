/*
 * test_ini.c -- the INI file's lines.
 *
 * What was read is written down as text: `[section]`, `LINE section.key=value`,
 * `LINE! key: fault`, each on a line of its own.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "conf/ini.h"
#include "unit/edge.h"

Suite *ini_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))

static struct buf told;

static void
on_section(void *arg, int line, struct str name)
{
	(void)arg;
	buf_addf(&told, "%d [%.*s]\n", line, STR_ARG(name));
}

static void
on_pair(void *arg, int line, struct str section, struct str name,
	struct str value)
{
	(void)arg;
	ck_assert_int_eq(name.p[name.len], '\0');
	ck_assert_int_eq(value.p[value.len], '\0');
	buf_addf(&told, "%d %.*s.%s=%s\n", line, STR_ARG(section), name.p,
		value.p);
}

static void
on_fault(void *arg, int line, struct str name, const char *why)
{
	(void)arg;
	(void)why;
	buf_addf(&told, "%d! %.*s\n", line, STR_ARG(name));
}

static const char *
read_text(const char *p, size_t n)
{
	const struct ini_visitor v = {on_section, on_pair, on_fault, NULL};

	buf_reset(&told);
	ini_read((struct str){edge_copy(p, n), n}, &v);
	return buf_z(&told);
}

#define ROW(text, says)                                                        \
	{                                                                      \
		(text), sizeof(text) - 1, (says)                               \
	}

static const struct {
	const char *text;
	size_t len;
	const char *says;
} rows[] = {
	ROW("", ""),
	ROW("\n\n", ""),
	ROW("[a]\nb = c\n", "1 [a]\n2 a.b=c\n"),
	ROW("[a]\nb=c", "1 [a]\n2 a.b=c\n"),
	ROW("\xEF\xBB\xBF[a]\r\nb = c\r\n", "1 [a]\n2 a.b=c\n"),
	/* before any section */
	ROW("b = c\n", "1 .b=c\n"),
	/* indentation means nothing: inih would join it to the line before */
	ROW("[a]\nb = c\n  d = e\n\tf=g\n   [h]\n",
		"1 [a]\n2 a.b=c\n3 a.d=e\n4 a.f=g\n5 [h]\n"),
	/* comments */
	ROW("; x\n # y\n[a] ; z\nb = c ; d\n", "3 [a]\n4 a.b=c\n"),
	ROW("b = c\t# d\nb = c#d;e\nb =;c\nb = ; c\nb = #c\n",
		"1 .b=c\n2 .b=c#d;e\n3 .b=;c\n4 .b=\n5 .b=\n"),
	ROW("b = http://x/;y=1 # z\n", "1 .b=http://x/;y=1\n"),
	/* values */
	ROW("b =\n", "1 .b=\n"),
	ROW("b = c = d\n", "1 .b=c = d\n"),
	ROW("b = c: d\n", "1 .b=c: d\n"),
	ROW("b = c \"d\" e\n", "1 .b=c \"d\" e\n"),
	/* quotes */
	ROW("b = \" c ; d # e \"\n", "1 .b= c ; d # e \n"),
	ROW("b = \"c\" ; d\n", "1 .b=c\n"),
	ROW("b = \"\"\n", "1 .b=\n"),
	ROW("b = \"\"\"c\"\" d\"\n", "1 .b=\"c\" d\n"),
	ROW("b = \"c\\\"\n", "1 .b=c\\\n"),
	ROW("b = \"c\nd = e\n", "1! b\n2 .d=e\n"),
	ROW("b = \"\n", "1! b\n"),
	ROW("b = \"c\" d\n", "1! b\n"),
	ROW("b = \"c\"; d\n", "1! b\n"),
	/* no key, no value */
	ROW("b\n= c\n  =\n b ; = c\n", "1! b\n2! \n3! \n4! \n"),
	ROW("b c = d\n", "1! \n"),
	/* inih would take a colon for an equals sign */
	ROW("b: c\n", "1! \n"),
	ROW("b: c = d\n", "1! \n"),
	/* sections; what a bad one was meant to be is plain */
	ROW("[a\nb = c\n", "1! \n1 [a]\n2 a.b=c\n"),
	ROW("[a] b\n", "1! \n1 [a]\n"),
	ROW("[a]]\n", "1! \n1 [a]\n"),
	ROW("[a ; b\n", "1! \n1 [a]\n"),
	ROW("[]\n", "1 []\n"),
	ROW("[ a ]\n", "1 [ a ]\n"),
	/* bytes */
	ROW("b = c\0d\ne = f\n", "1! \n2 .e=f\n"),
	ROW("b = c\rd\n", "1! \n"),
	ROW("b = \x1b[m\n", "1! \n"),
	ROW("b = \x7f\n", "1! \n"),
	ROW("b = c\td\n", "1 .b=c\td\n"),
	ROW("b = \xc3\xa9\n", "1 .b=\xc3\xa9\n"),
};

START_TEST(row)
{
	ck_assert_str_eq(read_text(rows[_i].text, rows[_i].len), rows[_i].says);
	buf_done(&told);
}
END_TEST

/* A line of n bytes, the value of which fills it. */
static char *
long_line(const char *start, size_t n)
{
	char *p = malloc(n + 1);

	ck_assert_ptr_nonnull(p);
	memset(p, 'x', n);
	memcpy(p, start, strlen(start));
	p[n] = '\0';
	return p;
}

START_TEST(long_values_are_whole)
{
	char *p = long_line("b = ", INI_LINE_MAX);
	const char *says = read_text(p, INI_LINE_MAX);

	ck_assert_uint_eq(strlen(says), strlen("1 .b=\n") + INI_LINE_MAX - 4);
	free(p);
	p = long_line("b = \"", INI_LINE_MAX);
	p[INI_LINE_MAX - 1] = '"';
	says = read_text(p, INI_LINE_MAX);
	ck_assert_uint_eq(strlen(says), strlen("1 .b=\n") + INI_LINE_MAX - 6);
	free(p);
	p = long_line("b = ", INI_LINE_MAX + 1);
	ck_assert_str_eq(read_text(p, INI_LINE_MAX + 1), "1! \n");
	free(p);
	buf_done(&told);
}
END_TEST

START_TEST(long_names)
{
	char *p = long_line("", INI_NAME_MAX + 3), expect[INI_NAME_MAX + 10];

	memcpy(p + INI_NAME_MAX, "=y", 3);
	snprintf(expect, sizeof(expect), "1 .%.*s=y\n", INI_NAME_MAX, p);
	ck_assert_str_eq(read_text(p, strlen(p)), expect);
	memcpy(p + INI_NAME_MAX, "x=y", 3);
	ck_assert_str_eq(read_text(p, INI_NAME_MAX + 3), "1! \n");
	free(p);
	/* inih would cut it after 49 bytes, and find a section it knows */
	p = long_line("[", 100);
	p[99] = ']';
	snprintf(expect, sizeof(expect), "1 %.*s\n", 100, p);
	ck_assert_str_eq(read_text(p, 100), expect);
	free(p);
	buf_done(&told);
}
END_TEST

START_TEST(quotes_where_they_are_needed)
{
	ck_assert(!ini_needs_quotes(STR("")));
	ck_assert(!ini_needs_quotes(STR("a#b \"c\"")));
	ck_assert(ini_needs_quotes(STR(" a")));
	ck_assert(ini_needs_quotes(STR("a ")));
	ck_assert(ini_needs_quotes(STR("a #b")));
	ck_assert(ini_needs_quotes(STR("a\t;b")));
	ck_assert(ini_needs_quotes(STR("\"a")));
	/* behind `key = ` the blank is there */
	ck_assert(ini_needs_quotes(STR("#a")));
}
END_TEST

Suite *
ini_suite(void)
{
	Suite *s = suite_create("ini");
	TCase *tc = tcase_create("all");

	tcase_add_loop_test(tc, row, 0, N(rows));
	tcase_add_test(tc, long_values_are_whole);
	tcase_add_test(tc, long_names);
	tcase_add_test(tc, quotes_where_they_are_needed);
	suite_add_tcase(s, tc);
	return s;
}
