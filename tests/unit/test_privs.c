/*
 * test_privs.c -- a child becomes somebody else, or fails to.
 *
 * Each case is a child of its own; its exit status tells.
 */
#include <check.h>
#include <errno.h>
#include <grp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "proc/privs.h"

Suite *privs_suite(void);

#define UID 4242
#define GID 4343

static char why[PRIVS_WHY_MAX];

static bool
is_root(const char *test)
{
	if (geteuid() != 0)
		fprintf(stderr, "skipped: %s (not root)\n", test);
	return geteuid() == 0;
}

/* Run in a child; what it returns. */
static int
in_child(int (*child)(const struct account *a), const struct account *a)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(child(a));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Drop; 0, or 1 with the reason on stderr, where a failed test shows it. */
static int
drop(const struct account *a)
{
	if (privs_drop(a, why) == 0)
		return 0;
	fprintf(stderr, "(%s)\n", why);
	return 1;
}

static int
become_number(const struct account *a)
{
	gid_t groups[100];
	uid_t u[3];
	gid_t g[3];

	if (drop(a) != 0)
		return 1;
	if (getresuid(&u[0], &u[1], &u[2]) || getresgid(&g[0], &g[1], &g[2]))
		return 2;
	for (int i = 0; i < 3; i++)
		if (u[i] != UID || g[i] != GID)
			return 3;
	if (getgroups(100, groups) != 1 || groups[0] != GID)
		return 4;
	if (setuid(0) == 0 || setgid(0) == 0 || setgroups(0, NULL) == 0)
		return 5;
	/* neither core dumps nor our own /proc are taken away */
	if (prctl(PR_GET_DUMPABLE) != 1 ||
		access("/proc/self/fd/0", F_OK) == -1)
		return 6;
	return 0;
}

START_TEST(number)
{
	const struct account a = {true, UID, GID, NULL};

	if (is_root("number"))
		ck_assert_int_eq(in_child(become_number, &a), 0);
}
END_TEST

/* Root's own groups are gone, whatever they were. */
static int
become_nobody(const struct account *a)
{
	const gid_t mine[] = {0, 1, 2};
	gid_t groups[100];
	int n;

	if (setgroups(3, mine) == -1 || drop(a) != 0)
		return 1;
	n = getgroups(100, groups);
	for (int i = 0; i < n; i++)
		if (groups[i] <= 2)
			return 2;
	return n < 1 ? 3 : 0;
}

START_TEST(name)
{
	const struct account a = {true, 65534, 65534, "nobody"};

	if (is_root("name"))
		ck_assert_int_eq(in_child(become_nobody, &a), 0);
}
END_TEST

/* `user = root` is a wish like any other. */
START_TEST(root)
{
	const struct account a = {true, 0, 0, "root"};

	if (is_root("root"))
		ck_assert_int_eq(in_child(drop, &a), 0);
}
END_TEST

/* Root without this capability. */
static void
lose(int cap)
{
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct d[2];

	syscall(SYS_capget, &h, d);
	d[0].effective &= ~(1u << cap);
	d[0].permitted &= ~(1u << cap);
	syscall(SYS_capset, &h, d);
}

static int
fail_at_groups(const struct account *a)
{
	lose(CAP_SETGID);
	return privs_drop(a, why) == -1 && strstr(why, "initgroups") ? 0 : 1;
}

/* From here on setgid() is not permitted, whoever asks. */
static int
forbid_setgid(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setgid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog all = {sizeof(f) / sizeof(f[0]), f};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all);
}

static int
fail_at_group(const struct account *a)
{
	if (forbid_setgid() == -1)
		return 2;
	return privs_drop(a, why) == -1 && strstr(why, "setgid: ") ? 0 : 1;
}

static int
fail_at_user(const struct account *a)
{
	lose(CAP_SETUID);
	return privs_drop(a, why) == -1 && strstr(why, "setuid: ") ? 0 : 1;
}

START_TEST(each_call_may_fail)
{
	const struct account a = {true, UID, GID, NULL};

	if (!is_root("each_call_may_fail"))
		return;
	ck_assert_int_eq(in_child(fail_at_groups, &a), 0);
	ck_assert_int_eq(in_child(fail_at_group, &a), 0);
	ck_assert_int_eq(in_child(fail_at_user, &a), 0);
}
END_TEST

/* With this, setuid() leaves the capabilities: root can be had back. */
static int
keep_root(const struct account *a)
{
	if (prctl(PR_SET_SECUREBITS, 1 << 2 /* SECBIT_NO_SETUID_FIXUP */) == -1)
		return 2;
	return privs_drop(a, why) == -1 && strstr(why, "had back") ? 0 : 1;
}

/* A user who is not root, but whose saved number still is. */
static int
half_way(const struct account *a)
{
	if (setgid(GID) || setgroups(0, NULL) || setresuid(UID, UID, 0))
		return 2;
	return privs_drop(a, why) == -1 && strstr(why, "old numbers") ? 0 : 1;
}

START_TEST(verified)
{
	const struct account a = {true, UID, GID, NULL};

	if (!is_root("verified"))
		return;
	ck_assert_int_eq(in_child(keep_root, &a), 0);
	ck_assert_int_eq(in_child(half_way, &a), 0);
}
END_TEST

/* An ordinary user who has root's group besides. */
static int
in_group_0(const struct account *a)
{
	const gid_t groups[] = {GID, 0};

	if (setgroups(2, groups) || setgid(GID) || setuid(UID))
		return 2;
	return privs_drop(a, why) == -1 && strstr(why, "group of root") ? 0 : 1;
}

START_TEST(group_0)
{
	const struct account a = {true, UID, GID, NULL};

	if (is_root("group_0"))
		ck_assert_int_eq(in_child(in_group_0, &a), 0);
}
END_TEST

/* Who is not root can say who he is, and nothing else. */
static int
as_oneself(const struct account *a)
{
	struct account other = *a;

	if (geteuid() == 0 &&
		(setgroups(0, NULL) || setgid(GID) || setuid(UID)))
		return 2;
	other.uid++;
	return drop(a) == 0 && privs_drop(&other, why) == -1 ? 0 : 1;
}

START_TEST(oneself)
{
	const struct account somebody = {true, UID, GID, NULL};
	const struct account me = {true, geteuid(), getegid(), NULL};

	ck_assert_int_eq(
		in_child(as_oneself, geteuid() == 0 ? &somebody : &me), 0);
}
END_TEST

Suite *
privs_suite(void)
{
	Suite *s = suite_create("privs");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, number);
	tcase_add_test(tc, name);
	tcase_add_test(tc, root);
	tcase_add_test(tc, each_call_may_fail);
	tcase_add_test(tc, verified);
	tcase_add_test(tc, group_0);
	tcase_add_test(tc, oneself);
	suite_add_tcase(s, tc);
	return s;
}
