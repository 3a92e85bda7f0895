/*
 * test_rfc.c -- the whole worker against the second reader of requests.
 *
 * Ten thousand mutants, each whole, cut, and between two good requests.  The
 * same for fewer of them through the real binary is in tests/process.
 */
#include <check.h>
#include <stdio.h>

#include "rfc/mutate.h"
#include "rfc/tank.h"
#include "rfc/verdict.h"

#define MUTANTS 10000
#define CUT_MUTANTS 200 /* at every offset */

#define LIMITS                                                                 \
	{                                                                      \
		65536, 8190, 100, 8190, 0                                      \
	}

static const struct verdict_terms reads = {LIMITS, BODY_READ};
static const struct verdict_terms does_not_read = {LIMITS, BODY_UNREAD};
static const struct verdict_terms passes = {LIMITS, BODY_PASSED};

static const char before[] = "GET /before HTTP/1.1\r\nHost: b\r\n\r\n";
static const char after[] = "GET /after HTTP/1.1\r\nHost: a\r\n\r\n";

/* Printable, for a failure. */
static const char *
printable(const char *p, size_t n)
{
	static struct buf b;

	buf_reset(&b);
	for (size_t i = 0; i < n; i++)
		buf_addf(&b, p[i] >= ' ' && p[i] < 0x7f ? "%c" : "\\x%02x",
			(unsigned char)p[i]);
	return buf_z(&b);
}

static void
run(uint64_t number, const struct tank_stream *s,
	const struct verdict_terms *terms)
{
	struct str got = tank_run(s);
	const char *wrong = verdict(s->p, s->n, got.p, got.len, terms);

	ck_assert_msg(!wrong, "mutant %d, first %zu, step %zu: %s\n%s\n%.*s",
		(int)number, s->first, s->step, wrong, printable(s->p, s->n),
		(int)got.len, got.p);
}

/* Whole, in two, in small pieces; bodies are read, skipped, passed. */
static void
run_cut(uint64_t number, const char *p, size_t n)
{
	struct dice dice = {number};
	struct tank_stream s = {p, n, 0, 0};

	tank_read_size(1u << dice_roll(&dice, 13));
	run(number, &s, &reads);
	s.first = 1 + dice_roll(&dice, n);
	run(number, &s, &reads);
	s.step = 1 + dice_roll(&dice, 40);
	run(number, &s, &reads);
	tank_read_size(0);
	run(number, &s, &does_not_read);
	tank_read_size(TANK_PASS);
	run(number, &s, &passes);
	s.step = 0;
	run(number, &s, &passes);
	tank_read_size(0);
	s.step = 1;
	if (number % 16 == 0)
		run(number, &s, &does_not_read);
}

static void
run_mutants(uint64_t from, uint64_t to)
{
	static char p[MUTANT_MAX + sizeof(before) + sizeof(after)];
	const size_t begin = sizeof(before) - 1;
	size_t n;

	memcpy(p, before, begin);
	for (; from < to; from++) {
		n = mutate(from, p + begin);
		if (n > 0)
			run_cut(from, p + begin, n);
		memcpy(p + begin + n, after, sizeof(after) - 1);
		run_cut(from, p, begin + n + sizeof(after) - 1);
	}
}

static void
run_limited(uint64_t number)
{
	static const struct verdict_terms terms[] = {
		{{120, 40, 3, 40, 20}, BODY_READ},
		{{120, 40, 3, 40, 20}, BODY_UNREAD},
		{{120, 40, 3, 40, 20}, BODY_PASSED}};
	static const size_t sizes[] = {100, 0, TANK_PASS};
	char p[MUTANT_MAX];
	struct tank_stream s = {.p = p, .n = mutate(number, p)};

	for (int i = 0; i < 6 && s.n > 0; i++) {
		tank_read_size(sizes[i % 3]);
		s.step = i < 3 ? 0 : 1 + number % 30;
		run(number, &s, &terms[i % 3]);
	}
}

/* Under the sanitizers one in four. */
START_TEST(mutants)
{
#ifdef __SANITIZE_ADDRESS__
	const uint64_t n = MUTANTS / 4;
#else
	const uint64_t n = MUTANTS;
#endif

	tank_open(&tank_default);
	run_mutants(0, n);
	tank_close();
}
END_TEST

/* Limits that many of them pass: refused is right, misread is not. */
START_TEST(mutants_beyond_limits)
{
	struct serve_settings settings = tank_default;

	settings.request.head = (struct strict_limits){120, 40, 3, 40};
	settings.request.body = 20;
	tank_open(&settings);
	for (uint64_t i = 0; i < MUTANTS / 10; i++)
		run_limited(i);
	tank_close();
}
END_TEST

