/*
 * test_log.c -- the error log: one call, one line.
 */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

Suite *log_suite(void);

static int ends[2];
static char got[20000];

/* Packets, so that each write(2) can be told from the next. */
static void
setup(void)
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	log_set_fd(ends[1]);
	log_set_level(LOG_INFO);
}

static void
teardown(void)
{
	log_set_fd(2);
	close(ends[0]);
	close(ends[1]);
}

/* The next write as a string, "" if there is none; of a long line all. */
static const char *
next_line(void)
{
	size_t len = 0;
	ssize_t n;

	do {
		n = recv(ends[0], got + len, sizeof(got) - 1 - len,
			MSG_DONTWAIT);
		len += n > 0 ? (size_t)n : 0;
	} while (n == PIPE_BUF);
	got[len] = '\0';
	return got;
}

static void
check_line(const char *level, const char *message)
{
	char pattern[400];
	const char *line = next_line();
	regex_t re;

	snprintf(pattern, sizeof(pattern),
		"^\\[[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8} [+-][0-9]{4}\\] "
		"\\[%ld\\] \\[%s\\] ",
		(long)getpid(), level);
	ck_assert_int_eq(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
	ck_assert_msg(regexec(&re, line, 0, NULL, 0) == 0, "%s", line);
	regfree(&re);
	line = strstr(line, "] [");
	line = strstr(line + 1, "] [");
	ck_assert_str_eq(strchr(line + 2, ']') + 2, message);
}

START_TEST(levels)
{
	log_error("e %d", 1);
	check_line("error", "e 1\n");
	log_warning("w");
	check_line("warning", "w\n");
	log_info("i");
	check_line("info", "i\n");
	log_debug("hidden");
	ck_assert_str_eq(next_line(), "");
	log_set_level(LOG_DEBUG);
	log_debug("d");
	check_line("debug", "d\n");
	log_set_level(LOG_ERROR);
	log_warning("hidden");
	ck_assert_str_eq(next_line(), "");
	ck_assert_int_eq(log_get_level(), LOG_ERROR);
}
END_TEST

START_TEST(control_bytes_are_spelled_out)
{
	log_info("a\nb\r\x1b[31m\x7f\tc\xc3\xa9");
	check_line("info", "a\\x0Ab\\x0D\\x1B[31m\\x7F\tc\xc3\xa9\n");
}
END_TEST

START_TEST(long_messages_are_whole)
{
	static char text[9001], expect[9002];

	memset(text, 'x', sizeof(text) - 1);
	snprintf(expect, sizeof(expect), "%s\n", text);
	log_info("%s", text);
	check_line("info", expect);
}
END_TEST

START_TEST(raw_text_has_a_stamp_for_each_line)
{
	log_text(LOG_ERROR, "one\n\n  three", 12);
	check_line("error", "one\n");
	check_line("error", "\n");
	check_line("error", "  three\n");
	log_text(LOG_ERROR, "one\n", 4);
	check_line("error", "one\n");
	log_text(LOG_ERROR, "", 0);
	log_text(LOG_DEBUG, "hidden", 6);
	ck_assert_str_eq(next_line(), "");
}
END_TEST

START_TEST(errno_stays_and_can_be_printed)
{
	errno = ENOENT;
	log_info("%m");
	ck_assert_int_eq(errno, ENOENT);
	check_line("info", "No such file or directory\n");
	log_set_fd(-1); /* a log that cannot be written is ignored */
	log_info("x");
	log_text(LOG_INFO, "x", 1);
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

Suite *
log_suite(void)
{
	Suite *s = suite_create("log");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, levels);
	tcase_add_test(tc, control_bytes_are_spelled_out);
	tcase_add_test(tc, long_messages_are_whole);
	tcase_add_test(tc, raw_text_has_a_stamp_for_each_line);
	tcase_add_test(tc, errno_stays_and_can_be_printed);
	suite_add_tcase(s, tc);
	return s;
}
