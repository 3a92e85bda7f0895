/*
 * mutate.c -- requests with something wrong, or odd, or right after all.
 *
 * One of a few requests with one to three changes, of the kinds that parsers
 * have disagreed about: line ends, blanks, colons, digits, doubled and
 * contradicting fields, chunk sizes, cut and glued bytes.
 */
#include "rfc/mutate.h"

#include <ctype.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const requests[MUTANTS_PLAIN] = {
	"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET /a%20b?q=%1 HTTP/1.1\r\nHost: a.example:80\r\nAccept: */*\r\n"
	"X-Empty:\r\nConnection: keep-alive\r\n\r\n",
	"GET http://b.example:8080/x?y HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
	"POST / HTTP/1.0\r\nContent-Length: 4\r\n\r\nbody",
	"HEAD /h HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close\r\n\r\n",
	"OPTIONS * HTTP/1.1\r\nHost: a\r\nTE: trailers, x;q=0.5\r\n\r\n",
	"QUERY /m HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
	"POST /l HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world",
	"PUT /e HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
	"Expect: 100-continue\r\n\r\nhello",
	"POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	"5\r\nhello\r\n1;a=b; c=\"d\\\"e\"\r\n \r\n005\r\nworld\r\n0\r\n\r\n",
	"POST /t HTTP/1.1\r\nTransfer-Encoding: Chunked\r\nHost: a\r\n\r\n"
	"A\r\n0123456789\r\n00;last\r\nX-Sum: 1\r\nX-More: \r\n\r\n",
	"POST /n HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	"1b\r\nGET /in HTTP/1.1\r\nHost: i\r\n\r\n0\r\n\r\n",
	"POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 28\r\n\r\n"
	"GET /in HTTP/1.1\r\nHost: i\r\n\r\n"
	"GET /next HTTP/1.1\r\nHost: b\r\n\r\n",
	"POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	"0\r\n\r\nPOST /d HTTP/1.1\r\nHost: b\r\nContent-Length: 3\r\n\r\nabc",
	"GET https://a/s HTTP/1.1\r\nHost: a\r\n\r\n",
	"\r\nGET /x HTTP/1.1\r\nHost: a\r\nCookie: a=b; c=\"d\"\r\n\r\n",
};

/* Whole lines. */
static const char *const lines[] = {
	"Content-Length: 0\r\n",
	"Content-Length: 5\r\n",
	"Content-Length: 5, 5\r\n",
	"Content-Length: +5\r\n",
	"Content-Length: 0x5\r\n",
	"Content-Length: 18446744073709551621\r\n",
	"Content-Length : 5\r\n",
	"Content_Length: 5\r\n",
	"Transfer-Encoding: chunked\r\n",
	"Transfer-Encoding: chunked, chunked\r\n",
	"Transfer-Encoding: gzip, chunked\r\n",
	"Transfer-Encoding: chunked, identity\r\n",
	"Transfer-Encoding: identity\r\n",
	"Transfer-Encoding:\r\n",
	"Transfer-Encoding: \013chunked\r\n",
	"Transfer-Encoding: \"chunked\"\r\n",
	"Transfer-Encoding: chunked;x\r\n",
	"Transfer-Encoding: ,chunked\r\n",
	"Transfer-Encoding: chunked,\r\n",
	"Transfer-Encoding: chunked ,\t, chunked\r\n",
	"Transfer-Encoding : chunked\r\n",
	"Transfer-Encoding\r\n : chunked\r\n",
	"Transfer\tEncoding: chunked\r\n",
	"Transfer-Encoding-Foo: chunked\r\n",
	"Host: b\r\n",
	"Host:\r\n",
	"Host: a b\r\n",
	"Host: a/b\r\n",
	"Host: u@a\r\n",
	"Connection: close\r\n",
	"Connection: close, keep-alive\r\n",
	"Connection: Host\r\n",
	"Connection: x , ,CLOSE\r\n",
	"Expect: 100-continue\r\n",
	"Expect: 100-Continue, other\r\n",
	"Expect:\r\n",
	" folded\r\n",
	"\tfolded: x\r\n",
	": no name\r\n",
	"no colon\r\n",
	"\r\n",
	"\n",
	"\r",
	"X: a\nContent-Length: 5\r\n",
	"X: a\rContent-Length: 5\r\n",
	"Upgrade: websocket\r\n",
	"GET https://a/ HTTP/1.1\r\n",
	"GET /other HTTP/1.1\r\n",
};

/* Whole chunks, or what somebody may take for one. */
static const char *const chunks[] = {
	"0\r\n",
	"5\r\nhello\r\n",
	"5;\r\nhello\r\n",
	"5 \r\nhello\r\n",
	" 5\r\nhello\r\n",
	"0x5\r\nhello\r\n",
	"-1\r\n",
	"fffffffffffffff0\r\n",
	"10000000000000005\r\nhello\r\n",
	"5;a=\"\n\"\r\nhello\r\n",
	"5;a=\"\\\001\"\r\nhello\r\n",
	"5\nhello\r\n",
};

static const char bytes[] =
	"\r\n \t:;,.0159afFx=\"\\%#?*/[]@-_+\v\f\x7f\x80\xff"
	"\0"
	"AzHTP";

struct mutant {
	struct dice dice;
	char *p;
	size_t n;
};

size_t
dice_roll(struct dice *d, size_t n)
{
	uint64_t x = d->state += 0x9e3779b97f4a7c15; /* splitmix64 */

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return (size_t)((x ^ x >> 31) % n);
}

