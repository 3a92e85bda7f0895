/*
 * test_api.c -- what an application may say, and what becomes of it.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit/caller.h"

Suite *api_suite(void);

static nw_request *const r = &caller.api.handle;

/* ---- the worker ---- */

START_TEST(settings_and_options)
{
	const char *name, *value;

	ck_assert_str_eq(nw_setting(&caller.api.server, "workers"), "3");
	ck_assert_ptr_null(nw_setting(&caller.api.server, "wokers"));
	ck_assert_ptr_null(nw_setting(&caller.api.server, NULL));
	ck_assert_str_eq(nw_option(&caller.api.server, "colour"), "blue");
	ck_assert_ptr_null(nw_option(&caller.api.server, NULL));
	ck_assert_int_eq(nw_option_at(&caller.api.server, 0, &name, &value), 0);
	ck_assert_str_eq(name, "colour");
	ck_assert_str_eq(value, "blue");
	ck_assert_int_eq(nw_option_at(&caller.api.server, 0, NULL, NULL), 0);
	ck_assert_int_eq(
		nw_option_at(&caller.api.server, 1, &name, &value), -1);
	ck_assert_int_eq(nw_log_fd(&caller.api.server), caller.log_file);
}
END_TEST

START_TEST(log_takes_anything)
{
	nw_log(&caller.api.server, NW_ERROR, "one\ntwo\n", 8);
	ck_assert_int_eq(caller_log_lines(), 2);
	nw_log(&caller.api.server, NW_ERROR, NULL, 0);
	ck_assert_int_eq(caller_log_lines(), 0);
	nw_log(&caller.api.server, NW_ERROR, NULL, 5);
	nw_log(&caller.api.server, (nw_level)99, "x", 1);
	nw_log(&caller.api.server, (nw_level)-1, "x", 1);
	nw_log(&caller.api.server, NW_ERROR, "x", (size_t)-1);
	ck_assert_int_eq(caller_log_lines(), 4);
}
END_TEST

static void
count_wait(void *arg)
{
	++*(int *)arg;
}

START_TEST(hooks_are_for_open)
{
	int waits = 0;

	CHECK_FAILS(
		nw_set_wait_hooks(&caller.api.server, count_wait, NULL, &waits),
		EPERM);
	ck_assert_ptr_null(caller.hooks.before);
	caller.api.opening = true;
	ck_assert_int_eq(nw_set_wait_hooks(&caller.api.server, count_wait,
				 count_wait, &waits),
		0);
	caller.api.opening = false;
	caller.hooks.before(caller.hooks.arg);
	caller.hooks.after(caller.hooks.arg);
	ck_assert_int_eq(waits, 2);
	caller.hooks = (struct conn_hooks){0};
}
END_TEST

/* ---- the response ---- */

START_TEST(a_whole_response)
{
	const char *wire;
	bool keep = false;

	caller_begin(GET);
	ck_assert_int_eq(nw_start(r, 201, "Fine"), 0);
	ck_assert_int_eq(nw_add_field_z(r, "X-A", "1"), 0);
	ck_assert_int_eq(nw_is_committed(r), 0);
	ck_assert_int_eq(nw_write(r, "", 0), 0);
	ck_assert_int_eq(nw_write(r, NULL, 0), 0);
	ck_assert_int_eq(nw_is_committed(r), 0);
	ck_assert_int_eq(nw_write(r, "one ", 4), 0);
	ck_assert_int_eq(nw_is_committed(r), 1);
	ck_assert_int_eq(caller_lend("two", 3), 0);
	wire = caller_end(0, &keep);
	ck_assert_int_eq(caller.released, 1);
	ck_assert_int_eq(strncmp(wire, "HTTP/1.1 201 Fine\r\n", 19), 0);
	ck_assert_ptr_nonnull(strstr(wire, "X-A: 1\r\n"));
	ck_assert_ptr_nonnull(strstr(wire, "Content-Length: 7\r\n"));
	ck_assert_str_eq(caller_body(wire), "one two");
	ck_assert(keep);
	ck_assert_int_eq(caller_log_lines(), 0);
}
END_TEST

START_TEST(a_start_can_be_taken_back)
{
	const char *wire;

	caller_begin(GET);
	ck_assert_int_eq(nw_start(r, 500, NULL), 0);
	ck_assert_int_eq(nw_add_field_z(r, "X-First", "1"), 0);
	ck_assert_int_eq(nw_start(r, 200, NULL), 0);
	wire = caller_end(0, NULL);
	ck_assert_int_eq(strncmp(wire, "HTTP/1.1 200 OK\r\n", 17), 0);
	ck_assert_ptr_null(strstr(wire, "X-First"));
}
END_TEST

