/*
 * test_start.c -- starting, stopping, and the exit status that says why not.
 */
#include "process/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

START_TEST(ready_serves_and_stops)
{
	struct server s;

	server_start(&s, "[app]\napp = so:hello\n");
	must_get(&s, "/", "Hello, World!");
	server_stop(&s);
}
END_TEST

Suite *
start_suite(void)
{
	Suite *suite = suite_create("start");
	TCase *tc = harness_case(suite, "stop");

	tcase_add_test(tc, ready_serves_and_stops);
	return suite;
}
