/*
 * forwarded.h -- what a trusted proxy says of its client.
 *
 * Pure: the peer and the head in, scheme and address out.
 */
#ifndef WORKER_FORWARDED_H
#define WORKER_FORWARDED_H

#include "base/allow.h"
#include "http/head.h"

struct forwarded {
	struct str scheme; /* "http" or "https" */
	struct str addr; /* of the client, a view into the head; p NULL: the
			    peer itself is the client */
	int port; /* the client's, 0: not known */
};

/*
 * Judge a request that came from this peer (forwarded-allow-ips is the list).
 * Nothing a stranger says is believed.  Returns 0, or 400 when the fields of a
 * trusted peer contradict each other about the scheme.
 */
int forwarded_read(const struct allow *trusted, const struct sockaddr *peer,
	const struct head *head, struct forwarded *ret);

#endif
