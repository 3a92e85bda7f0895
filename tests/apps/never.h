/* never.h -- the functions of applications that must be refused uncalled. */
#ifndef TESTS_APPS_NEVER_H
#define TESTS_APPS_NEVER_H

#include <stdlib.h>

#include "narwhal/app.h"

static int
never_open(nw_server *s, void **ret_state)
{
	(void)s;
	(void)ret_state;
	abort();
}

static int
never_handle(nw_request *r, void *state)
{
	(void)r;
	(void)state;
	abort();
}

#endif
