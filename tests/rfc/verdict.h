/*
 * verdict.h -- did the server answer what came as the second reader reads it?
 */
#ifndef RFC_VERDICT_H
#define RFC_VERDICT_H

#include "rfc/reader.h"

/* What the witness does with bodies. */
enum verdict_body {
	BODY_READ,
	BODY_UNREAD,
	BODY_PASSED
};

struct verdict_terms {
	struct reader_limits limits;
	enum verdict_body body;
};

/*
 * sent[0 .. n) came on one connection, which its client then shut down; the
 * witness answered; got[0 .. got_len) is all that came back before the server
 * closed too.  NULL if that is as it should be, else what is not.
 */
const char *verdict(const char *sent, size_t n, const char *got, size_t got_len,
	const struct verdict_terms *terms);

#endif
