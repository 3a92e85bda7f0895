/*
 * main.c -- run the unit tests.
 *
 * suites.h is made by the Makefile from the names of the files.  CK_RUN_SUITE
 * picks one suite, CK_FORK=no keeps everything in this process.
 */
#include <check.h>
#include <stdlib.h>

#define X(name) Suite *name##_suite(void);
#include "suites.h"
#undef X

int
main(void)
{
	SRunner *r = srunner_create(NULL);
	int failed;

	/* Check's 4 s are not much on a busy machine. */
	setenv("CK_DEFAULT_TIMEOUT", "60", 0);
#define X(name) srunner_add_suite(r, name##_suite());
#include "suites.h"
#undef X
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
