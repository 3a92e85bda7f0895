/*
 * parser.h -- tokenise a request head with http-parser.
 *
 * The only file that sees http_parser.h.  It is given heads that strict.h has
 * accepted, without the fields framing.h owns, and with a known method in the
 * place of an unknown one, so that it has nothing left to misjudge.
 */
#ifndef HTTP_PARSER_H
#define HTTP_PARSER_H

#include "http/head.h"

/*
 * p[0 .. len) is one whole head as strict.h accepted it, from its request line
 * to its empty line.  Fills *h with views into p.  Returns 0, or the status to
 * answer (400; 431 when h has no room for all fields).
 */
int parser_read(struct head *h, const char *p, size_t len);

/* The same for a trailer section: field lines and the empty line. */
int parser_read_trailers(struct head *h, const char *p, size_t len);

#endif
