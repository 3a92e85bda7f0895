/*
 * drive.c -- one connection, one request after the other, exact counts.
 *
 *	drive [-k] [-r] [-b BYTES] [-e BYTES] [-n COUNT] [-s SECONDS]
 *		[-w COUNT] PORT PATH
 *
 *	-k keep the connection if the server does, else one each
 *	-b POST a body of so many bytes
 *	-e each answer must have a body of so many bytes
 *	-r each answer must say "received_bytes" as many as were sent
 *	-n, -s stop after so many requests and so long, whichever is later
 *	-w requests beforehand that are not counted
 *
 * It sends and receives at the same time, so that it can drive an echo.  Any
 * answer but a complete 200 ends it with status 1.  At the end it prints JSON:
 * what was done, and how long an answer took.
 */
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define BLOCK (256 * 1024)
#define HEAD_MAX 8192
#define TEXT_MAX 256 /* of a body that is looked at */

enum part {
	HEAD,
	FIXED, /* a body of known length */
	TO_EOF,
	SIZE, /* a chunk's size line */
	DATA, /* a chunk's bytes */
	DATA_END, /* CR LF behind them */
	TRAILER, /* lines up to an empty one */
	END
};

struct answer {
	enum part part;
	char head[HEAD_MAX + 1], text[TEXT_MAX + 1];
	size_t head_len, text_len;
	size_t left; /* bytes of the body or chunk that are to come */
	size_t line_len; /* of the size line or trailer at hand */
	unsigned long long body;
	bool last; /* the server closes behind it */
	bool stale; /* it had closed, without a word, behind the one before */
};

static struct options {
	bool keep, received;
	long long body, expect;
	long count, warm_up;
	double seconds;
	int port;
	const char *path;
} opt = {.expect = -1, .count = 1};

static char in[BLOCK], out[BLOCK], request[1024];
static int fd = -1;
static bool reused; /* fd has carried an answer before */
static unsigned long long sent, got;
static double app_seconds;

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- an answer, as its bytes come ---- */

static const char *
field(const struct answer *a, const char *name)
{
	const char *p = strcasestr(a->head, name);

	return p ? p + strlen(name) : NULL;
}

static bool
is_interim(const struct answer *a)
{
	return strncmp(a->head, "HTTP/1.1 1", 10) == 0;
}

/* The head is complete: what follows? */
static void
judge_head(struct answer *a)
{
	const char *length = field(a, "\r\nContent-Length:");

	if (is_interim(a)) {
		a->head_len = 0;
		return;
	}
	if (strncmp(a->head, "HTTP/1.", 7) || strncmp(a->head + 8, " 200 ", 5))
		errx(1, "answer: %.*s", (int)strcspn(a->head, "\r"), a->head);
	a->last = field(a, "\r\nConnection: close") || a->head[7] == '0';
	if (field(a, "\r\nTransfer-Encoding: chunked")) {
		a->part = SIZE;
	} else if (length) {
		a->left = strtoul(length, NULL, 10);
		a->part = a->left ? FIXED : END;
	} else {
		a->part = TO_EOF;
		a->last = true;
	}
}

/* Each feed_ takes some of the n bytes at p and returns how many. */
static size_t
feed_head(struct answer *a, const char *p, size_t n)
{
	size_t before = a->head_len, taken;
	const char *end;

	if (n > HEAD_MAX - before)
		n = HEAD_MAX - before;
	if (n == 0)
		errx(1, "answer: its head is too long");
	memcpy(a->head + before, p, n);
	a->head[before + n] = '\0';
	a->head_len += n;
	end = strstr(a->head, "\r\n\r\n");
	if (end == NULL)
		return n;
	taken = (size_t)(end + 4 - a->head) - before;
	a->head[before + taken] = '\0';
	judge_head(a);
	return taken;
}

