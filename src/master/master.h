/*
 * master.h -- the master process.
 */
#ifndef MASTER_MASTER_H
#define MASTER_MASTER_H

#include "conf/conf.h"

/* Start, serve until told to stop; returns the exit status of the process. */
int master_run(const struct conf_args *args);

/*
 * -t: the path of a start that binds, locks and opens nothing; the application
 * is loaded in a child.  Every fault goes to stderr.  Returns 0 or 2.
 */
int master_check(const struct conf_args *args);

#endif