/* Each is an error with a line in the log, and nothing of it is sent. */
START_TEST(misuse_is_an_error)
{
	nw_str none = {NULL, 4};
	char p[10];
	int file = memfd_create("file", MFD_CLOEXEC);

	caller_begin(GET);
	CHECK_FAILS(nw_write(r, "x", 1), EINVAL);
	CHECK_FAILS(nw_write(r, "", 0), EINVAL);
	CHECK_FAILS(nw_flush(r), EINVAL);
	CHECK_FAILS(nw_add_field_z(r, "X", "1"), EINVAL);
	CHECK_FAILS(nw_add_trailer(r, N("X"), N("1")), EINVAL);
	CHECK_FAILS(nw_pass_body(r), EINVAL);
	CHECK_FAILS(nw_send_file(r, file, 0, 1), EINVAL);
	ck_assert_int_eq(caller_log_lines(), 7);
	CHECK_FAILS(nw_start(r, 99, NULL), EINVAL);
	CHECK_FAILS(nw_start(r, 199, NULL), EINVAL);
	CHECK_FAILS(nw_start(r, 600, NULL), EINVAL);
	CHECK_FAILS(nw_start(r, -1, NULL), EINVAL);
	CHECK_FAILS(nw_start(r, 200, "a\r\nb"), EINVAL);
	CHECK_FAILS(caller.api.handle.api->start(r, 200, none), EINVAL);
	ck_assert_int_eq(caller_log_lines(), 6);
	ck_assert_int_eq(nw_start(r, 200, NULL), 0);
	CHECK_FAILS(nw_add_field(r, none, N("1")), EINVAL);
	CHECK_FAILS(nw_add_field(r, N("X"), none), EINVAL);
	CHECK_FAILS(nw_add_field_z(r, NULL, "1"), EINVAL);
	CHECK_FAILS(nw_add_field_z(r, "X", "a\r\nX-Evil: 1"), EINVAL);
	CHECK_FAILS(nw_add_field_z(r, "X-Evil: 1", "b"), EINVAL);
	CHECK_FAILS(nw_add_field_z(r, "Connection", "close"), EINVAL);
	CHECK_FAILS(nw_add_trailer(r, none, N("1")), EINVAL);
	CHECK_FAILS(nw_add_trailer(r, N("X Evil"), N("1")), EINVAL);
	ck_assert_int_eq(caller_log_lines(), 8);
	CHECK_FAILS(nw_write(r, NULL, 5), EINVAL);
	CHECK_FAILS(nw_write(r, p, (size_t)-1), EINVAL);
	CHECK_FAILS(nw_read(r, NULL, 5), EINVAL);
	CHECK_FAILS(nw_send_file(r, -1, 0, 5), EINVAL);
	CHECK_FAILS(nw_send_file(r, file, -5, 5), EINVAL);
	CHECK_FAILS(nw_send_file(r, file, 1, (size_t)-1), EINVAL);
	CHECK_FAILS(nw_send_early_hints(r, NULL, 1), EINVAL);
	ck_assert_int_eq(caller_log_lines(), 7);
	ck_assert_ptr_null(strstr(caller_end(0, NULL), "Evil"));
	close(file);
}
END_TEST

START_TEST(too_late_is_too_late)
{
	static const nw_field link = {{"Link", 4}, {"</a>", 4}};
	const char *wire;

	caller_begin(GET);
	ck_assert_int_eq(nw_start(r, 200, NULL), 0);
	ck_assert_int_eq(nw_flush(r), 0);
	ck_assert_int_eq(nw_is_committed(r), 1);
	CHECK_FAILS(nw_start(r, 500, NULL), EALREADY);
	CHECK_FAILS(nw_add_field_z(r, "X", "1"), EALREADY);
	CHECK_FAILS(nw_send_early_hints(r, &link, 1), EALREADY);
	ck_assert_int_eq(caller_log_lines(), 3);
	ck_assert_int_eq(nw_add_trailer(r, N("X-T"), N("1")), 0);
	wire = caller_end(0, NULL);
	ck_assert_int_eq(strncmp(wire, "HTTP/1.1 200 OK\r\n", 17), 0);
	ck_assert_ptr_null(strstr(wire, "HTTP/1.1 103"));
}
END_TEST

