/*
 * test_account.c -- users and groups, by name and by number.
 */
#include <check.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/account.h"

Suite *account_suite(void);

#define NOBODYS "4242424242" /* a number in no database */

static struct arena arena;
static struct account a;
static const char *why;

static void
setup(void)
{
	ck_assert_int_eq(arena_init(&arena, 1024), 0);
	memset(&a, 0, sizeof(a));
	why = NULL;
}

static void
teardown(void)
{
	arena_done(&arena);
}

static void
find(const char *text)
{
	ck_assert_msg(
		account_find_user(text, &arena, &a, &why) == 0, "%s", why);
	ck_assert(a.is_set);
}

START_TEST(by_name)
{
	const struct passwd *p = getpwnam("nobody");
	uid_t uid = p->pw_uid;
	gid_t gid = p->pw_gid;

	find("nobody");
	ck_assert_uint_eq(a.uid, uid);
	ck_assert_uint_eq(a.gid, gid);
	ck_assert_str_eq(a.name, "nobody");
}
END_TEST

/* The groups of a number are those of the name that has it. */
START_TEST(by_number)
{
	char number[20];

	snprintf(number, sizeof(number), "%u", getpwnam("nobody")->pw_uid);
	find(number);
	ck_assert_str_eq(a.name, "nobody");
	find(NOBODYS);
	ck_assert_uint_eq(a.uid, strtoul(NOBODYS, NULL, 10));
	ck_assert_uint_eq(a.gid, ACCOUNT_NO_GROUP);
	ck_assert_ptr_null(a.name);
}
END_TEST

static const char *const bad[] = {"", " ", "no_such_user_x", "-1", "+5", "0x0",
	"1.5", "4294967295", "4294967296", "99999999999999999999999", "nobody ",
	"nobody:"};

START_TEST(refused)
{
	gid_t gid = 7;

	ck_assert_int_eq(account_find_user(bad[_i], &arena, &a, &why), -1);
	ck_assert_str_eq(why, "no such user");
	ck_assert_int_eq(account_find_group(bad[_i], &gid, &why), -1);
	ck_assert_str_eq(why, "no such group");
	ck_assert_uint_eq(gid, 7);
}
END_TEST

START_TEST(groups)
{
	gid_t gid, daemon = getgrnam("daemon")->gr_gid;
	char number[20];

	ck_assert_int_eq(account_find_group("daemon", &gid, &why), 0);
	ck_assert_uint_eq(gid, daemon);
	snprintf(number, sizeof(number), "%u", daemon);
	ck_assert_int_eq(account_find_group(number, &gid, &why), 0);
	ck_assert_uint_eq(gid, daemon);
	ck_assert_int_eq(account_find_group(NOBODYS, &gid, &why), 0);
	ck_assert_uint_eq(gid, strtoul(NOBODYS, NULL, 10));
}
END_TEST

Suite *
account_suite(void)
{
	Suite *s = suite_create("account");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, by_name);
	tcase_add_test(tc, by_number);
	tcase_add_loop_test(
		tc, refused, 0, (int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_test(tc, groups);
	suite_add_tcase(s, tc);
	return s;
}
