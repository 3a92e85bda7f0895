/*
 * whoami.c -- an application that tells whom it runs as, with which groups and
 * umask, and whether it could become root; also to the log when it opens.
 */
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kit.h"

static int
open_app(nw_server *s, void **ret_state)
{
	*ret_state = NULL;
	note(s, "whoami: opened as %u", geteuid());
	return 0;
}

/* " 1 2 3" */
static char *
list_groups(char *p, size_t max)
{
	gid_t groups[100];
	int n = getgroups(100, groups);
	size_t len = 0;

	p[0] = '\0';
	for (int i = 0; i < n && len < max; i++)
		len += (size_t)snprintf(p + len, max - len, " %u", groups[i]);
	return p;
}

static int
handle(nw_request *r, void *state)
{
	uid_t u[3];
	gid_t g[3];
	char groups[1000];
	mode_t mask = umask(0);

	(void)state;
	umask(mask);
	if (getresuid(&u[0], &u[1], &u[2]) || getresgid(&g[0], &g[1], &g[2]))
		return -1;
	return say(r, "uid %u %u %u gid %u %u %u groups%s umask %03o root %s\n",
		u[0], u[1], u[2], g[0], g[1], g[2],
		list_groups(groups, sizeof(groups)), mask,
		setuid(0) == 0 ? "yes" : "no");
}

const nw_app narwhal_app = {NW_APP_ABI, .open = open_app, .handle = handle};
