/*
 * account.h -- the user and the group that workers run as.
 */
#ifndef CONF_ACCOUNT_H
#define CONF_ACCOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/arena.h"

#define ACCOUNT_NO_GROUP ((gid_t)-1)

struct account {
	bool is_set; /* else workers stay what the master is */
	uid_t uid;
	gid_t gid; /* ACCOUNT_NO_GROUP: nothing says which */
	const char *name; /* of the user, whose groups count; or NULL */
};

/*
 * The user of that name, or else of that number; a number needs no entry in
 * the database.  Returns -1 with a reason.
 */
int account_find_user(const char *text, struct arena *a,
	struct account *ret_account, const char **ret_why);

/* The group of that name, or else of that number. */
int account_find_group(const char *text, gid_t *ret_gid, const char **ret_why);

#endif
