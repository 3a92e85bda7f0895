/*
 * reload.h -- SIGHUP as a transaction.
 */
#ifndef MASTER_RELOAD_H
#define MASTER_RELOAD_H

#include "master/state.h"

/* Load a new generation and put it on trial; cancels a trial that is on. */
void reload_begin(struct master *m);

/* Act upon what became of the trial, or of the handing over. */
void reload_heed(struct master *m);

/*
 * Drop the trial, if there is one: the old generation serves on.  If its worker
 * has just begun to serve the reload is committed all the same.
 */
void reload_cancel(struct master *m, const char *why);

#endif
