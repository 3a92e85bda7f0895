/*
 * test_allow.c -- lists of peers.
 */
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "base/allow.h"

static struct allow_entry entries[8];

static struct allow
list(const char *const *texts)
{
	struct allow a = {entries, 0};
	const char *why;

	for (; texts[a.n]; a.n++)
		ck_assert_int_eq(
			allow_read(str_of(texts[a.n]), &entries[a.n], &why), 0);
	return a;
}

static bool
has(const struct allow *a, const char *ip)
{
	unsigned char bytes[16];

	ck_assert_int_eq(allow_read_ip(str_of(ip), bytes), 0);
	return allow_has_ip(a, bytes);
}

START_TEST(networks_and_addresses)
{
	const char *const texts[] = {"10.1.2.3", "192.168.0.0/23", "::1",
		"fd00::/9", "172.16.0.0/12", NULL};
	struct allow a = list(texts);

	ck_assert(has(&a, "10.1.2.3"));
	ck_assert(!has(&a, "10.1.2.2"));
	ck_assert(has(&a, "192.168.1.255"));
	ck_assert(!has(&a, "192.168.2.0"));
	ck_assert(has(&a, "::1"));
	ck_assert(!has(&a, "::2"));
	ck_assert(has(&a, "fd7f::1"));
	ck_assert(!has(&a, "fd80::1"));
	ck_assert(has(&a, "172.31.0.1"));
	ck_assert(!has(&a, "172.32.0.1"));
}
END_TEST

START_TEST(mapped_v4_is_v4)
{
	const char *const texts[] = {"127.0.0.0/8", NULL};
	struct allow a = list(texts);

	ck_assert(has(&a, "::ffff:127.9.9.9"));
	ck_assert(!has(&a, "::127.9.9.9"));
}
END_TEST

START_TEST(everybody_and_unix)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct sockaddr_in in = {.sin_family = AF_INET};
	const char *const any[] = {"*", NULL}, *const only[] = {"unix", NULL},
			  *const zero[] = {"0.0.0.0/0", NULL};
	struct allow a;

	a = list(any);
	ck_assert(allow_has_peer(&a, (struct sockaddr *)&un));
	ck_assert(allow_has_peer(&a, (struct sockaddr *)&in));
	a = list(only);
	ck_assert(allow_has_peer(&a, (struct sockaddr *)&un));
	ck_assert(!allow_has_peer(&a, (struct sockaddr *)&in));
	a = list(zero);
	ck_assert(!allow_has_peer(&a, (struct sockaddr *)&un));
	ck_assert(allow_has_peer(&a, (struct sockaddr *)&in));
	ck_assert(!has(&a, "::1"));
}
END_TEST

START_TEST(what_is_no_entry)
{
	static const char *const bad[] = {"", "localhost", "10.0.0",
		"10.0.0.0/33", "10.0.0.0/", "10.0.0.1/8", "::1/129",
		"fd00::1/8", "10.0.0.0/8/8", "10.0.0.0/+8", "/8", "**",
		"unix:", "1.2.3.4 ",
		"0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0001"};
	struct allow_entry e;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const char *why = NULL;

		ck_assert_msg(allow_read(str_of(bad[i]), &e, &why) == -1,
			"'%s'", bad[i]);
		ck_assert_ptr_nonnull(why);
	}
}
END_TEST

Suite *allow_suite(void);

Suite *
allow_suite(void)
{
	Suite *s = suite_create("allow");
	TCase *t = tcase_create("allow");

	tcase_add_test(t, networks_and_addresses);
	tcase_add_test(t, mapped_v4_is_v4);
	tcase_add_test(t, everybody_and_unix);
	tcase_add_test(t, what_is_no_entry);
	suite_add_tcase(s, t);
	return s;
}
