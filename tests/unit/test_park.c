/*
 * test_park.c -- parked connections: lists, deadlines, room.
 */
#include <check.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "worker/park.h"

#define KEEPALIVE 5000000
#define HEADER 10000000

static struct park park;
static int clients[8];
static const struct sockaddr_storage nobody = {.ss_family = AF_UNIX};

static void
set_up(void)
{
	ck_assert_int_eq(park_init(&park, 4, KEEPALIVE, HEADER), 0);
	memset(clients, -1, sizeof(clients));
}

static void
tear_down(void)
{
	size_t i;

	park_done(&park);
	for (i = 0; i < sizeof(clients) / sizeof(*clients); i++)
		fd_close(&clients[i]);
}

/* Park the server's end of a new pair; the client's end is clients[i]. */
static int
add(int i)
{
	int pair[2], slot;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	clients[i] = pair[0];
	slot = park_add(&park, pair[1], &nobody, sizeof(sa_family_t));
	if (slot == -1)
		close(pair[1]);
	else
		park_new(&park, slot, 0);
	return slot;
}

static bool
is_closed(int i)
{
	char c;

	return recv(clients[i], &c, 1, MSG_DONTWAIT) == 0;
}

/* What README.md counts for each of worker-connections. */
START_TEST(a_parked_connection_is_small)
{
	ck_assert_uint_le(sizeof(struct park_slot), 80);
}
END_TEST

START_TEST(deadlines_come_in_order)
{
	struct strict strict;
	int a = add(0), b = add(1), c = add(2);

	strict_reset(&strict);
	park_new(&park, a, 0);
	park_idle(&park, b, 1000);
	ck_assert_int_eq(park_head(&park, c, "GET", 3, &strict, 2000), 0);
	ck_assert_int_eq(park_count(&park), 3);
	ck_assert_int_eq(park_next_deadline(&park), 1000 + KEEPALIVE);
	ck_assert_int_eq(park_overdue(&park, 1000 + KEEPALIVE - 1), -1);
	ck_assert_int_eq(park_overdue(&park, 1000 + KEEPALIVE), b);
	park_close(&park, b);
	ck_assert(is_closed(1));
	ck_assert_int_eq(park_next_deadline(&park), HEADER);
	park_close(&park, a);
	ck_assert_int_eq(park_next_deadline(&park), 2000 + HEADER);
	park_close(&park, c);
	ck_assert_int_eq(park_next_deadline(&park), CLOCK_NEVER);
	ck_assert_int_eq(park_count(&park), 0);
}
END_TEST

START_TEST(an_unfinished_head_keeps_its_first_deadline)
{
	struct strict strict;
	int a = add(0);

	strict_reset(&strict);
	park_new(&park, a, 0);
	ck_assert_int_eq(park_head(&park, a, "G", 1, &strict, 100), 0);
	strict.at = 2;
	ck_assert_int_eq(park_head(&park, a, "GE", 2, &strict, 5000), 0);
	ck_assert_int_eq(park_next_deadline(&park), 100 + HEADER);
	ck_assert_int_eq(park.slots[a].head->len, 2);
	ck_assert_int_eq(park.slots[a].head->strict.at, 2);
	ck_assert(memcmp(park.slots[a].head->p, "GE", 2) == 0);
	/* Served, then unfinished again: that is another head. */
	park_idle(&park, a, 6000);
	ck_assert_ptr_null(park.slots[a].head);
	ck_assert_int_eq(park_head(&park, a, "P", 1, &strict, 7000), 0);
	ck_assert_int_eq(park_next_deadline(&park), 7000 + HEADER);
}
END_TEST

START_TEST(the_oldest_idle_one_makes_room)
{
	struct strict strict;
	int i, slot[4];

	strict_reset(&strict);
	for (i = 0; i < 4; i++)
		slot[i] = add(i);
	park_head(&park, slot[0], "G", 1, &strict, 0);
	park_idle(&park, slot[1], 2000);
	park_new(&park, slot[2], 1000);
	park_linger(&park, slot[3], 0);
	ck_assert(park_has_room(&park));
	ck_assert_int_eq(add(4), slot[2]); /* began to wait before 1 */
	ck_assert(is_closed(2));
	park_new(&park, slot[2], 3000);
	ck_assert_int_eq(add(5), slot[1]);
	ck_assert(is_closed(1));
	park_head(&park, slot[1], "G", 1, &strict, 0);
	park_head(&park, slot[2], "G", 1, &strict, 0);
	ck_assert(!park_has_room(&park));
	ck_assert(!park_close_idle(&park, CLOCK_NEVER));
	ck_assert_int_eq(add(6), -1);
}
END_TEST

START_TEST(one_whose_request_has_come_is_not_idle)
{
	int i;

	for (i = 0; i < 4; i++)
		add(i);
	ck_assert_int_eq(write(clients[0], "G", 1), 1);
	ck_assert(park_close_idle(&park, CLOCK_NEVER));
	ck_assert(!is_closed(0));
	ck_assert(is_closed(1));
	for (i = 2; i < 4; i++)
		ck_assert_int_eq(write(clients[i], "G", 1), 1);
	ck_assert(!park_close_idle(&park, CLOCK_NEVER));
}
END_TEST

