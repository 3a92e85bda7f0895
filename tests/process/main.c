/*
 * main.c -- run the process tests.
 *
 * suites.h is made by the Makefile from the names of the files.  CK_RUN_SUITE
 * picks one suite, CK_RUN_CASE one case.
 */
#include <check.h>
#include <stdlib.h>

#define X(name) Suite *name##_suite(void);
#include "suites.h"
#undef X

/* What a test leaves allocated goes with its process. */
int __lsan_is_turned_off(void);

int
__lsan_is_turned_off(void)
{
	return 1;
}

int
main(void)
{
	SRunner *r = srunner_create(NULL);
	int failed;

#define X(name) srunner_add_suite(r, name##_suite());
#include "suites.h"
#undef X
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