START_TEST(early_hints)
{
	static const nw_field f[] = {
		{{"Link", 4}, {"</a>", 4}},
		{{"X", 1}, {"a\r\nb", 4}},
	};
	const char *wire;

	caller_begin(GET);
	CHECK_FAILS(nw_send_early_hints(r, f, 2), EINVAL);
	ck_assert_int_eq(caller_log_lines(), 1);
	ck_assert_int_eq(nw_send_early_hints(r, f, 1), 0);
	ck_assert_int_eq(nw_start(r, 204, NULL), 0);
	wire = caller_end(0, NULL);
	ck_assert_int_eq(strncmp(wire,
				 "HTTP/1.1 103 Early Hints\r\n"
				 "Link: </a>\r\n\r\n"
				 "HTTP/1.1 204 ",
				 53),
		0);

	caller_begin("GET / HTTP/1.0\r\n\r\n");
	ck_assert_int_eq(nw_send_early_hints(r, f, 1), 0);
	ck_assert_int_eq(nw_start(r, 204, NULL), 0);
	ck_assert_int_eq(strncmp(caller_end(0, NULL), "HTTP/1.1 204 ", 13), 0);
}
END_TEST

START_TEST(a_part_of_a_file)
{
	int file = memfd_create("file", MFD_CLOEXEC);

	ck_assert_int_eq(write(file, "0123456789", 10), 10);
	caller_begin(GET);
	ck_assert_int_eq(nw_start(r, 200, NULL), 0);
	ck_assert_int_eq(nw_add_field_z(r, "Content-Length", "3"), 0);
	ck_assert_int_eq(nw_send_file(r, file, 4, 0), 0);
	ck_assert_int_eq(nw_is_committed(r), 0);
	ck_assert_int_eq(nw_send_file(r, file, 4, 3), 0);
	ck_assert_str_eq(caller_body(caller_end(0, NULL)), "456");
	ck_assert_int_eq(lseek(file, 0, SEEK_CUR), 10);
	close(file);
}
END_TEST

/* ---- buffers that are lent ---- */

START_TEST(release_is_called_once_whatever_happens)
{
	caller_begin(GET);
	CHECK_FAILS(caller_lend("x", 1), EINVAL);
	ck_assert_int_eq(caller.released, 1);
	ck_assert_int_eq(nw_start(r, 200, NULL), 0);
	ck_assert_int_eq(nw_add_field_z(r, "Content-Length", "5"), 0);
	CHECK_FAILS(caller_lend(NULL, 1), EINVAL);
	ck_assert_int_eq(caller.released, 2);
	ck_assert_int_eq(caller_lend("", 0), 0);
	ck_assert_int_eq(caller.released, 3);
	CHECK_FAILS(caller_lend("too much", 8), EMSGSIZE);
	CHECK_FAILS(caller_lend("more", 4), EMSGSIZE);
	ck_assert_str_eq(caller_body(caller_end(0, NULL)), "too m");
	ck_assert_int_eq(caller.released, 5);
	CHECK_FAILS(caller_lend("x", 1), EBADF);
	ck_assert_int_eq(caller.released, 6);
}
END_TEST

START_TEST(release_of_a_body_that_is_not_sent)
{
	caller_begin("HEAD / HTTP/1.1\r\n" HOST CRLF);
	ck_assert_int_eq(nw_start(r, 200, NULL), 0);
	ck_assert_int_eq(caller_lend("x", 1), 0);
	ck_assert_str_eq(caller_body(caller_end(0, NULL)), "");
	ck_assert_int_eq(caller.released, 1);
}
END_TEST

START_TEST(release_when_the_client_has_gone)
{
	caller_begin(GET);
	ck_assert_int_eq(nw_start(r, 200, NULL), 0);
	close(caller.client);
	ck_assert_int_eq(caller_lend("x", 1), 0);
	CHECK_FAILS(nw_flush(r), ECONNRESET);
	CHECK_FAILS(caller_lend("x", 1), ECONNRESET);
	api_end(&caller.api);
	ck_assert(!response_end(&caller.response, true));
	ck_assert_int_eq(caller.released, 2);
	ck_assert_int_eq(caller_log_lines(), 0);
}
END_TEST

static int inside_errno;

static void
call_inside(void *arg)
{
	char p[4];

	(void)arg;
	errno = 0;
	ck_assert_int_eq(nw_write(r, "x", 1), -1);
	inside_errno = errno;
	ck_assert_int_eq(nw_read(r, p, 4), -1);
	ck_assert_int_eq(nw_flush(r), -1);
}

