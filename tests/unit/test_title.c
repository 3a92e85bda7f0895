/*
 * test_title.c -- titles, in a process that may spoil its arguments.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc/title.h"

Suite *title_suite(void);

/* What the kernel puts before a program: strings without gaps. */
static char block[200];
static char *argv[5], *envp[4];

static char *
add(char **at, const char *text)
{
	char *p = *at;

	*at = stpcpy(p, text) + 1;
	return p;
}

static void
setup(void)
{
	char *at = block;

	memset(block, '#', sizeof(block));
	argv[0] = add(&at, "/usr/bin/narwhal");
	argv[1] = add(&at, "-c");
	argv[2] = add(&at, "x.ini");
	envp[0] = add(&at, "A=1");
	envp[1] = add(&at, "TITLE_TEST=kept");
	envp[2] = add(&at, "B=");
	*at = '!'; /* not ours */
	environ = envp;
}

START_TEST(over_the_arguments)
{
	size_t len = (size_t)(envp[2] + 3 - block);
	char **args = title_init(argv);

	title_set("worker %d", 7);
	ck_assert_str_eq(block, "narwhal: worker 7");
	/* what has moved is as it was */
	ck_assert_str_eq(args[0], "/usr/bin/narwhal");
	ck_assert_str_eq(args[1], "-c");
	ck_assert_str_eq(args[2], "x.ini");
	ck_assert_ptr_null(args[3]);
	ck_assert_str_eq(getenv("TITLE_TEST"), "kept");
	ck_assert_str_eq(getenv("A"), "1");
	ck_assert_str_eq(getenv("B"), "");
	setenv("A", "2", 1);
	ck_assert_str_eq(getenv("A"), "2");
	ck_assert_str_eq(program_invocation_short_name, "narwhal");
	/* a shorter one leaves nothing of the longer */
	title_set("%s", "x");
	for (size_t i = strlen("narwhal: x"); i < len; i++)
		ck_assert_int_eq(block[i], '\0');
	ck_assert_int_eq(block[len], '!');
}
END_TEST

START_TEST(cut_to_the_room)
{
	size_t len = (size_t)(envp[2] + 3 - block);

	title_init(argv);
	title_set("%0300d", 1);
	ck_assert_uint_eq(strlen(block), len - 1);
	ck_assert_int_eq(block[len], '!');
}
END_TEST

/* The room ends where the strings do not go on. */
START_TEST(gaps)
{
	static char elsewhere[] = "C=3";

	envp[1] = elsewhere;
	title_init(argv);
	title_set("%0300d", 1);
	ck_assert_ptr_eq(block + strlen(block) + 1, envp[0] + 4);
	ck_assert_str_eq(getenv("C"), "3");
	ck_assert_str_eq(elsewhere, "C=3");
}
END_TEST

START_TEST(without_room)
{
	char *none[] = {NULL};

	title_set("nothing happens");
	ck_assert_ptr_eq(title_init(none), none);
	title_set("nothing happens");
	ck_assert_str_eq(block, "/usr/bin/narwhal");
}
END_TEST

Suite *
title_suite(void)
{
	Suite *s = suite_create("title");
	TCase *tc = tcase_create("all");

	tcase_set_tags(tc, "spoils"); /* the environment, for one */
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, over_the_arguments);
	tcase_add_test(tc, cut_to_the_room);
	tcase_add_test(tc, gaps);
	tcase_add_test(tc, without_room);
	suite_add_tcase(s, tc);
	return s;
}
