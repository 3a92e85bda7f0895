/*
 * test_app.c -- finding, judging and calling applications, forks included.
 */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "worker/app.h"
#include "worker/forkguard.h"

Suite *app_suite(void);

#define TEST_APP(name) "so:" NW_BUILD "/tests/" name ".so"

static char path[PATH_MAX], why[PATH_MAX * 2];

static int
find(const char *spec)
{
	path[0] = why[0] = '\0';
	return app_find(spec, path, sizeof(path), why, sizeof(why));
}

/* ---- which file ---- */

START_TEST(a_path_is_taken_as_it_is)
{
	ck_assert_int_eq(find(TEST_APP("noentry")), 0);
	ck_assert_str_eq(path, NW_BUILD "/tests/noentry.so");
	ck_assert_int_eq(find("so:./nothing.so"), -1);
	ck_assert_str_eq(why, "./nothing.so: No such file or directory");
}
END_TEST

/* The runner lies in the folder of the test applications. */
START_TEST(a_name_is_looked_for_beside_the_binary)
{
	ck_assert_int_eq(find("so:noentry"), 0);
	ck_assert_str_eq(path, NW_BUILD "/tests/noentry.so");
	ck_assert_int_eq(find("so:nothing"), -1);
	ck_assert_str_eq(
		why, "no nothing.so in " NW_BUILD "/tests or " NW_LIBDIR);
	ck_assert_int_eq(find("so:noentry.so"), -1);
	ck_assert_ptr_nonnull(strstr(why, "a path needs a slash"));
}
END_TEST

START_TEST(what_is_python_is_the_gateway_s)
{
	static const char *const specs[] = {
		"wsgi:flask_app", "wsgi:a.b:app", "flask_app:app", "m:f('x')"};
	size_t i;

	for (i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		/* the gateway is not in this folder */
		ck_assert_int_eq(find(specs[i]), -1);
		ck_assert_int_eq(strncmp(why, "no wsgi.so in ", 14), 0);
	}
}
END_TEST

START_TEST(what_is_nothing_is_refused)
{
	ck_assert_int_eq(find("so:"), -1);
	ck_assert_int_eq(find("flask_app"), -1);
	ck_assert_ptr_nonnull(strstr(why, "MODULE:CALLABLE"));
	ck_assert_int_eq(find(""), -1);
}
END_TEST

START_TEST(a_path_that_does_not_fit)
{
	char spec[PATH_MAX + 10], small[8];

	memset(spec, 'a', sizeof(spec) - 1);
	memcpy(spec, "so:/", 4);
	spec[sizeof(spec) - 1] = '\0';
	ck_assert_int_eq(find(spec), -1);
	ck_assert_str_ne(why, "");
	spec[3] = 'a';
	ck_assert_int_eq(find(spec), -1);
	ck_assert_int_eq(
		app_find("so:noentry", small, sizeof(small), why, sizeof(why)),
		-1);
}
END_TEST

/* ---- which definition ---- */

static int
never(nw_request *r, void *state)
{
	(void)r;
	(void)state;
	abort();
}

static const char *
judge(unsigned major, unsigned minor, size_t size, bool handle)
{
	static nw_app def;

	def = (nw_app){.abi_major = (uint16_t)major,
		.abi_minor = (uint16_t)minor,
		.size = (uint32_t)size,
		.handle = handle ? never : NULL};
	return app_check(&def, why, sizeof(why));
}

START_TEST(versions_and_sizes)
{
	const size_t size = sizeof(nw_app);
	const unsigned major = NW_ABI_MAJOR, minor = NW_ABI_MINOR;

	ck_assert_ptr_null(judge(major, minor, size, true));
	ck_assert_ptr_null(judge(major, minor, size + 8, true));
	ck_assert_ptr_nonnull(judge(major + 1, minor, size, true));
	ck_assert_ptr_nonnull(judge(major - 1, minor, size, true));
	ck_assert_ptr_nonnull(judge(major, minor + 1, size, true));
	ck_assert_ptr_nonnull(judge(major, minor, size - 1, true));
	ck_assert_ptr_nonnull(judge(major, minor, 0, true));
	ck_assert_ptr_nonnull(judge(major, minor, size, false));
}
END_TEST

/* ---- loading ---- */

static int log_file;

static void
setup(void)
{
	log_file = memfd_create("log", MFD_CLOEXEC);
	log_set_fd(log_file);
}

static void
teardown(void)
{
	log_set_fd(2);
	close(log_file);
}