START_TEST(one_that_came_just_now_is_not_idle)
{
	park_new(&park, add(0), 1000);
	park_idle(&park, add(1), 900);
	ck_assert(!park_close_idle(&park, 900));
	ck_assert(park_close_idle(&park, 901));
	ck_assert(is_closed(1));
	ck_assert(!park_close_idle(&park, 1000));
	ck_assert(park_close_idle(&park, 1001));
}
END_TEST

START_TEST(what_arrives_is_told_by_slot)
{
	struct epoll_event e;
	int a = add(0), b = add(1);

	park_idle(&park, a, 0);
	park_idle(&park, b, 0);
	ck_assert_int_eq(epoll_wait(park.epoll_fd, &e, 1, 0), 0);
	ck_assert_int_eq(write(clients[1], "x", 1), 1);
	ck_assert_int_eq(epoll_wait(park.epoll_fd, &e, 1, 0), 1);
	ck_assert_int_eq(e.data.u64, b);
}
END_TEST

START_TEST(a_lingering_one_ends_when_its_peer_takes_nothing)
{
	int a = add(0), b = add(1);
	char data[4096] = "";

	/* All was taken: nothing to wait for. */
	park_linger(&park, a, 0);
	ck_assert(is_closed(0));
	ck_assert(!park_linger_on(&park, a, 1));
	ck_assert_int_eq(park_count(&park), 1);

	ck_assert_int_eq(
		write(park.slots[b].fd, data, sizeof(data)), sizeof(data));
	ck_assert_int_eq(
		write(park.slots[b].fd, data, sizeof(data)), sizeof(data));
	park_linger(&park, b, 0);
	ck_assert_int_eq(read(clients[1], data, sizeof(data)), sizeof(data));
	ck_assert(park_linger_on(&park, b, 10));
	ck_assert_int_eq(park_next_deadline(&park), 10 + PARK_LINGER_US);
	ck_assert(!park_linger_on(&park, b, 20));
}
END_TEST

START_TEST(those_whose_request_is_here_take_turns)
{
	char first[] = "GET /", second[] = " HT";
	struct iovec bytes[2] = {{first, 5}, {second, 3}};
	struct strict strict;
	int a = add(0), b = add(1);

	strict_reset(&strict);
	ck_assert_int_eq(park_next_ready(&park), -1);
	ck_assert_int_eq(park_ready(&park, a, bytes, &strict), 0);
	ck_assert_int_eq(park_ready(&park, b, bytes, &strict), 0);
	ck_assert_int_eq(park_next_ready(&park), a);
	ck_assert_uint_eq(park.slots[a].head->len, 8);
	ck_assert_int_eq(memcmp(park.slots[a].head->p, "GET / HT", 8), 0);
	/* Neither idle nor overdue, however long it takes. */
	ck_assert(!park_close_idle(&park, CLOCK_NEVER));
	ck_assert_int_eq(park_next_deadline(&park), CLOCK_NEVER);
	ck_assert_int_eq(park_overdue(&park, 100 * HEADER), -1);
	bytes[1].iov_len = 0;
	ck_assert_int_eq(park_ready(&park, a, bytes, &strict), 0);
	ck_assert_uint_eq(park.slots[a].head->len, 5);
	ck_assert_int_eq(park_next_ready(&park), b);
	park_idle(&park, b, 0);
	ck_assert_ptr_null(park.slots[b].head);
	park_close(&park, a);
	ck_assert_int_eq(park_next_ready(&park), -1);
}
END_TEST

START_TEST(new_ones_hurry_when_the_worker_retires)
{
	int a = add(0), b = add(1);

	park_new(&park, a, 0);
	park_hurry(&park, 1000);
	ck_assert_int_eq(park_next_deadline(&park), 1000 + KEEPALIVE);
	park_new(&park, b, 500000);
	park_close(&park, a);
	ck_assert_int_eq(park_next_deadline(&park), 500000 + KEEPALIVE);
}
END_TEST

Suite *park_suite(void);

Suite *
park_suite(void)
{
	Suite *s = suite_create("park");
	TCase *t = tcase_create("park");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_parked_connection_is_small);
	tcase_add_test(t, deadlines_come_in_order);
	tcase_add_test(t, an_unfinished_head_keeps_its_first_deadline);
	tcase_add_test(t, the_oldest_idle_one_makes_room);
	tcase_add_test(t, one_whose_request_has_come_is_not_idle);
	tcase_add_test(t, one_that_came_just_now_is_not_idle);
	tcase_add_test(t, what_arrives_is_told_by_slot);
	tcase_add_test(t, a_lingering_one_ends_when_its_peer_takes_nothing);
	tcase_add_test(t, those_whose_request_is_here_take_turns);
	tcase_add_test(t, new_ones_hurry_when_the_worker_retires);
	suite_add_tcase(s, t);
	return s;
}
