/*
 * slowopen.c -- an application that takes its time to open: option ms, or for
 * as long as the file named by option while exists.  Serves its pid.
 */
#include <narwhal/app.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
open_app(nw_server *s, void **ret_state)
{
	static const char begins[] = "slowopen: opening";
	const char *ms = nw_option(s, "ms"), *file = nw_option(s, "while");
	int left = ms ? atoi(ms) : 0;

	*ret_state = NULL;
	nw_log(s, NW_INFO, begins, strlen(begins));
	for (; left > 0; left -= 10)
		poll(NULL, 0, 10);
	while (file && access(file, F_OK) == 0)
		poll(NULL, 0, 10);
	return 0;
}

static int
handle(nw_request *r, void *state)
{
	char z[32];
	int n = snprintf(z, sizeof(z), "%d", (int)getpid());

	(void)state;
	nw_start(r, 200, NULL);
	return nw_write(r, z, (size_t)n);
}

const nw_app narwhal_app = {NW_APP_ABI, .open = open_app, .handle = handle};
