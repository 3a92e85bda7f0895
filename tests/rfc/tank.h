/*
 * tank.h -- a whole worker in this process, fed from memory.
 *
 * What one connection sends goes through serve.h and back, over a socketpair
 * whose other end is read and written whenever the worker would wait: no
 * second thread, no fork, no clock.  The application is tests/apps/witness.c.
 */
#ifndef RFC_TANK_H
#define RFC_TANK_H

#include "base/buf.h"
#include "worker/serve.h"

struct tank_stream {
	const char *p;
	size_t n;
	size_t first; /* bytes in the first piece, 0: as the others */
	size_t step; /* bytes in each other one, 0: all of them */
};

/* Limits that a fuzzer passes easily, or the server's defaults. */
extern const struct serve_settings tank_small, tank_default;

void tank_open(const struct serve_settings *settings);
void tank_close(void);

/* How much the witness asks for at once; the server passes all of it through. */
#define TANK_PASS SIZE_MAX
void tank_read_size(size_t n);

/*
 * A connection from its first byte to its end: all that came back.  Valid until
 * the next call.  Nothing is left of it in the worker.
 */
struct str tank_run(const struct tank_stream *s);

#endif
