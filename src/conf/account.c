/*
 * account.c -- look up a user and a group.
 *
 * Asks the system's databases, so only at load time and in the master; who may
 * become whom is check.c's to say, becoming it proc/privs.c's.  The master has
 * one thread, so the functions that are not safe with more will do.
 */
#include "conf/account.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>

#include "base/str.h"

/* The highest one means "none" to the system calls. */
static int
read_number(const char *text, uint64_t *ret_id)
{
	if (str_to_u64(str_of(text), ret_id) == -1)
		return -1;
	return *ret_id < UINT32_MAX ? 0 : -1;
}

/* No entry leaves errno alone, or says one of these. */
static const char *
reason(const char *missing)
{
	switch (errno) {
	case 0:
	case ENOENT:
	case ESRCH:
	case EBADF:
	case EPERM:
		return missing;
	default:
		return strerror(errno);
	}
}

int
account_find_user(const char *text, struct arena *a,
	struct account *ret_account, const char **ret_why)
{
	const struct passwd *p;
	uint64_t id = 0;

	errno = 0;
	/* cppcheck-suppress getpwnamCalled */
	p = getpwnam(text);
	*ret_why = reason("no such user");
	if (!p && read_number(text, &id) == -1)
		return -1;
	if (!p)
		/* cppcheck-suppress getpwuidCalled */
		p = getpwuid((uid_t)id);
	*ret_account =
		(struct account){true, (uid_t)id, ACCOUNT_NO_GROUP, NULL};
	if (!p)
		return 0;
	*ret_account = (struct account){
		true, p->pw_uid, p->pw_gid, arena_strdup(a, p->pw_name)};
	*ret_why = "out of memory";
	return ret_account->name ? 0 : -1;
}

int
account_find_group(const char *text, gid_t *ret_gid, const char **ret_why)
{
	const struct group *g;
	uint64_t id;

	errno = 0;
	/* cppcheck-suppress getgrnamCalled */
	g = getgrnam(text);
	*ret_why = reason("no such group");
	if (!g && read_number(text, &id) == -1)
		return -1;
	*ret_gid = g ? g->gr_gid : (gid_t)id;
	return 0;
}
