/*
 * test_value.c -- numbers and their units, as text and back.
 */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "conf/value.h"
#include "unit/edge.h"

Suite *value_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))

static const struct {
	enum value_unit unit;
	const char *text;
	uint64_t value;
	const char *printed; /* NULL: as the text */
} good[] = {
	{VALUE_COUNT, "0", 0, NULL},
	{VALUE_COUNT, "18446744073709551615", UINT64_MAX, NULL},
	{VALUE_SIZE, "0", 0, NULL},
	{VALUE_SIZE, "0k", 0, "0"},
	{VALUE_SIZE, "8190", 8190, NULL},
	{VALUE_SIZE, "64k", 65536, NULL},
	{VALUE_SIZE, "65536", 65536, "64k"},
	{VALUE_SIZE, "1024k", 1 << 20, "1m"},
	{VALUE_SIZE, "3g", UINT64_C(3) << 30, NULL},
	{VALUE_TIME, "0", 0, NULL},
	{VALUE_TIME, "5", 5000, "5s"},
	{VALUE_TIME, "5ms", 5, NULL},
	{VALUE_TIME, "1500ms", 1500, NULL},
	{VALUE_TIME, "60s", 60000, "1m"},
	{VALUE_TIME, "90m", 5400000, NULL},
	{VALUE_TIME, "2h", 7200000, NULL},
	{VALUE_OCTAL, "0660", 0660, NULL},
	{VALUE_OCTAL, "660", 0660, "0660"},
	{VALUE_OCTAL, "0", 0, "0000"},
};

START_TEST(there_and_back)
{
	const char *text = good[_i].text;
	struct buf b;
	uint64_t v = 1;

	buf_init(&b);
	ck_assert_int_eq(value_read(good[_i].unit,
				 (struct str){edge_copy(text, strlen(text)),
					 strlen(text)},
				 &v),
		0);
	ck_assert_uint_eq(v, good[_i].value);
	value_print(good[_i].unit, v, &b);
	ck_assert_str_eq(buf_z(&b), good[_i].printed ? good[_i].printed : text);
	buf_done(&b);
}
END_TEST

static const struct {
	enum value_unit unit;
	const char *text;
	int error;
} bad[] = {
	{VALUE_COUNT, "", EINVAL},
	{VALUE_COUNT, "two", EINVAL},
	{VALUE_COUNT, "1k", EINVAL},
	{VALUE_COUNT, "-1", EINVAL},
	{VALUE_COUNT, "18446744073709551616", ERANGE},
	{VALUE_SIZE, "", EINVAL},
	{VALUE_SIZE, "k", EINVAL},
	{VALUE_SIZE, "8kb", EINVAL},
	{VALUE_SIZE, "8K", EINVAL},
	{VALUE_SIZE, "8 k", EINVAL},
	{VALUE_SIZE, "1.5k", EINVAL},
	{VALUE_SIZE, "5s", EINVAL},
	{VALUE_SIZE, "99999999999999g", ERANGE},
	{VALUE_TIME, "-5", EINVAL},
	{VALUE_TIME, "1e3", EINVAL},
	{VALUE_TIME, "5d", EINVAL},
	{VALUE_TIME, "5k", EINVAL},
	{VALUE_TIME, "18446744073709551615h", ERANGE},
	{VALUE_OCTAL, "", EINVAL},
	{VALUE_OCTAL, "9", EINVAL},
	{VALUE_OCTAL, "0o660", EINVAL},
	{VALUE_OCTAL, "7777777777777777777777777", ERANGE},
};

START_TEST(refused)
{
	uint64_t v = 42;

	errno = 0;
	ck_assert_int_eq(
		value_read(bad[_i].unit, str_of(bad[_i].text), &v), -1);
	ck_assert_int_eq(errno, bad[_i].error);
	ck_assert_uint_eq(v, 42);
}
END_TEST

Suite *
value_suite(void)
{
	Suite *s = suite_create("value");
	TCase *tc = tcase_create("all");

	tcase_add_loop_test(tc, there_and_back, 0, N(good));
	tcase_add_loop_test(tc, refused, 0, N(bad));
	suite_add_tcase(s, tc);
	return s;
}