/* Blocks of 512 bytes, so that bodies lie across them. */
START_TEST(mutants_small_blocks)
{
	struct serve_settings settings = tank_default;

	settings.request.block_size = 512;
	settings.chunks_max = 0;
	tank_open(&settings);
	run_mutants(MUTANTS, MUTANTS + MUTANTS / 10);
	tank_close();
}
END_TEST

/* One behind which another can follow. */
static size_t
plain(struct dice *dice, char *p)
{
	struct reading r;
	bool goes_on;
	size_t n;

	do {
		n = mutate(dice_roll(dice, MUTANTS_PLAIN), p);
		reader_read(p, n, &reads.limits, &r);
		goes_on = r.kind == READING_GOOD && !r.close;
		reading_done(&r);
	} while (!goes_on);
	return n;
}

/* Many requests in a row, one of which may be a mutant, in large pieces. */
static size_t
make_row(struct dice *dice, char *p)
{
	size_t i, len = 0, n = 2 + dice_roll(dice, 80),
		  odd = dice_roll(dice, n);

	for (i = 0; i < n; i++)
		len += i == odd ? mutate(dice_roll(dice, MUTANTS), p + len)
				: plain(dice, p + len);
	return len;
}

/* Whatever becomes of the bodies; where they are read, by so much at once. */
static void
run_terms(uint64_t number, const struct tank_stream *s, size_t read_size)
{
	tank_read_size(read_size);
	run(number, s, &reads);
	tank_read_size(0);
	run(number, s, &does_not_read);
	tank_read_size(TANK_PASS);
	run(number, s, &passes);
}

START_TEST(rows_of_requests)
{
	static char p[100 * MUTANT_MAX];
	struct serve_settings settings = tank_default;
	struct dice dice = {0};
	struct tank_stream s = {.p = p};

	settings.request.block_size = _i ? 65536 : 512;
	tank_open(&settings);
	for (int i = 0; i < 200; i++) {
		s.n = make_row(&dice, p);
		s.first = dice_roll(&dice, s.n);
		s.step = dice_roll(&dice, 3) * dice_roll(&dice, 3000);
		run_terms((uint64_t)i, &s, 1u << dice_roll(&dice, 13));
	}
	tank_close();
}
END_TEST

/* Every cut in two of the requests as they are, and of some mutants. */
START_TEST(all_cuts)
{
	char p[MUTANT_MAX];
	struct tank_stream s = {.p = p};
	uint64_t i;

	tank_open(&tank_default);
	for (i = 0; i < CUT_MUTANTS; i++) {
		s.n = mutate(i, p);
		for (s.first = 1; s.first < s.n; s.first++)
			run_terms(i, &s, 4096);
	}
	tank_close();
}
END_TEST

/* ---- the second reader and the judge themselves ---- */

struct row {
	enum reading_kind kind;
	const char *sent;
	const char *told; /* of a good one */
};

#define H "GET / HTTP/1.1\r\nHost: a\r\n"
#define C "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
#define TOLD_C "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n"

