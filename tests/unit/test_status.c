/*
 * test_status.c -- reason phrases.
 */
#include <check.h>
#include <limits.h>

#include "http/status.h"

Suite *status_suite(void);

static const struct {
	int status;
	const char *reason;
	bool has_body;
} rows[] = {
	{100, "Continue", false},
	{101, "Switching Protocols", false},
	{103, "Early Hints", false},
	{200, "OK", true},
	{204, "No Content", false},
	{205, "Reset Content", false},
	{301, "Moved Permanently", true},
	{304, "Not Modified", false},
	{400, "Bad Request", true},
	{404, "Not Found", true},
	{408, "Request Timeout", true},
	{413, "Content Too Large", true},
	{414, "URI Too Long", true},
	{417, "Expectation Failed", true},
	{431, "Request Header Fields Too Large", true},
	{500, "Internal Server Error", true},
	{501, "Not Implemented", true},
	{505, "HTTP Version Not Supported", true},
	{511, "Network Authentication Required", true},
	{299, "Unknown", true},
	{306, "Unknown", true},
	{418, "Unknown", true},
	{512, "Unknown", true},
	{599, "Unknown", true},
	{999, "Unknown", true},
	{INT_MAX, "Unknown", true},
	{99, "Unknown", false},
	{0, "Unknown", false},
	{-1, "Unknown", false},
	{INT_MIN, "Unknown", false},
};

#define NROWS (int)(sizeof(rows) / sizeof(rows[0]))

START_TEST(reason)
{
	struct str r = status_reason(rows[_i].status);

	ck_assert_msg(str_eq(r, str_of(rows[_i].reason)), "%d: %.*s",
		rows[_i].status, STR_ARG(r));
}
END_TEST

START_TEST(has_body)
{
	ck_assert_msg(status_has_body(rows[_i].status) == rows[_i].has_body,
		"%d", rows[_i].status);
}
END_TEST

Suite *
status_suite(void)
{
	Suite *s = suite_create("status");
	TCase *t = tcase_create("status");

	tcase_add_loop_test(t, reason, 0, NROWS);
	tcase_add_loop_test(t, has_body, 0, NROWS);
	suite_add_tcase(s, t);
	return s;
}
