/*
 * orders.h -- what signals ask of the master.
 */
#ifndef MASTER_ORDERS_H
#define MASTER_ORDERS_H

#include "master/state.h"

/* Act upon the signals that have come since the last time. */
void orders_heed(struct master *m);

#endif
