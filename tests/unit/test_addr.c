/*
 * test_addr.c -- addresses to listen on.
 */
#include <check.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include "conf/addr.h"
#include "unit/edge.h"

Suite *addr_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))

static struct arena a;

static void
setup(void)
{
	ck_assert_int_eq(arena_init(&a, 4096), 0);
}

static void
teardown(void)
{
	arena_done(&a);
}

static int
read_addr(const char *text, struct addr *out, int max, const char **ret_why)
{
	return addr_read(
		(struct str){edge_copy(text, strlen(text)), strlen(text)}, &a,
		out, max, ret_why);
}

static struct addr
one(const char *text)
{
	struct addr out;
	const char *why = "";
	int n = read_addr(text, &out, 1, &why);

	ck_assert_msg(n == 1, "%s: %d %s", text, n, why);
	return out;
}

static const struct {
	const char *text;
	enum addr_kind kind;
	const char *shown;
} good[] = {
	{"127.0.0.1:8000", ADDR_TCP, "127.0.0.1:8000"},
	{"0.0.0.0:0", ADDR_TCP, "0.0.0.0:0"},
	{"1.2.3.4:65535", ADDR_TCP, "1.2.3.4:65535"},
	{"1.2.3.4:00080", ADDR_TCP, "1.2.3.4:80"},
	{"[::1]:80", ADDR_TCP, "[::1]:80"},
	{"[0:0:0:0:0:0:0:0]:80", ADDR_TCP, "[::]:80"},
	{"unix:/run/x", ADDR_UNIX, "unix:/run/x"},
	{"unix:/a:b", ADDR_UNIX, "unix:/a:b"},
	{"fd:3", ADDR_FD, "fd:3"},
};

START_TEST(read_well)
{
	struct addr out = one(good[_i].text);

	ck_assert_int_eq(out.kind, good[_i].kind);
	ck_assert_str_eq(out.text, good[_i].shown);
	if (out.kind == ADDR_FD) {
		ck_assert_int_eq(out.fd, 3);
		return;
	}
	ck_assert_int_eq(out.fd, -1);
	/* the text is that of the socket address */
	ck_assert_str_eq(
		addr_text((struct sockaddr *)&out.sa, out.len, &a), out.text);
}
END_TEST

static const char *const bad[] = {"", ":", "8000", ":8000", "127.0.0.1",
	"127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:-1", "127.0.0.1:http",
	"127.0.0.1:80 ", "127.1:80", "256.0.0.1:80", "1.2.3:80", "::1:80",
	"::1", "[::1]", "[::1]80", "[::1:80", "[]:80", "[127.0.0.1]:80",
	"[localhost]:80", "[::ffff:1.2.3.4]:80", "unix:", "fd:", "fd:x",
	"fd:-1", "fd:99999999999", "[", "]:80"};

START_TEST(refused)
{
	struct addr out;
	const char *why = NULL;

	ck_assert_int_eq(read_addr(bad[_i], &out, 1, &why), -1);
	ck_assert_ptr_nonnull(why);
}
END_TEST

START_TEST(long_paths)
{
	struct sockaddr_un un;
	char text[200] = "unix:/";
	struct addr out;
	const char *why;

	memset(text + 6, 'x', sizeof(text) - 6);
	text[5 + sizeof(un.sun_path) - 1] = '\0';
	one(text);
	strcat(text, "x");
	ck_assert_int_eq(read_addr(text, &out, 1, &why), -1);
}
END_TEST

START_TEST(names_may_have_several_addresses)
{
	struct addr out[8];
	const char *why = "";
	int n = read_addr("localhost:80", out, 8, &why);

	ck_assert_msg(n >= 1, "%s", why);
	for (int i = 0; i < n; i++) {
		ck_assert_int_eq(out[i].kind, ADDR_TCP);
		for (int j = 0; j < i; j++)
			ck_assert(!addr_eq(&out[i], &out[j]));
	}
	ck_assert_int_eq(read_addr("localhost:80", out, 0, &why), -1);
}
END_TEST

static const struct {
	const char *x, *y;
	bool eq, overlap;
} pairs[] = {
	{"1.2.3.4:80", "1.2.3.4:80", true, true},
	{"1.2.3.4:80", "1.2.3.4:81", false, false},
	{"1.2.3.4:80", "1.2.3.5:80", false, false},
	{"0.0.0.0:80", "1.2.3.4:80", false, true},
	{"0.0.0.0:80", "1.2.3.4:81", false, false},
	{"[::1]:80", "[0::1]:80", true, true},
	{"[::]:80", "[::1]:80", false, true},
	/* v6 sockets are for version 6 only */
	{"[::]:80", "0.0.0.0:80", false, false},
	/* the kernel picks another port each time */
	{"0.0.0.0:0", "0.0.0.0:0", true, false},
	{"unix:/x", "unix:/x", true, true},
	{"unix:/x", "unix:/xy", false, false},
	{"fd:3", "fd:3", true, false},
	{"fd:3", "fd:4", false, false},
	{"unix:/x", "fd:3", false, false},
	{"1.2.3.4:80", "fd:3", false, false},
};

START_TEST(beside_each_other)
{
	struct addr x = one(pairs[_i].x), y = one(pairs[_i].y);

	ck_assert_int_eq(addr_eq(&x, &y), pairs[_i].eq);
	ck_assert_int_eq(addr_eq(&y, &x), pairs[_i].eq);
	ck_assert_int_eq(addr_overlaps(&x, &y), pairs[_i].overlap);
	ck_assert_int_eq(addr_overlaps(&y, &x), pairs[_i].overlap);
}
END_TEST

START_TEST(other_socket_addresses)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	const struct sockaddr *sa = (struct sockaddr *)&un;

	/* a client that has not bound its socket */
	ck_assert_str_eq(
		addr_text(sa, offsetof(struct sockaddr_un, sun_path), &a),
		"unix:");
	memcpy(un.sun_path, "\0abc", 4);
	ck_assert_str_eq(
		addr_text(sa, offsetof(struct sockaddr_un, sun_path) + 4, &a),
		"unix:@abc");
}
END_TEST

Suite *
addr_suite(void)
{
	Suite *s = suite_create("addr");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, read_well, 0, N(good));
	tcase_add_loop_test(tc, refused, 0, N(bad));
	tcase_add_test(tc, long_paths);
	tcase_add_test(tc, names_may_have_several_addresses);
	tcase_add_loop_test(tc, beside_each_other, 0, N(pairs));
	tcase_add_test(tc, other_socket_addresses);
	suite_add_tcase(s, tc);
	return s;
}
