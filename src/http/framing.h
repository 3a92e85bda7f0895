/*
 * framing.h -- where a request ends and what becomes of its connection.
 *
 * This file alone judges Content-Length, Transfer-Encoding, Connection,
 * Upgrade, Expect, TE and the presence and number of Host.
 */
#ifndef HTTP_FRAMING_H
#define HTTP_FRAMING_H

#include "http/head.h"

struct framing {
	bool chunked; /* RFC 9112 6.3: the body is chunked, */
	bool has_length; /* or Content-Length was there: */
	uint64_t length; /* bytes of the body, 0 without one */
	bool keep_alive; /* RFC 9112 9.3: the client wants to go on */
	bool expect; /* waits for 100 Continue (RFC 9110 10.1.1) */
	bool te_trailers; /* TE: trailers, with Connection or without */
};

/*
 * Judge a head.  Returns 0 and fills *f, or the status to answer: 400 (both
 * lengths, different lengths, anything but digits, Host missing, doubled or
 * malformed, Transfer-Encoding with HTTP/1.0), 417 (unknown Expect), 501
 * (unknown transfer coding).  After an error the connection must be closed.
 */
int framing_read(struct framing *f, const struct head *h);

/* Is this a hop-by-hop field, or one an app may not set or get echoed? */
bool framing_is_hop_by_hop(struct str name);

/* The fields http-parser never sees. */
bool framing_owns(struct str name);

/* Is the value a well-formed Host (RFC 9110 7.2: uri-host [":" port])? */
bool framing_is_host(struct str value);

#endif
