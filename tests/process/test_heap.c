/*
 * test_heap.c -- a busy worker keeps the memory of large objects, a quiet one
 * gives it back.
 */
#include "process/client.h"
#include "process/harness.h"

#include <unistd.h>

Suite *heap_suite(void);

#define MIB 1048576

/* The application writes to each page of so many bytes. */
#define LARGE (64 * MIB)

START_TEST(large_objects)
{
	const long pages = LARGE / sysconf(_SC_PAGESIZE);
	const int requests = 4;
	struct server s;
	struct client c;
	struct answer a;
	pid_t worker;
	long before;
	int i;

	if (sanitized()) /* a sanitizer has a malloc of its own */
		return;
	server_start(&s, "[app]\napp = " APP("probe") "\n");
	worker = server_worker(&s);
	before = proc_faults(worker);
	client_open(&c, &s);
	/* All at once, so that the worker is never quiet between them. */
	for (i = 0; i < requests; i++)
		client_printf(&c,
			"GET /big?n=1&size=%d HTTP/1.1\r\nHost: t\r\n\r\n",
			LARGE);
	for (i = 0; i < requests; i++) {
		client_read(&c, &a);
		ck_assert_int_eq(a.status, 200);
		answer_done(&a);
	}
	/* Once it is new memory; huge pages, where given, need still fewer. */
	ck_assert_int_lt(proc_faults(worker) - before, 2 * pages);
	UNTIL(proc_status(worker, "VmRSS") <= LARGE / 1024);
	client_printf(&c, "GET /pid HTTP/1.1\r\nHost: t\r\n\r\n");
	client_read(&c, &a);
	ck_assert_int_eq(a.status, 200);
	answer_done(&a);
	client_done(&c);
	server_stop(&s);
}
END_TEST

Suite *
heap_suite(void)
{
	Suite *suite = suite_create("heap");
	TCase *tc = harness_case(suite, "heap");

	tcase_add_test(tc, large_objects);
	return suite;
}