START_TEST(no_call_from_inside_another)
{
	caller_begin(GET);
	ck_assert_int_eq(nw_start(r, 200, NULL), 0);
	ck_assert_int_eq(nw_write_release(r, "ab", 2, call_inside, NULL), 0);
	ck_assert_int_eq(nw_flush(r), 0);
	ck_assert_int_eq(inside_errno, EBUSY);
	ck_assert_int_eq(nw_write(r, "c", 1), 0);
	ck_assert_str_eq(caller_body(caller_end(0, NULL)),
		"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
}
END_TEST

START_TEST(nor_after_handle_has_returned)
{
	caller_begin(GET);
	ck_assert_int_eq(nw_start(r, 200, NULL), 0);
	ck_assert_int_eq(nw_write_release(r, "ab", 2, call_inside, NULL), 0);
	ck_assert_str_eq(caller_body(caller_end(0, NULL)), "ab");
	ck_assert_int_eq(inside_errno, EBADF);
}
END_TEST

/* ---- handles that are no longer good ---- */

START_TEST(a_stale_handle_is_harmless)
{
	char p[4];
	size_t n = 9;
	int port = 9;

	caller_begin(GET);
	ck_assert_int_eq(nw_start(r, 200, NULL), 0);
	caller_end(0, NULL);
	ck_assert_ptr_null(nw_method(r).p);
	ck_assert_ptr_null(nw_target(r).p);
	ck_assert_ptr_null(nw_path(r).p);
	ck_assert_ptr_null(nw_query(r).p);
	ck_assert_ptr_null(nw_scheme(r).p);
	ck_assert_ptr_null(nw_host(r).p);
	ck_assert_ptr_null(nw_peer(r, &port).p);
	ck_assert_int_eq(port, 0);
	ck_assert_ptr_null(nw_local(r, &port).p);
	ck_assert_ptr_null(nw_fields(r, &n));
	ck_assert_uint_eq(n, 0);
	ck_assert_ptr_null(nw_trailers(r, &n));
	ck_assert_int_eq(nw_field_get(r, "Host", NULL), 0);
	ck_assert_ptr_null(nw_alloc(r, 1));
	CHECK_FAILS((int)nw_content_length(r), EBADF);
	CHECK_FAILS((int)nw_body_left(r), EBADF);
	CHECK_FAILS(nw_minor_version(r), EBADF);
	CHECK_FAILS((int)nw_read(r, p, 4), EBADF);
	CHECK_FAILS(nw_pass_body(r), EBADF);
	CHECK_FAILS(nw_send_early_hints(r, NULL, 0), EBADF);
	CHECK_FAILS(nw_start(r, 200, NULL), EBADF);
	CHECK_FAILS(nw_add_field_z(r, "X", "1"), EBADF);
	CHECK_FAILS(nw_add_trailer(r, N("X"), N("1")), EBADF);
	CHECK_FAILS(nw_write(r, "x", 1), EBADF);
	CHECK_FAILS(nw_send_file(r, 0, 0, 1), EBADF);
	CHECK_FAILS(nw_flush(r), EBADF);
	CHECK_FAILS(nw_is_committed(r), EBADF);
	ck_assert_int_eq(caller_log_lines(), 25);
}
END_TEST

Suite *
api_suite(void)
{
	Suite *s = suite_create("api");
	TCase *t = tcase_create("calls");

	tcase_add_checked_fixture(t, caller_setup, caller_teardown);
	tcase_add_test(t, settings_and_options);
	tcase_add_test(t, log_takes_anything);
	tcase_add_test(t, hooks_are_for_open);
	tcase_add_test(t, a_whole_response);
	tcase_add_test(t, a_start_can_be_taken_back);
	tcase_add_test(t, misuse_is_an_error);
	tcase_add_test(t, too_late_is_too_late);
	tcase_add_test(t, early_hints);
	tcase_add_test(t, a_part_of_a_file);
	tcase_add_test(t, release_is_called_once_whatever_happens);
	tcase_add_test(t, release_of_a_body_that_is_not_sent);
	tcase_add_test(t, release_when_the_client_has_gone);
	tcase_add_test(t, no_call_from_inside_another);
	tcase_add_test(t, nor_after_handle_has_returned);
	tcase_add_test(t, a_stale_handle_is_harmless);
	suite_add_tcase(s, t);
	return s;
}
