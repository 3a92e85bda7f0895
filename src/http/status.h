/*
 * status.h -- what is to be known of status codes.
 */
#ifndef HTTP_STATUS_H
#define HTTP_STATUS_H

#include "base/str.h"

/* The reason phrase of RFC 9110 15 and its registry, or "Unknown". */
struct str status_reason(int status);

/* A line for people that has to stand beside the reason, or empty. */
struct str status_explanation(int status);

/*
 * 1xx, 204 and 304 have no body (RFC 9110 6.4.1); 205 may have none, but ends
 * as those with one do (15.3.6).
 */
bool status_has_body(int status);

#endif
