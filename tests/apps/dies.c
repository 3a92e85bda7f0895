/* dies.c -- an application whose open takes the worker down. */
#include <narwhal/app.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static int
open_app(nw_server *s, void **ret_state)
{
	const char *how = nw_option(s, "how");

	(void)ret_state;
	if (how && strcmp(how, "signal") == 0) {
		signal(SIGSEGV, SIG_DFL); /* a sanitizer may have it */
		kill(getpid(), SIGSEGV);
	}
	_exit(7);
}

static int
handle(nw_request *r, void *state)
{
	(void)r;
	(void)state;
	return -1;
}

const nw_app narwhal_app = {NW_APP_ABI, .open = open_app, .handle = handle};
