/*
 * test_head.c -- the container of a request head.
 */
#include <check.h>

#include "http/head.h"

Suite *head_suite(void);

START_TEST(finds_the_first_of_a_name_in_any_case)
{
	struct field fields[] = {
		{STR("Host"), STR("a")},
		{STR("X-Two"), STR("first")},
		{STR("x-two"), STR("second")},
	};
	struct head h;

	head_init(&h, fields, 3);
	h.nfields = 3;
	ck_assert_ptr_eq(head_get(&h, STR("x-TWO")), &fields[1].value);
	ck_assert_ptr_eq(head_get(&h, STR("HOST")), &fields[0].value);
	ck_assert_ptr_null(head_get(&h, STR("X-Tw")));
	ck_assert_ptr_null(head_get(&h, STR("")));
}
END_TEST

START_TEST(looks_no_further_than_what_is_filled)
{
	struct field fields[] = {{STR("A"), STR("1")}, {STR("B"), STR("2")}};
	struct head h;

	head_init(&h, fields, 2);
	ck_assert_ptr_null(head_get(&h, STR("A")));
	h.nfields = 1;
	ck_assert_ptr_null(head_get(&h, STR("B")));
}
END_TEST

START_TEST(reset_keeps_only_the_array)
{
	struct field fields[2];
	struct head h;

	head_init(&h, fields, 2);
	h.line = h.method = h.target = STR("x");
	h.minor = 1;
	h.nfields = 2;
	head_reset(&h);
	ck_assert_uint_eq(h.line.len + h.method.len + h.target.len, 0);
	ck_assert_int_eq(h.minor, 0);
	ck_assert_uint_eq(h.nfields, 0);
	ck_assert_ptr_eq(h.fields, fields);
	ck_assert_uint_eq(h.fields_max, 2);
}
END_TEST

Suite *
head_suite(void)
{
	Suite *s = suite_create("head");
	TCase *t = tcase_create("head");

	tcase_add_test(t, finds_the_first_of_a_name_in_any_case);
	tcase_add_test(t, looks_no_further_than_what_is_filled);
	tcase_add_test(t, reset_keeps_only_the_array);
	suite_add_tcase(s, t);
	return s;
}
