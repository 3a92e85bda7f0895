/*
 * privs.h -- a worker becomes the user it is to run as.
 */
#ifndef PROC_PRIVS_H
#define PROC_PRIVS_H

#include "conf/account.h"

#define PRIVS_WHY_MAX 160

/*
 * Take on the account's user, group and supplementary groups, for good, and
 * look whether that is what came of it.  Not as root there is nothing to take
 * on: then it only looks.  Returns -1 with a reason in why[PRIVS_WHY_MAX]; the
 * process is then in between, and must end.
 */
int privs_drop(const struct account *a, char *why);

#endif
