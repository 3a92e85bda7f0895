/*
 * status.c -- what is to be known of status codes.
 *
 * RFC 9110 15 and the IANA registry of status codes, one row each.
 */
#include "http/status.h"

#define ROW(status, text) [status] = {text, sizeof(text) - 1}

static const struct str reasons[] = {
	ROW(100, "Continue"),
	ROW(101, "Switching Protocols"),
	ROW(102, "Processing"),
	ROW(103, "Early Hints"),
	ROW(200, "OK"),
	ROW(201, "Created"),
	ROW(202, "Accepted"),
	ROW(203, "Non-Authoritative Information"),
	ROW(204, "No Content"),
	ROW(205, "Reset Content"),
	ROW(206, "Partial Content"),
	ROW(207, "Multi-Status"),
	ROW(208, "Already Reported"),
	ROW(226, "IM Used"),
	ROW(300, "Multiple Choices"),
	ROW(301, "Moved Permanently"),
	ROW(302, "Found"),
	ROW(303, "See Other"),
	ROW(304, "Not Modified"),
	ROW(305, "Use Proxy"),
	ROW(307, "Temporary Redirect"),
	ROW(308, "Permanent Redirect"),
	ROW(400, "Bad Request"),
	ROW(401, "Unauthorized"),
	ROW(402, "Payment Required"),
	ROW(403, "Forbidden"),
	ROW(404, "Not Found"),
	ROW(405, "Method Not Allowed"),
	ROW(406, "Not Acceptable"),
	ROW(407, "Proxy Authentication Required"),
	ROW(408, "Request Timeout"),
	ROW(409, "Conflict"),
	ROW(410, "Gone"),
	ROW(411, "Length Required"),
	ROW(412, "Precondition Failed"),
	ROW(413, "Content Too Large"),
	ROW(414, "URI Too Long"),
	ROW(415, "Unsupported Media Type"),
	ROW(416, "Range Not Satisfiable"),
	ROW(417, "Expectation Failed"),
	ROW(421, "Misdirected Request"),
	ROW(422, "Unprocessable Content"),
	ROW(423, "Locked"),
	ROW(424, "Failed Dependency"),
	ROW(425, "Too Early"),
	ROW(426, "Upgrade Required"),
	ROW(428, "Precondition Required"),
	ROW(429, "Too Many Requests"),
	ROW(431, "Request Header Fields Too Large"),
	ROW(451, "Unavailable For Legal Reasons"),
	ROW(500, "Internal Server Error"),
	ROW(501, "Not Implemented"),
	ROW(502, "Bad Gateway"),
	ROW(503, "Service Unavailable"),
	ROW(504, "Gateway Timeout"),
	ROW(505, "HTTP Version Not Supported"),
	ROW(506, "Variant Also Negotiates"),
	ROW(507, "Insufficient Storage"),
	ROW(508, "Loop Detected"),
	ROW(510, "Not Extended"),
	ROW(511, "Network Authentication Required"),
};

struct str
status_reason(int status)
{
	const int n = sizeof(reasons) / sizeof(reasons[0]);

	if (status < 0 || status >= n || !reasons[status].p)
		return STR("Unknown");
	return reasons[status];
}

struct str
status_explanation(int status)
{
	if (status == 505) /* RFC 9110 15.6.6 */
		return STR("This server speaks HTTP/1.1 and HTTP/1.0.\n");
	return STR("");
}

bool
status_has_body(int status)
{
	return status >= 200 && status != 204 && status != 205 && status != 304;
}