static size_t
feed_body(struct answer *a, const char *p, size_t n)
{
	size_t room = TEXT_MAX - a->text_len;

	if (a->part != TO_EOF) {
		n = n < a->left ? n : a->left;
		a->left -= n;
		if (a->left == 0)
			a->part = a->part == FIXED ? END : DATA_END;
	}
	a->body += n;
	room = room < n ? room : n;
	memcpy(a->text + a->text_len, p, room);
	a->text_len += room;
	return n;
}

/* Hexadecimal digits up to CR LF; an extension has none that count. */
static size_t
feed_size(struct answer *a, char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *d = strchr(digits, c | 0x20);

	if (c == '\n') {
		a->part = a->left ? DATA : TRAILER;
		a->line_len = 0;
	} else if (d != NULL && c > ' ') {
		a->left = a->left * 16 + (size_t)(d - digits);
	} else if (c != '\r') {
		errx(1, "answer: a bad chunk size");
	}
	return 1;
}

static size_t
feed_line(struct answer *a, char c)
{
	if (c != '\n') {
		a->line_len += c != '\r';
	} else if (a->part == DATA_END) {
		a->part = SIZE;
	} else {
		a->part = a->line_len ? TRAILER : END;
		a->line_len = 0;
	}
	return 1;
}

static void
feed(struct answer *a, const char *p, size_t n)
{
	size_t taken = 0;

	for (; n > 0; p += taken, n -= taken)
		switch (a->part) {
		case HEAD:
			taken = feed_head(a, p, n);
			break;
		case FIXED:
		case TO_EOF:
		case DATA:
			taken = feed_body(a, p, n);
			break;
		case SIZE:
			taken = feed_size(a, *p);
			break;
		case DATA_END:
		case TRAILER:
			taken = feed_line(a, *p);
			break;
		case END:
			errx(1, "answer: %zu bytes behind its end", n);
		}
}

static void
judge_answer(struct answer *a)
{
	const char *count, *seconds;

	a->text[a->text_len] = '\0';
	if (opt.expect >= 0 && a->body != (unsigned long long)opt.expect)
		errx(1, "answer: %llu bytes in place of %lld", a->body,
			opt.expect);
	if (!opt.received)
		return;
	count = strstr(a->text, "\"received_bytes\":");
	if (count == NULL || atoll(count + 17) != opt.body)
		errx(1, "answer: %s", a->text);
	seconds = strstr(a->text, "\"process_seconds\":");
	app_seconds += seconds ? atof(seconds + 18) : 0;
}

/* ---- an exchange ---- */

