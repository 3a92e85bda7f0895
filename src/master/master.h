/*
 * master.h -- the process that keeps the workers.
 */
#ifndef MASTER_MASTER_H
#define MASTER_MASTER_H

#include "conf/conf.h"

/* Start, serve until asked to stop; returns the exit status of narwhal. */
int master_run(const struct conf_args *args);

/* -t: print every fault that a start would find; 0 or 2. */
int master_check(const struct conf_args *args);

#endif
