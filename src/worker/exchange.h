/*
 * exchange.h -- one request and its response.
 */
#ifndef WORKER_EXCHANGE_H
#define WORKER_EXCHANGE_H

#include "worker/serve.h"

/* What becomes of the connection in hand. */
enum fate {
	FATE_NEXT, /* another request may follow */
	FATE_TURN_OVER, /* another has followed, but others are to be served */
	FATE_UNFINISHED, /* its head is not complete */
	FATE_LINGER, /* answered for the last time */
	FATE_CLOSE
};

/*
 * May the response that is about to be committed promise to keep the
 * connection?  Asked as late as possible: the order to retire may have come
 * while the application worked.  A client that was not told to send its body
 * may do so after a final response, or not (RFC 9110 10.1.1): nobody could
 * tell where its next request begins, as with a body that is broken.  And what
 * a client sends ahead is kept for its next turn in reason only.
 */
bool exchange_may_keep(void *serve);

/* Let the application answer the request in hand. */
enum fate exchange_answer(struct serve *s);

/* Answer what is no request, or none in time. */
enum fate exchange_refuse(struct serve *s, int status);

#endif
