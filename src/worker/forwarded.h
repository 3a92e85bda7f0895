/*
 * forwarded.h -- what a trusted proxy says of its client.
 *
 * Pure: the peer and the head in, scheme and address out.
 */
#ifndef WORKER_FORWARDED_H
#define WORKER_FORWARDED_H

#include "base/allow.h"
#include "http/target.h"

struct forwarded {
	struct str scheme; /* "http" or "https" */
	struct str addr; /* of the client, a view into the head; p NULL: the
			    peer itself is the client */
	int port; /* the client's, 0: not known */
};

/*
 * Judge a request that came from this peer (forwarded-allow-ips is the list).
 * Nothing a stranger says is believed.  Returns 0, 400 when the fields of a
 * trusted peer contradict each other about the scheme, or 421 for a stranger
 * who asks for https, which he has not spoken to us (RFC 9110 7.4).
 */
int forwarded_read(const struct allow *trusted, const struct sockaddr *peer,
	const struct head *head, const struct target *target,
	struct forwarded *ret);

#endif
