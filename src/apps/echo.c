/*
 * echo.c -- sends back what came: fields, body, trailers.
 *
 * It reads and writes 1024 bytes at a time, as a careless application would,
 * which makes it the one to try the buffer settings on.  A request with
 * `x-host-to-host: true` has its body passed through by the server instead.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "narwhal/app.h"

/*
 * Fields that speak of one connection or of one message's framing.  They are
 * the server's business, which refuses them from an application.
 */
static const char *const not_echoed[] = {"connection", "content-length",
	"keep-alive", "proxy-authenticate", "proxy-authorization",
	"proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"};

static int
is(nw_str s, const char *z)
{
	return s.len == strlen(z) && strncasecmp(s.p, z, s.len) == 0;
}

static int
is_echoed(nw_str name)
{
	size_t i;

	for (i = 0; i < sizeof(not_echoed) / sizeof(not_echoed[0]); i++)
		if (is(name, not_echoed[i]))
			return 0;
	return 1;
}

/* add is nw_add_field or nw_add_trailer.  What it refuses is left out. */
static int
echo_fields(nw_request *r, const nw_field *f, size_t n,
	int (*add)(nw_request *, nw_str, nw_str))
{
	size_t i;

	for (i = 0; i < n; i++)
		if (is_echoed(f[i].name) &&
			add(r, f[i].name, f[i].value) == -1 && errno != EINVAL)
			return -1;
	return 0;
}

static int
echo_body(nw_request *r)
{
	char p[1024];
	ssize_t n;

	while ((n = nw_read(r, p, sizeof(p))) > 0)
		if (nw_write(r, p, (size_t)n) == -1)
			return -1;
	return (int)n; /* 0 at the body's end, -1 if it broke off */
}

static int
is_host_to_host(nw_request *r)
{
	nw_str value;

	return nw_field_get(r, "x-host-to-host", &value) && is(value, "true");
}

static int
handle(nw_request *r, void *state)
{
	const nw_field *f;
	size_t n;

	(void)state;
	f = nw_fields(r, &n);
	if (nw_start(r, 200, NULL) == -1 ||
		echo_fields(r, f, n, nw_add_field) == -1)
		return -1;
	if ((is_host_to_host(r) ? nw_pass_body(r) : echo_body(r)) == -1)
		return -1;
	f = nw_trailers(r, &n); /* they are here once the body has ended */
	return echo_fields(r, f, n, nw_add_trailer);
}

const nw_app narwhal_app = {NW_APP_ABI, .handle = handle};