static const struct row rows[] = {
	{READING_GOOD, H "\r\n", "GET / HTTP/1.1\nHost: a\n\n"},
	{READING_GOOD, "\r\n" H "X: \tb \r\n\r\n",
		"GET / HTTP/1.1\nHost: a\nX: b\n\n"},
	{READING_GOOD, H "Content-Length: 2\r\n\r\nabc",
		"GET / HTTP/1.1\nHost: a\nContent-Length: 2\n\nab"},
	{READING_GOOD, C "2;x\r\nab\r\n0\r\nT: 1\r\n\r\n", TOLD_C "ab\nT: 1\n"},
	{READING_GOOD, "GET http://b HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://b HTTP/1.1\nHost: b\n\n"},
	{READING_NOTHING, "", NULL},
	{READING_NOTHING, "\r\n\r\n", NULL},
	{READING_BAD, "\n", NULL},
	{READING_BAD, H, NULL},
	{READING_BAD, H "\n", NULL},
	{READING_BAD, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", NULL},
	{READING_BAD, "GET / HTTP/2.0\r\nHost: a\r\n\r\n", NULL},
	{READING_BAD, "GET / HTTP/1.1\r\n\r\n", NULL},
	{READING_BAD, H "Host: a\r\n\r\n", NULL},
	{READING_BAD, H "X : a\r\n\r\n", NULL},
	{READING_BAD, H " X: a\r\n\r\n", NULL},
	{READING_BAD, H "Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
		NULL},
	{READING_BAD,
		H "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"
		  "\r\n0\r\n\r\n",
		NULL},
	{READING_BAD, H "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		NULL},
	{READING_BAD_BODY, H "Content-Length: 2\r\n\r\na", NULL},
	{READING_BAD_BODY, C "2;\r\nab\r\n0\r\n\r\n", NULL},
	{READING_BAD_BODY, C "2\nab\r\n0\r\n\r\n", NULL},
	{READING_BAD_BODY, C "2\r\nabc\r\n0\r\n\r\n", NULL},
	{READING_BAD_BODY, C "0\r\n T: 1\r\n\r\n", NULL},
};

START_TEST(reader_rows)
{
	const struct row *row = &rows[_i];
	struct reading r;

	reader_read(row->sent, strlen(row->sent), &reads.limits, &r);
	ck_assert_msg(r.kind == row->kind, "%s", row->sent);
	ck_assert(!r.over);
	if (row->told)
		ck_assert_str_eq(r.told, row->told);
	reading_done(&r);
}
END_TEST

/* A judge who finds nothing wrong is none. */
static const struct {
	const char *sent, *got;
	const char *wrong; /* NULL: nothing */
} judged[] = {
	{H "\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\n"
		"GET / HTTP/1.1\nHost: a\n\n",
		NULL},
	{H "\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\n"
		"GET / HTTP/1.1\nHost: b\n\n",
		"another request"},
	{H "\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\n"
		"GET / HTTP/1.1\nHost: a\n",
		"cut short"},
	{H "\r\n", "", "no response"},
	{H "\r\n",
		"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"
		"Content-Length: 0\r\n\r\n",
		"it is a good request"},
	{H "Connection: close\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 42\r\n\r\n"
		"GET / HTTP/1.1\nHost: a\nConnection: close\n\n",
		"not closed"},
	{H "\n",
		"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"
		"Content-Length: 0\r\n\r\n",
		NULL},
	{H "\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "no good"},
	{H "\n", "HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n",
		"without Connection: close"},
	{H "\n",
		"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"
		"Content-Length: 0\r\n\r\n"
		"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"
		"Content-Length: 0\r\n\r\n",
		"behind a refusal"},
	{"\r\n", "", NULL},
	{"\r\n",
		"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"
		"Content-Length: 0\r\n\r\n",
		"more than there is"},
};

START_TEST(verdict_rows)
{
	const char *sent = judged[_i].sent, *got = judged[_i].got;
	const char *wrong =
		verdict(sent, strlen(sent), got, strlen(got), &reads);

	if (!judged[_i].wrong)
		ck_assert_ptr_eq(wrong, NULL);
	else
		ck_assert_msg(wrong && strstr(wrong, judged[_i].wrong), "%s",
			wrong ? wrong : "nothing");
}
END_TEST

/* Of the mutants neither too few nor too many are good. */
START_TEST(mutants_are_mixed)
{
	char p[MUTANT_MAX];
	int kinds[READING_NOTHING + 1] = {0};
	struct reading r;

	for (uint64_t i = 0; i < MUTANTS; i++) {
		reader_read(p, mutate(i, p), &reads.limits, &r);
		kinds[r.kind]++;
		reading_done(&r);
	}
	ck_assert_int_gt(kinds[READING_GOOD], MUTANTS / 5);
	ck_assert_int_gt(kinds[READING_BAD], MUTANTS / 5);
	ck_assert_int_gt(kinds[READING_BAD_BODY], MUTANTS / 40);
}
END_TEST

Suite *rfc_suite(void);

Suite *
rfc_suite(void)
{
	Suite *s = suite_create("rfc");
	TCase *t = tcase_create("judges");

	tcase_add_loop_test(t, reader_rows, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_loop_test(
		t, verdict_rows, 0, sizeof(judged) / sizeof(judged[0]));
	tcase_add_test(t, mutants_are_mixed);
	suite_add_tcase(s, t);

	t = tcase_create("worker");
	tcase_set_timeout(t, 120);
	tcase_add_test(t, mutants);
	tcase_add_test(t, mutants_small_blocks);
	tcase_add_test(t, mutants_beyond_limits);
	tcase_add_loop_test(t, rows_of_requests, 0, 2);
	tcase_add_test(t, all_cuts);
	suite_add_tcase(s, t);
	return s;
}