static void
open_connection(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)opt.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int on = 1;

	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == -1)
		err(1, "connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/*
 * The connection is at its end before the answer is.  On one that has been
 * used that says no more than that this server does not keep any.
 */
static void
judge_loss(struct answer *a, const char *what)
{
	if (!reused || a->part != HEAD || a->head_len > 0)
		errx(1, "answer: broken off after %llu bytes of its body: %s",
			a->body, what);
	a->stale = true;
	a->part = END;
	opt.keep = false;
}

/* As much of head and body as the kernel takes now. */
static void
send_some(struct answer *a, size_t *head_left, size_t *body_left)
{
	size_t head_len = strlen(request), n;
	struct iovec v[2];
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
	ssize_t r;

	while (*head_left + *body_left > 0) {
		n = *body_left < BLOCK ? *body_left : BLOCK;
		v[0] = (struct iovec){
			request + head_len - *head_left, *head_left};
		v[1] = (struct iovec){out, n};
		r = sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (r == -1 && errno == EAGAIN)
			return;
		if (r == -1) {
			judge_loss(a, strerror(errno));
			return;
		}
		n = (size_t)r < *head_left ? (size_t)r : *head_left;
		*head_left -= n;
		*body_left -= (size_t)r - n;
		sent += (size_t)r;
	}
}

static void
receive_some(struct answer *a, int flags)
{
	ssize_t n = recv(fd, in, sizeof(in), flags);

	if (n == -1 && errno == EAGAIN)
		return;
	if (n > 0) {
		got += (size_t)n;
		feed(a, in, (size_t)n);
	} else if (n == 0 && a->part == TO_EOF) {
		a->part = END;
	} else {
		judge_loss(a, n == 0 ? "end of file" : strerror(errno));
	}
}

/* One request and its answer; false if the connection was stale. */
static bool
try_exchange(void)
{
	static struct answer a;
	size_t head = strlen(request), body = (size_t)opt.body;

	memset(&a, 0, sizeof(a));
	if (fd == -1)
		open_connection();
	send_some(&a, &head, &body);
	while (a.part != END) {
		if (head + body > 0) {
			struct pollfd p = {fd, POLLIN | POLLOUT, 0};

			poll(&p, 1, -1);
			send_some(&a, &head, &body);
		}
		if (a.part != END)
			receive_some(&a, head + body > 0 ? MSG_DONTWAIT : 0);
	}
	reused = opt.keep && !a.last && head + body == 0;
	if (!reused) {
		close(fd);
		fd = -1;
	}
	if (!a.stale)
		judge_answer(&a);
	return !a.stale;
}

static void
exchange(void)
{
	while (!try_exchange())
		continue;
}

/* ---- the run ---- */

static double *times;
static size_t times_len, times_max;

static void
note(double t)
{
	if (times_len == times_max) {
		times_max = 2 * times_max + 1024;
		times = realloc(times, times_max * sizeof(*times));
		if (times == NULL)
			err(1, NULL);
	}
	times[times_len++] = t;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
print_result(double seconds)
{
	qsort(times, times_len, sizeof(*times), compare);
	printf("{\"requests\": %zu, \"seconds\": %.9f, \"sent\": %llu, "
	       "\"received\": %llu, \"app_seconds\": %.9f, "
	       "\"fastest\": %.9f, \"median\": %.9f, \"slowest\": %.9f}\n",
		times_len, seconds, sent, got, app_seconds, times[0],
		times[times_len / 2], times[times_len - 1]);
}

static void
run(void)
{
	double began, before, after;

	for (long i = 0; i < opt.warm_up; i++)
		exchange();
	sent = got = 0;
	app_seconds = 0;
	began = after = now();
	do {
		before = after;
		exchange();
		after = now();
		note(after - before);
	} while ((long)times_len < opt.count || after - began < opt.seconds);
	print_result(after - began);
}

static void
usage(void)
{
	errx(2,
		"usage: drive [-k] [-r] [-b BYTES] [-e BYTES] [-n COUNT] "
		"[-s SECONDS] [-w COUNT] PORT PATH");
}

static void
read_options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "krb:e:n:s:w:")) != -1)
		switch (c) {
		case 'k':
			opt.keep = true;
			break;
		case 'r':
			opt.received = true;
			break;
		case 'b':
			opt.body = atoll(optarg);
			break;
		case 'e':
			opt.expect = atoll(optarg);
			break;
		case 'n':
			opt.count = atol(optarg);
			break;
		case 's':
			opt.seconds = atof(optarg);
			break;
		case 'w':
			opt.warm_up = atol(optarg);
			break;
		default:
			usage();
		}
	if (argc - optind != 2)
		usage();
	opt.port = atoi(argv[optind]);
	opt.path = argv[optind + 1];
}

int
main(int argc, char **argv)
{
	char length[48] = "";

	read_options(argc, argv);
	if (opt.body > 0)
		snprintf(length, sizeof(length), "Content-Length: %lld\r\n",
			opt.body);
	snprintf(request, sizeof(request),
		"%s %s HTTP/1.1\r\nHost: localhost\r\n%s%s\r\n",
		opt.body > 0 ? "POST" : "GET", opt.path, length,
		opt.keep ? "" : "Connection: close\r\n");
	memset(out, 'x', sizeof(out));
	run();
	return 0;
}
