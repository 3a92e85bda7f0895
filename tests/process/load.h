/*
 * load.h -- clients without pause in threads, who count and remember what went
 * wrong.
 */
#ifndef TESTS_PROCESS_LOAD_H
#define TESTS_PROCESS_LOAD_H

#include "process/harness.h"

struct load;

/*
 * n clients that GET target over and over; every second one keeps its
 * connection as long as the server does, the others use each one once.
 */
struct load *load_start(int port, int n, const char *target);

/* The same with POST and a small body. */
struct load *load_start_posting(int port, int n, const char *target);

long load_count(const struct load *l); /* requests answered so far */

/* Stop them; fails the test if one of them met with an error. */
void load_stop(struct load *l);

/* The same, or if one of them had to wait longer than ms for an answer. */
void load_stop_within(struct load *l, int64_t ms);

#endif
