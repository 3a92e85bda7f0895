/*
 * test_buf.c -- a growing byte buffer.
 */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"

Suite *buf_suite(void);

static struct buf b;

static void
setup(void)
{
	buf_init(&b);
}

static void
teardown(void)
{
	buf_done(&b);
}

START_TEST(additions)
{
	buf_add(&b, "ab", 2);
	buf_add(&b, NULL, 0);
	buf_add_str(&b, STR("c\0d"));
	buf_add_char(&b, '-');
	buf_add_u64(&b, 0);
	buf_add_char(&b, ' ');
	buf_add_u64(&b, UINT64_MAX);
	buf_addf(&b, " %s %d", "x", -7);
	ck_assert(
		str_eq(buf_str(&b), STR("abc\0d-0 18446744073709551615 x -7")));
	ck_assert(!b.failed);
	ck_assert_uint_le(b.len, b.cap);
}
END_TEST

START_TEST(growth)
{
	char expect[10000];

	for (size_t i = 0; i < sizeof(expect); i++) {
		expect[i] = (char)(i * 7);
		buf_add_char(&b, expect[i]);
	}
	ck_assert_uint_eq(b.len, sizeof(expect));
	ck_assert_mem_eq(b.p, expect, sizeof(expect));
}
END_TEST

START_TEST(reset_keeps_the_memory)
{
	char *p;

	buf_addf(&b, "%0500d", 1);
	p = b.p;
	buf_reset(&b);
	ck_assert_uint_eq(b.len, 0);
	buf_addf(&b, "%0400d", 1);
	ck_assert_ptr_eq(b.p, p);
}
END_TEST

START_TEST(a_failure_changes_nothing_and_stays)
{
	buf_add_str(&b, STR("abc"));
	errno = 0;
	ck_assert_int_eq(buf_reserve(&b, SIZE_MAX), -1);
	ck_assert_int_eq(errno, ENOMEM);
	buf_add_str(&b, STR("def"));
	buf_addf(&b, "x");
	ck_assert(b.failed);
	ck_assert(str_eq(buf_str(&b), STR("abc")));
	ck_assert_str_eq(buf_z(&b), "");
	buf_reset(&b);
	buf_add_str(&b, STR("def"));
	ck_assert_str_eq(buf_z(&b), "def");
}
END_TEST

START_TEST(as_a_c_string)
{
	ck_assert_str_eq(buf_z(&b), "");
	/* where the NUL needs more room, too */
	while (b.len < b.cap)
		buf_add_char(&b, 'x');
	ck_assert_uint_eq(strlen(buf_z(&b)), b.len);
}
END_TEST

Suite *
buf_suite(void)
{
	Suite *s = suite_create("buf");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, additions);
	tcase_add_test(tc, growth);
	tcase_add_test(tc, reset_keeps_the_memory);
	tcase_add_test(tc, a_failure_changes_nothing_and_stays);
	tcase_add_test(tc, as_a_c_string);
	suite_add_tcase(s, tc);
	return s;
}