static const struct {
	const char *spec;
	const char *reason; /* in the log */
} refused[] = {
	{TEST_APP("noentry"), "no symbol narwhal_app"},
	{TEST_APP("badmajor"), "built for ABI 2, this narwhal has 1"},
	{TEST_APP("newminor"), "built for ABI 1.1, this narwhal has only 1.0"},
	{TEST_APP("toosmall"), "too small"},
	{TEST_APP("nohandle"), "no handle function"},
	{TEST_APP("missing"), "No such file"},
	{"so:" NW_SOURCE "/Makefile", "invalid ELF header"},
	{"so:nothing", "no nothing.so in"},
};

START_TEST(what_cannot_be_served_is_refused_with_a_reason)
{
	char p[PATH_MAX * 3] = "";
	struct app a = {0};
	nw_server s = {0}; /* a call through it would crash */

	ck_assert_int_eq(app_open(&a, refused[_i].spec, &s), -1);
	ck_assert_ptr_null(a.def);
	ck_assert_int_gt(pread(log_file, p, sizeof(p) - 1, 0), 0);
	ck_assert_msg(
		strstr(p, refused[_i].reason) != NULL, "the log says '%s'", p);
	ck_assert_msg(
		strstr(p, refused[_i].spec) != NULL, "the log says '%s'", p);
	ck_assert_ptr_eq(strchr(p, '\n'), p + strlen(p) - 1);
	app_close(&a, &s);
}
END_TEST

/* ---- calling ---- */

static int given; /* what handle returns */
static pid_t forked;

static int
fork_and_return(nw_request *r, void *state)
{
	(void)r;
	(void)state;
	forked = fork();
	return forked == 0 ? given : 0;
}

static int
just_return(nw_request *r, void *state)
{
	(void)r;
	(void)state;
	return given;
}

START_TEST(anything_but_0_is_a_failure)
{
	static const nw_app def = {NW_APP_ABI, .handle = just_return};
	struct app a = {.def = &def};

	given = 0;
	ck_assert_int_eq(app_handle(&a, NULL), 0);
	given = -1;
	ck_assert_int_eq(app_handle(&a, NULL), -1);
	given = 5;
	ck_assert_int_eq(app_handle(&a, NULL), -1);
}
END_TEST

static void
forget(void *arg)
{
	close(*(int *)arg);
}

/* In the worker handle returns, in a fork of its it ends the process. */
START_TEST(a_fork_does_not_get_out_of_handle)
{
	static const nw_app def = {NW_APP_ABI, .handle = fork_and_return};
	static int pair[2];
	struct app a = {.def = &def};
	int status;
	char c;

	ck_assert_int_eq(pipe(pair), 0);
	forkguard_init(forget, &pair[1]);
	ck_assert(!forkguard_is_child());
	given = _i == 0 ? 0 : -1;
	ck_assert_int_eq(app_handle(&a, NULL), 0);
	ck_assert_int_eq(waitpid(forked, &status, 0), forked);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), _i);

	/* its child lives on without our descriptor and knows what it is */
	forked = fork();
	if (forked == 0) {
		bool good = forkguard_is_child() && close(pair[1]) == -1;

		while (read(pair[0], &c, 1) == -1)
			;
		_exit(good ? 0 : 1);
	}
	close(pair[1]);
	ck_assert_int_eq(waitpid(forked, &status, 0), forked);
	ck_assert_int_eq(status, 0);
	close(pair[0]);
}
END_TEST

Suite *
app_suite(void)
{
	Suite *s = suite_create("app");
	TCase *t = tcase_create("find");

	tcase_add_test(t, a_path_is_taken_as_it_is);
	tcase_add_test(t, a_name_is_looked_for_beside_the_binary);
	tcase_add_test(t, what_is_python_is_the_gateway_s);
	tcase_add_test(t, what_is_nothing_is_refused);
	tcase_add_test(t, a_path_that_does_not_fit);
	suite_add_tcase(s, t);

	t = tcase_create("check");
	tcase_add_test(t, versions_and_sizes);
	suite_add_tcase(s, t);

	t = tcase_create("load");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, what_cannot_be_served_is_refused_with_a_reason,
		0, sizeof(refused) / sizeof(refused[0]));
	suite_add_tcase(s, t);

	t = tcase_create("handle");
	tcase_add_test(t, anything_but_0_is_a_failure);
	tcase_add_loop_test(t, a_fork_does_not_get_out_of_handle, 0, 2);
	suite_add_tcase(s, t);
	return s;
}
