/* openfails.c -- an application that cannot be opened, and says why. */
#include <narwhal/app.h>
#include <string.h>

static int
open_app(nw_server *s, void **ret_state)
{
	static const char why[] = "openfails: no luck today";

	(void)ret_state;
	nw_log(s, NW_ERROR, why, strlen(why));
	return -1;
}

static int
handle(nw_request *r, void *state)
{
	(void)r;
	(void)state;
	return -1;
}

const nw_app narwhal_app = {NW_APP_ABI, .open = open_app, .handle = handle};
