/*
 * kills.h -- SIGKILL for workers, and a list of what each of them held.
 *
 * A client may only lose a request on a connection that is on the list.
 */
#ifndef TESTS_PROCESS_KILLS_H
#define TESTS_PROCESS_KILLS_H

#include "process/harness.h"

/* What a client's end is called by both sides; "" if it cannot be told. */
struct end {
	char name[32];
};

struct end end_of_client(int fd);

/*
 * Kill a process.  It is stopped first, so that what it holds then is what it
 * holds when it dies.  False: it was gone already.
 */
bool kill_worker(pid_t pid);

/* Did a worker hold that connection, opened at that moment (us), and die? */
bool kill_took(const struct end *e, int64_t opened_at);

bool kill_hit(pid_t pid); /* was it one of those? */
int kill_count(void);

#endif