static size_t
roll(struct mutant *m, size_t n)
{
	return dice_roll(&m->dice, n);
}

/* Put n bytes in the place of `gone` ones; what has no room is left out. */
static void
put(struct mutant *m, size_t at, size_t gone, const char *p, size_t n)
{
	char copy[MUTANT_MAX];

	if (m->n - gone + n > MUTANT_MAX)
		return;
	memcpy(copy, p, n); /* it may be of the mutant itself */
	memmove(m->p + at + n, m->p + at + gone, m->n - at - gone);
	memcpy(m->p + at, copy, n);
	m->n += n - gone;
}

static char
any_byte(struct mutant *m)
{
	return bytes[roll(m, sizeof(bytes) - 1)];
}

/* Where a line begins, and its length with its end. */
static size_t
any_line(struct mutant *m, size_t *ret_n)
{
	size_t at = roll(m, m->n), end;

	while (at > 0 && m->p[at - 1] != '\n')
		at--;
	for (end = at; end < m->n && m->p[end] != '\n';)
		end++;
	*ret_n = end - at + (end < m->n);
	return at;
}

static void
change_byte(struct mutant *m)
{
	size_t at = roll(m, m->n);

	if (roll(m, 2))
		m->p[at] ^= (char)(1 << roll(m, 8));
	else
		m->p[at] = any_byte(m);
}

static void
insert_bytes(struct mutant *m)
{
	size_t at = roll(m, m->n + 1);
	char c = any_byte(m);

	put(m, at, 0, &c, 1);
	if (roll(m, 3) == 0) /* "\r\n", mostly */
		put(m, at + 1, 0, "\n", 1);
}

static void
remove_bytes(struct mutant *m)
{
	size_t at = roll(m, m->n), n = 1 + roll(m, 4);

	put(m, at, n < m->n - at ? n : m->n - at, "", 0);
}

static void
double_bytes(struct mutant *m)
{
	size_t at = roll(m, m->n), n = 1 + roll(m, 8);

	n = n < m->n - at ? n : m->n - at;
	put(m, at, 0, m->p + at, n);
}

static void
change_line_end(struct mutant *m)
{
	static const char *const ends[] = {
		"\n", "\r", "\n\r", "\r\r\n", "\r\n\n", "", " \r\n", "\r\n "};
	const char *end = ends[roll(m, COUNT(ends))];
	size_t n, at = any_line(m, &n);

	if (n >= 2 && m->p[at + n - 2] == '\r')
		put(m, at + n - 2, 2, end, strlen(end));
}

static void
add_line(struct mutant *m)
{
	const char *line = lines[roll(m, COUNT(lines))];
	size_t n, at = any_line(m, &n);

	put(m, at + (roll(m, 2) ? n : 0), 0, line, strlen(line));
}

/* Where a chunk begins, if there is one. */
static void
add_chunk(struct mutant *m)
{
	const char *chunk = chunks[roll(m, COUNT(chunks))];
	size_t n, i, at = any_line(m, &n);

	for (i = 0; i < 20 && !isdigit((unsigned char)m->p[at]); i++)
		at = any_line(m, &n);
	put(m, at, 0, chunk, strlen(chunk));
}

static void
double_line(struct mutant *m)
{
	size_t n, at = any_line(m, &n), to = any_line(m, &(size_t){0});

	put(m, to, 0, m->p + at, n);
}

static void
change_digit(struct mutant *m)
{
	size_t at = roll(m, m->n), i;

	for (i = 0; i < m->n && !isxdigit((unsigned char)m->p[at]); i++)
		at = (at + 1) % m->n;
	m->p[at] = "0123456789abcdefABCDEF"[roll(m, 22)];
}

/* A blank beside a colon, a comma, a semicolon or an equals sign. */
static void
add_blank(struct mutant *m)
{
	size_t at = roll(m, m->n), i;

	for (i = 0; i < m->n && !strchr(":,;=", m->p[at]); i++)
		at = (at + 1) % m->n;
	put(m, at + roll(m, 2), 0, roll(m, 2) ? " " : "\t", 1);
}

static void
change_case(struct mutant *m)
{
	size_t at = roll(m, m->n), i;

	for (i = 0; i < m->n && !isalpha((unsigned char)m->p[at]); i++)
		at = (at + 1) % m->n;
	m->p[at] ^= 0x20;
}

static void
cut_short(struct mutant *m)
{
	m->n -= roll(m, m->n);
}

/* Another request behind it, or in the middle of it. */
static void
glue(struct mutant *m)
{
	const char *other = requests[roll(m, MUTANTS_PLAIN)];

	put(m, roll(m, 3) ? m->n : roll(m, m->n), 0, other, strlen(other));
}

static void (*const changes[])(struct mutant *m) = {
	change_byte,
	change_byte,
	insert_bytes,
	insert_bytes,
	remove_bytes,
	double_bytes,
	change_line_end,
	add_line,
	add_line,
	add_line,
	add_chunk,
	double_line,
	change_digit,
	add_blank,
	change_case,
	cut_short,
	glue,
};

size_t
mutate(uint64_t number, char *p)
{
	struct mutant m = {.dice = {number << 20}, .p = p};
	const char *request = requests[number % MUTANTS_PLAIN];
	size_t i, n = number < MUTANTS_PLAIN ? 0 : 1 + roll(&m, 3);

	put(&m, 0, 0, request, strlen(request));
	for (i = 0; i < n && m.n > 0; i++)
		changes[roll(&m, COUNT(changes))](&m);
	return m.n;
}
