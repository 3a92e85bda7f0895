/*
 * test_board.c -- what a worker writes, and what the master makes of it.
 */
#include <check.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/board.h"

Suite *board_suite(void);

static struct board board;

static void
set_up(void)
{
	ck_assert_int_eq(board_open(&board, 3), 0);
}

static void
tear_down(void)
{
	board_close(&board);
	board_close(&board);
}

START_TEST(request_in_hand)
{
	struct board_slot *s = &board.slots[1];
	struct board_request r;

	ck_assert(!board_read_request(s, 5, &r));
	ck_assert_int_eq(r.seconds_x1000, -1);
	board_set_request(s, STR("GET"), STR("/a"), STR("127.0.0.1"), 2000000);
	ck_assert(board_read_request(s, 4500000, &r));
	ck_assert_str_eq(r.method, "GET");
	ck_assert_str_eq(r.target, "/a");
	ck_assert_str_eq(r.peer, "127.0.0.1");
	ck_assert_int_eq(r.seconds_x1000, 2500);
	ck_assert(!board_read_request(&board.slots[0], 4500000, &r));
	board_end_request(s);
	ck_assert(!board_read_request(s, 4500000, &r));
	board_set_request(s, STR("PUT"), STR("/"), (struct str){NULL, 0}, 1);
	ck_assert(board_read_request(s, 2, &r));
	ck_assert_str_eq(r.peer, "");
	board_set_request(s, (struct str){NULL, 0}, STR("/"), STR("x"), 1);
	ck_assert(!board_read_request(s, 2, &r));
}
END_TEST

START_TEST(long_texts_are_cut)
{
	char text[1000];
	struct board_request r;

	memset(text, 'x', sizeof(text));
	board_set_request(&board.slots[0], (struct str){text, sizeof(text)},
		(struct str){text, sizeof(text)},
		(struct str){text, sizeof(text)}, 1);
	ck_assert(board_read_request(&board.slots[0], 2, &r));
	ck_assert_uint_eq(strlen(r.method), BOARD_METHOD_MAX - 1);
	ck_assert_uint_eq(strlen(r.target), BOARD_TARGET_MAX - 1);
	ck_assert_uint_eq(strlen(r.peer), BOARD_PEER_MAX - 1);
	ck_assert_int_eq(board.slots[1].method[0], 0);
}
END_TEST

/* An application has written over it: no text without an end, no odd time. */
START_TEST(scribbled_over)
{
	struct board_request r;

	memset(&board.slots[0], 0xff, sizeof(board.slots[0]));
	ck_assert(board_read_request(&board.slots[0], 1000, &r));
	ck_assert_int_eq(r.seconds_x1000, 0);
	ck_assert_uint_eq(strlen(r.target), BOARD_TARGET_MAX - 1);
	atomic_store(&board.slots[0].request_at, INT64_MAX);
	ck_assert(board_read_request(&board.slots[0], 1000, &r));
	ck_assert_int_eq(r.seconds_x1000, 0);
	board_clear(&board, 0);
	ck_assert(!board_read_request(&board.slots[0], 1000, &r));
}
END_TEST

START_TEST(begin_or_forbid)
{
	struct board_slot *s = &board.slots[0];

	ck_assert(board_begin(s));
	ck_assert(!board_forbid(s));
	atomic_store(&s->state, BOARD_BUSY);
	ck_assert(!board_forbid(s));
	board_clear(&board, 0);
	ck_assert(board_forbid(s));
	ck_assert(board_forbid(s));
	ck_assert(!board_begin(s));
}
END_TEST

START_TEST(crosses_the_fork)
{
	struct board_request r;
	pid_t pid = fork();

	if (pid == 0) {
		board_set_request(
			&board.slots[2], STR("GET"), STR("/x"), STR("p"), 7);
		atomic_fetch_add(&board.slots[2].requests, 3);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert(board_read_request(&board.slots[2], 8, &r));
	ck_assert_str_eq(r.target, "/x");
	ck_assert_uint_eq(atomic_load(&board.slots[2].requests), 3);
}
END_TEST

Suite *
board_suite(void)
{
	Suite *s = suite_create("board");
	TCase *t = tcase_create("board");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, request_in_hand);
	tcase_add_test(t, long_texts_are_cut);
	tcase_add_test(t, scribbled_over);
	tcase_add_test(t, begin_or_forbid);
	tcase_add_test(t, crosses_the_fork);
	suite_add_tcase(s, t);
	return s;
}
