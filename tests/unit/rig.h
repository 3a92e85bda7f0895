/*
 * rig.h -- a response between an application and a client, for tests.
 *
 * The client is the other end of a socketpair.  It reads when it is asked to:
 * by rig_read(), or by the hook that is called before a wait really blocks.
 * N = 8, S = 1k, and a flush delay that does not end within a test.
 */
#ifndef UNIT_RIG_H
#define UNIT_RIG_H

#include "wire.h"
#include "worker/response.h"

#define RIG_FOREVER_US ((int64_t)3600 * 1000000)

struct rig {
	struct flusher flusher;
	struct conn conn;
	struct response res;
	struct buf got; /* what the client has read */
	int client, server;
	int waits; /* how often the application was stopped */
};

extern struct rig rig;

void rig_setup(void);
void rig_teardown(void);

/* Another N, S and flush delay; everything anew. */
void rig_again_with(int chunks_max, size_t chunk_size, int64_t delay_us);

/* The next request: HEAD or not, HTTP/1.minor, what is kept and understood. */
void rig_begin(bool head_only, int minor, bool keep_alive, bool te_trailers);

/* The client takes what is there. */
void rig_read(void);

/* Lines logged since the last call; one must have the text, if not NULL. */
int rig_logged(const char *text);

/* What applications say; all but the write must succeed. */
void rig_start(int status);
void rig_field(const char *name, const char *value);
int rig_write_z(const char *z);

/* The next message of w. */
struct wire_message rig_message(struct wire *w, bool no_body);

/*
 * End the response, which must say whether the connection can be kept; the
 * only message that came.  Freed with the next one.
 */
struct wire_message *rig_end(bool failed, bool want_keep, bool no_body);

#endif
