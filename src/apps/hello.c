/*
 * hello.c -- the smallest application: says `Hello, World!`.
 *
 * Start reading here, then echo.c, then upload.c; narwhal-app(3) has it all.
 */
#include "narwhal/app.h"

static const char text[] = "Hello, World!";

/* Called for each request.  0: answered; -1: the client gets a 500. */
static int
handle(nw_request *r, void *state)
{
	(void)state; /* what open would have stored; there is no open here */

	if (nw_start(r, 200, NULL) == -1 ||
		nw_add_field_z(r, "Content-Type", "text/plain") == -1 ||
		nw_add_field_z(r, "Content-Length", "13") == -1)
		return -1;
	return nw_write(r, text, sizeof(text) - 1);
}

/* The one symbol that narwhal looks for. */
const nw_app narwhal_app = {NW_APP_ABI, .handle = handle};
