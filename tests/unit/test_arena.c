/*
 * test_arena.c -- memory that is given back all at once.
 */
#include <check.h>
#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"

Suite *arena_suite(void);

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN
#endif

static struct arena a;

static void
setup(void)
{
	ck_assert_int_eq(arena_init(&a, 1024), 0);
}

static void
teardown(void)
{
	arena_done(&a);
	arena_done(&a); /* accepts the zeroed */
}

START_TEST(objects_are_aligned_and_apart)
{
	char *p[200];

	for (size_t i = 0; i < 200; i++) {
		p[i] = arena_alloc(&a, i);
		ck_assert_ptr_nonnull(p[i]);
		ck_assert_uint_eq((uintptr_t)p[i] % alignof(max_align_t), 0);
		memset(p[i], (int)i, i);
	}
	for (size_t i = 0; i < 200; i++)
		for (size_t j = 0; j < i; j++)
			ck_assert_int_eq((unsigned char)p[i][j], (int)i);
}
END_TEST

START_TEST(a_reset_keeps_the_first_block)
{
	void *first = arena_alloc(&a, 100);

	for (int i = 0; i < 100; i++)
		ck_assert_ptr_nonnull(arena_alloc(&a, 500));
	arena_reset(&a);
	ck_assert_ptr_eq(arena_alloc(&a, 100), first);
}
END_TEST

START_TEST(larger_than_a_block)
{
	char *p = arena_zalloc(&a, 100000);

	ck_assert_ptr_nonnull(p);
	for (int i = 0; i < 100000; i++)
		ck_assert_int_eq(p[i], 0);
}
END_TEST

START_TEST(too_large)
{
	errno = 0;
	ck_assert_ptr_null(arena_alloc(&a, SIZE_MAX));
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_ptr_null(arena_alloc(&a, SIZE_MAX - 32));
	ck_assert_ptr_null(arena_dup(&a, (struct str){"", SIZE_MAX}).p);
	ck_assert_ptr_nonnull(arena_alloc(&a, 1));
}
END_TEST

START_TEST(copies)
{
	struct str s = arena_dup(&a, STR("a\0b"));

	ck_assert(str_eq(s, STR("a\0b")));
	ck_assert_int_eq(s.p[3], '\0');
	ck_assert_str_eq(arena_dup(&a, str_of(NULL)).p, "");
	ck_assert_str_eq(arena_strdup(&a, "xyz"), "xyz");
	ck_assert_str_eq(arena_printf(&a, "%s-%d", "n", 7), "n-7");
}
END_TEST

#ifdef HAS_ASAN
/* The sanitizer sees through: _i 0 behind an object, 1 after a reset. */
START_TEST(poisoned)
{
	char *volatile p = arena_alloc(&a, 16);

	close(2); /* what it has to say is expected */
	if (_i)
		arena_reset(&a);
	p[_i ? 0 : 16] = 1;
}
END_TEST
#endif

Suite *
arena_suite(void)
{
	Suite *s = suite_create("arena");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, objects_are_aligned_and_apart);
	tcase_add_test(tc, a_reset_keeps_the_first_block);
	tcase_add_test(tc, larger_than_a_block);
	tcase_add_test(tc, too_large);
	tcase_add_test(tc, copies);
#ifdef HAS_ASAN
	/* a dying child is what is wanted, so without CK_FORK=no only */
	if (!getenv("CK_FORK") || strcmp(getenv("CK_FORK"), "no"))
		tcase_add_loop_exit_test(tc, poisoned, 1, 0, 2);
#endif
	suite_add_tcase(s, tc);
	return s;
}
