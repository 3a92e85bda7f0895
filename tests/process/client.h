/*
 * client.h -- the client's side of a connection, strict about what it reads.
 *
 * Functions that cannot do what they say fail the test, but for the try_
 * ones, which tell; those may be used from threads.
 */
#ifndef TESTS_PROCESS_CLIENT_H
#define TESTS_PROCESS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATIENCE_MS 60000

/* Wait until the condition holds; for what no descriptor tells. */
#define UNTIL(condition)                                                       \
	do {                                                                   \
		int64_t until_ = now_ms() + PATIENCE_MS;                       \
		while (!(condition)) {                                         \
			MUST(now_ms() < until_, "never: %s", #condition);      \
			nap();                                                 \
		}                                                              \
	} while (0)

/* A check that costs nothing when it holds, with a reason when not. */
#define MUST(condition, ...)                                                   \
	do {                                                                   \
		if (!(condition)) {                                            \
			harness_complain();                                    \
			ck_abort_msg(__VA_ARGS__);                             \
		}                                                              \
	} while (0)

struct server;

void harness_complain(void);

struct bytes {
	char *p; /* followed by a NUL */
	size_t n, max;
};

struct client {
	int fd;
	struct bytes in; /* received, not yet consumed */
	bool eof; /* the server closed in order */
	bool reset; /* or not */
	bool slow; /* it reads 4 KiB each 2 ms */
	const char *error; /* what a try_ function stumbled over */
};

struct answer {
	int status;
	int interim; /* 1xx responses before it */
	char *head; /* status line and fields, NUL-terminated */
	struct bytes body; /* decoded */
	char *trailers; /* lines, NULL if it was not chunked */
	bool chunked;
	bool until_eof; /* neither length nor chunks */
	bool close; /* the server said so, or 1.0 without keep-alive */
};

int64_t now_ms(void);
int64_t now_us(void);
void nap(void); /* 2 ms: between two looks, never instead of one */

/* ---- connections ---- */

void client_open(struct client *c, const struct server *s);
void client_open_nth(struct client *c, const struct server *s, int listener);
void client_open_port(struct client *c, int port);
void client_open_unix(struct client *c, const char *path);
bool client_try_port(struct client *c, int port, int rcvbuf);
int server_port(const struct server *s, int listener);

void client_send(struct client *c, const void *p, size_t n);
void client_puts(struct client *c, const char *text);
void client_printf(struct client *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
bool client_try_send(struct client *c, const void *p, size_t n);
void client_shut(struct client *c); /* half-close */
void client_abort(struct client *c); /* close with a reset */
void client_done(struct client *c);

/* ---- answers ---- */

/* One final response with all of its body; interim ones are counted. */
void client_read(struct client *c, struct answer *a);
void client_read_head(struct client *c, struct answer *a); /* of HEAD */
bool client_try_read(struct client *c, struct answer *a, bool to_head);

/* At least n bytes received and not consumed. */
void client_wait_bytes(struct client *c, size_t n);
bool client_try_fill(struct client *c); /* some more; false at the end */

/* Nothing more comes but the end of the connection. */
void client_wait_eof(struct client *c);
/* The same, whatever comes before it: it stays in c->in. */
void client_slurp(struct client *c);

/* Send and read at the same time, as large echoes need it. */
void
client_exchange(struct client *c, const void *p, size_t n, struct answer *a);

/* The longest that one of n events of probe's /stream took to come, in us. */
int64_t client_time_events(struct client *c, int n);

/* The value of a field (any case) in answer.head, or NULL; and how many. */
const char *answer_field(const struct answer *a, const char *name);
int answer_fields(const struct answer *a, const char *name);
void answer_done(struct answer *a);

/* New connection, one request, one answer, end of the connection. */
void ask(const struct server *s, const void *p, size_t n, struct answer *a);
void get(const struct server *s, const char *target, struct answer *a);
void must_get(const struct server *s, const char *target, const char *body);

void bytes_add(struct bytes *b, const void *p, size_t n);
void bytes_done(struct bytes *b);

#endif
