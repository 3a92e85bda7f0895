/*
 * reader.c -- the second reader of requests as a program.
 *
 *	reader <BYTES
 *
 * Says of each request on a connection, one a line, "good" (or "over" if the
 * server has limits that it may refuse it for) and the number of its bytes, or
 * "bad" and why.  What is behind a bad one is not read.
 */
#include "rfc/reader.h"

#include <stdio.h>

#define INPUT_MAX (4 * 1024 * 1024)

/* -> whether there may be another one */
static bool
tell(const char *p, size_t n, size_t *ret_used)
{
	static const struct reader_limits limits = {
		.head = 65536, .line = 8190, .fields = 100, .field = 8190};
	struct reading r;
	bool good;

	reader_read(p, n, &limits, &r);
	good = r.kind == READING_GOOD;
	if (good)
		printf("%s %zu\n", r.over ? "over" : "good", r.used);
	else if (r.kind != READING_NOTHING)
		printf("bad %s\n", r.why);
	*ret_used = r.used;
	reading_done(&r);
	return good && !r.close;
}

int
main(void)
{
	static char in[INPUT_MAX];
	size_t n = fread(in, 1, sizeof(in), stdin), used, at = 0;

	while (at < n && tell(in + at, n - at, &used))
		at += used;
	return 0;
}
