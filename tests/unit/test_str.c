/*
 * test_str.c -- borrowed byte strings.
 */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "unit/edge.h"

Suite *str_suite(void);

static struct str
edge(const char *z)
{
	return (struct str){edge_copy(z, strlen(z)), strlen(z)};
}

START_TEST(equality)
{
	ck_assert(str_eq(STR("ab"), STR("ab")));
	ck_assert(!str_eq(STR("ab"), STR("abc")));
	ck_assert(!str_eq(STR("ab"), STR("aB")));
	ck_assert(str_eq(STR("a\0b"), STR("a\0b")));
	ck_assert(!str_eq(STR("a\0b"), STR("a\0c")));
	ck_assert(str_eq(str_of(NULL), STR("")));
	ck_assert(str_eq_nocase(STR("Content-TYPE"), STR("content-type")));
	/* ASCII letters only: @ and ` differ by the same bit */
	ck_assert(!str_eq_nocase(STR("@"), STR("`")));
	ck_assert(!str_eq_nocase(STR("\xC4"), STR("\xE4")));
}
END_TEST

START_TEST(prefix)
{
	ck_assert(str_starts(STR("unix:/x"), STR("unix:")));
	ck_assert(!str_starts(edge("uni"), STR("unix:")));
	ck_assert(str_starts(STR("x"), STR("")));
	ck_assert(str_eq(str_skip(STR("unix:/x"), 5), STR("/x")));
	ck_assert_uint_eq(str_skip(edge("ab"), 7).len, 0);
	ck_assert_ptr_null(str_skip(str_of(NULL), 3).p);
}
END_TEST

START_TEST(trim)
{
	ck_assert(str_eq(str_trim(edge(" \t a b\t ")), STR("a b")));
	ck_assert(str_eq(str_trim(edge(" \t ")), STR("")));
	ck_assert(str_eq(str_trim(edge("")), STR("")));
	/* CR and LF are not blanks */
	ck_assert(str_eq(str_trim(edge("\ra\n")), STR("\ra\n")));
}
END_TEST

static const struct {
	const char *text;
	const char *pieces[4];
} cuts[] = {
	{"a,b,c", {"a", "b", "c"}},
	{"a", {"a"}},
	{"a,", {"a", ""}},
	{",", {"", ""}},
	{"", {""}},
};

START_TEST(cut)
{
	struct str s = edge(cuts[_i].text), piece;
	int n = 0;

	for (; str_cut(&s, ',', &piece); n++) {
		ck_assert_ptr_nonnull(cuts[_i].pieces[n]);
		ck_assert(str_eq(piece, str_of(cuts[_i].pieces[n])));
	}
	ck_assert_ptr_null(cuts[_i].pieces[n]);
	ck_assert(!str_cut(&s, ',', &piece));
}
END_TEST

START_TEST(cut_of_nothing)
{
	struct str s = {NULL, 0}, piece;

	ck_assert(!str_cut(&s, ',', &piece));
}
END_TEST

static const struct {
	const char *text;
	uint64_t value;
	int error;
} numbers[] = {
	{"0", 0, 0},
	{"007", 7, 0},
	{"18446744073709551615", UINT64_MAX, 0},
	{"18446744073709551616", 0, ERANGE},
	{"99999999999999999999999", 0, ERANGE},
	{"", 0, EINVAL},
	{"-1", 0, EINVAL},
	{"+1", 0, EINVAL},
	{" 1", 0, EINVAL},
	{"1 ", 0, EINVAL},
	{"1e3", 0, EINVAL},
	{"0x10", 0, EINVAL},
	/* another form outweighs too large */
	{"99999999999999999999999x", 0, EINVAL},
};

START_TEST(number)
{
	uint64_t v = 42;

	errno = 0;
	ck_assert_int_eq(str_to_u64(edge(numbers[_i].text), &v),
		numbers[_i].error ? -1 : 0);
	ck_assert_int_eq(errno, numbers[_i].error);
	ck_assert_uint_eq(v, numbers[_i].error ? 42 : numbers[_i].value);
}
END_TEST

Suite *
str_suite(void)
{
	Suite *s = suite_create("str");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, equality);
	tcase_add_test(tc, prefix);
	tcase_add_test(tc, trim);
	tcase_add_loop_test(tc, cut, 0, sizeof(cuts) / sizeof(cuts[0]));
	tcase_add_test(tc, cut_of_nothing);
	tcase_add_loop_test(
		tc, number, 0, sizeof(numbers) / sizeof(numbers[0]));
	suite_add_tcase(s, tc);
	return s;
}
