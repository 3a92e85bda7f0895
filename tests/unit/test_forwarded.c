/*
 * test_forwarded.c -- whom a proxy may speak for, and what is believed.
 *
 * Trusted are 127.0.0.1, 10.0.0.0/8 and fd00::/8.
 */
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <string.h>

#include "worker/forwarded.h"

static struct allow_entry entries[3];
static const struct allow trusted = {entries, 3};

static void
set_up(void)
{
	static const char *const texts[] = {
		"127.0.0.1", "10.0.0.0/8", "fd00::/8"};
	const char *why;

	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(
			allow_read(str_of(texts[i]), &entries[i], &why), 0);
}

struct row {
	const char *peer;
	const char *fields; /* "Name: value" lines */
	int status;
	const char *scheme;
	const char *addr; /* NULL: the peer */
	int port;
};

static const struct row rows[] = {
	{"127.0.0.1", "", 0, "http", NULL, 0},
	/* strangers */
	{"192.0.2.1", "X-Forwarded-Proto: https\nX-Forwarded-For: 1.1.1.1", 0,
		"http", NULL, 0},
	{"192.0.2.1", "X-Forwarded-Proto: https\nX-Forwarded-Proto: http", 0,
		"http", NULL, 0},
	/* the scheme */
	{"127.0.0.1", "X-Forwarded-Proto: https", 0, "https", NULL, 0},
	{"127.0.0.1", "x-forwarded-proto: HTTPS", 0, "https", NULL, 0},
	{"127.0.0.1", "X-Forwarded-Proto: http", 0, "http", NULL, 0},
	{"127.0.0.1", "X-Forwarded-Proto: ", 0, "http", NULL, 0},
	{"127.0.0.1", "X-Forwarded-Proto: gopher", 0, "http", NULL, 0},
	{"127.0.0.1", "X-Forwarded-Proto: https, https", 0, "https", NULL, 0},
	{"127.0.0.1", "X-Forwarded-Proto: https, http", 400, "", NULL, 0},
	{"127.0.0.1", "X-Forwarded-Proto: https\nX-Forwarded-Proto: http", 400,
		"", NULL, 0},
	{"127.0.0.1", "X-Forwarded-Proto: http\nX-Forwarded-Proto: ftp, HTTPS",
		400, "", NULL, 0},
	{"127.0.0.1", "X-Forwarded-Proto: https\nX-Forwarded-Ssl: off", 0,
		"https", NULL, 0},
	{"127.0.0.1", "X-Forwarded-Ssl: on", 0, "http", NULL, 0},
	/* the address */
	{"127.0.0.1", "X-Forwarded-For: 192.0.2.7", 0, "http", "192.0.2.7", 0},
	{"127.0.0.1", "X-Forwarded-For: 6.6.6.6, 192.0.2.7,10.0.0.3", 0, "http",
		"192.0.2.7", 0},
	{"10.9.9.9", "X-Forwarded-For: 6.6.6.6\nX-Forwarded-For: 192.0.2.7", 0,
		"http", "192.0.2.7", 0},
	{"127.0.0.1", "X-Forwarded-For: 192.0.2.7\nX-Forwarded-For: 10.0.0.1",
		0, "http", "192.0.2.7", 0},
	{"127.0.0.1", "X-Forwarded-For: 10.0.0.2, 10.0.0.1", 0, "http",
		"10.0.0.2", 0},
	{"127.0.0.1", "X-Forwarded-For: 6.6.6.6, unknown, 10.0.0.1", 0, "http",
		"10.0.0.1", 0},
	{"127.0.0.1", "X-Forwarded-For: <script>", 0, "http", NULL, 0},
	{"127.0.0.1", "X-Forwarded-For: ", 0, "http", NULL, 0},
	{"127.0.0.1", "X-Forwarded-For: 192.0.2.7:4711", 0, "http", "192.0.2.7",
		4711},
	{"127.0.0.1", "X-Forwarded-For: 192.0.2.7:471100", 0, "http", NULL, 0},
	{"127.0.0.1", "X-Forwarded-For: 2001:db8::7", 0, "http", "2001:db8::7",
		0},
	{"127.0.0.1", "X-Forwarded-For: [2001:db8::7]:81, [fd00::1]", 0, "http",
		"2001:db8::7", 81},
	{"127.0.0.1", "X-Forwarded-For: [", 0, "http", NULL, 0},
	{"127.0.0.1", "X-Forwarded-For: []:1", 0, "http", NULL, 0},
};

static struct field fields[8];

static void
read_fields(struct head *h, const char *text)
{
	struct str rest = str_of(text), line;

	head_init(h, fields, 8);
	while (rest.len && str_cut(&rest, '\n', &line)) {
		struct field *f = &h->fields[h->nfields++];

		f->value = line;
		str_cut(&f->value, ':', &f->name);
		f->value = str_trim(f->value);
	}
}

START_TEST(each_row)
{
	const struct row *row = &rows[_i];
	struct sockaddr_in in = {.sin_family = AF_INET};
	const struct target target = {.form = TARGET_ORIGIN};
	struct forwarded f;
	struct head head;

	read_fields(&head, row->fields);
	inet_pton(AF_INET, row->peer, &in.sin_addr);
	ck_assert_int_eq(forwarded_read(&trusted, (struct sockaddr *)&in, &head,
				 &target, &f),
		row->status);
	if (row->status)
		return;
	ck_assert(str_eq(f.scheme, str_of(row->scheme)));
	ck_assert_msg(str_eq(f.addr, str_of(row->addr)), "%s: %.*s",
		row->fields, STR_ARG(f.addr));
	ck_assert_int_eq(!f.addr.p, !row->addr);
	ck_assert_int_eq(f.port, row->port);
}
END_TEST

/* RFC 9110 7.4: only a trusted peer may have been spoken to in https. */
START_TEST(https_of_a_stranger)
{
	static const struct {
		const char *peer, *scheme;
		int status;
	} asked[] = {
		{"192.0.2.1", "http", 0},
		{"192.0.2.1", "https", 421},
		{"192.0.2.1", "HTTPS", 421},
		{"127.0.0.1", "https", 0},
	};
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct target target = {.form = TARGET_ABSOLUTE};
	struct forwarded f;
	struct head head;

	for (size_t i = 0; i < 4; i++) {
		read_fields(&head, "Host: t");
		inet_pton(AF_INET, asked[i].peer, &in.sin_addr);
		target.scheme = str_of(asked[i].scheme);
		ck_assert_int_eq(
			forwarded_read(&trusted, (struct sockaddr *)&in, &head,
				&target, &f),
			asked[i].status);
	}
}
END_TEST

Suite *forwarded_suite(void);

Suite *
forwarded_suite(void)
{
	Suite *s = suite_create("forwarded");
	TCase *t = tcase_create("rows");

	tcase_add_checked_fixture(t, set_up, NULL);
	tcase_add_loop_test(
		t, each_row, 0, (int)(sizeof(rows) / sizeof(*rows)));
	tcase_add_test(t, https_of_a_stranger);
	suite_add_tcase(s, t);
	return s;
}
