/*
 * privs.c -- root becomes somebody else, and cannot come back.
 *
 * Which account that is has been looked up at load.  The order is groups,
 * group, user: the last step takes away the right to the ones before it.
 *
 * Always: after a return of 0 the three user and group numbers are those of
 * the account, and user 0 is out of reach unless it is the account.
 */
#include "proc/privs.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int
fail(char *why, const char *what)
{
	snprintf(why, PRIVS_WHY_MAX, "%s: %s", what, strerror(errno));
	return -1;
}

static int
refuse(char *why, const char *what)
{
	snprintf(why, PRIVS_WHY_MAX, "%s", what);
	return -1;
}

static int
set_groups(const struct account *a)
{
	if (a->name)
		return initgroups(a->name, a->gid);
	return setgroups(1, &a->gid);
}

static int
become(const struct account *a, char *why)
{
	if (set_groups(a) == -1)
		return fail(why, "initgroups");
	if (setgid(a->gid) == -1)
		return fail(why, "setgid");
	if (setuid(a->uid) == -1)
		return fail(why, "setuid");
	/*
	 * The kernel has hidden /proc/self from us and forbidden core dumps,
	 * as from a program that was set-user-ID.
	 */
	prctl(PR_SET_DUMPABLE, 1);
	return 0;
}

static bool
is_in_group_0(void)
{
	static gid_t groups[NGROUPS_MAX];
	int n = getgroups(NGROUPS_MAX, groups);

	for (int i = 0; i < n; i++)
		if (groups[i] == 0)
			return true;
	return n == -1;
}

static int
verify(const struct account *a, char *why)
{
	uid_t u[3];
	gid_t g[3];

	if (getresuid(&u[0], &u[1], &u[2]) == -1 ||
		getresgid(&g[0], &g[1], &g[2]) == -1)
		return fail(why, "getresuid");
	for (int i = 0; i < 3; i++)
		if (u[i] != a->uid || g[i] != a->gid)
			return refuse(why, "the old numbers are still there");
	if (a->uid == 0)
		return 0;
	if (setuid(0) == 0 || seteuid(0) == 0)
		return refuse(why, "root can be had back");
	if (a->gid != 0 && is_in_group_0())
		return refuse(why, "it is in the group of root as well");
	return 0;
}

int
privs_drop(const struct account *a, char *why)
{
	if (geteuid() == 0 && become(a, why) == -1)
		return -1;
	return verify(a, why);
}
