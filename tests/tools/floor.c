/*
 * floor.c -- the least that can answer a request: what a server takes beyond
 * this is its own doing.
 *
 *	floor PORT hello | upload | piece | chunks N | echo N | file PATH
 *
 * One process, one epoll set.  Of a head it looks for the end, for a
 * Content-Length and for `Connection: close`, as the benchmarks' clients spell
 * them; nothing is checked, no limit kept, and a slow client holds everybody.
 * N is what outgoing-body-buffer-chunks is to narwhal: a chunk more than N
 * sends what waits.
 */
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK 1024
#define CHUNKS 1024 /* of a response */
#define FRAME 16 /* room for a chunk's size line and ends */
#define BLOCK (64 * 1024)
#define OK "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"

/* Head and body bytes as they came, NUL-terminated for strstr. */
static char in[BLOCK + 1];
static size_t in_len;

static char *out; /* chunks that wait */
static size_t out_len;
static int waiting, most_waiting;

static char piece[CHUNK * CHUNKS];
static const char *path;

/* ---- sending ---- */

/* Each returns false when the client is gone. */
static bool
send_all(int fd, const char *p, size_t n, int flags)
{
	ssize_t sent;

	for (; n > 0; p += sent, n -= (size_t)sent) {
		sent = send(fd, p, n, flags);
		if (sent <= 0)
			return false;
	}
	return true;
}

static bool
send_text(int fd, const char *text, int flags)
{
	return send_all(fd, text, strlen(text), flags);
}

static void
put(const char *p, size_t n)
{
	memcpy(out + out_len, p, n);
	out_len += n;
}

static void
put_text(const char *text)
{
	put(text, strlen(text));
}

static bool
send_waiting(int fd)
{
	bool good = send_all(fd, out, out_len, 0);

	out_len = 0;
	waiting = 0;
	return good;
}

static bool
put_chunk(int fd, const char *p, size_t n)
{
	char line[FRAME];

	put(line, (size_t)snprintf(line, sizeof(line), "%zx\r\n", n));
	put(p, n);
	put_text("\r\n");
	return ++waiting <= most_waiting || send_waiting(fd);
}

static void
begin_chunks(void)
{
	put_text(OK "Transfer-Encoding: chunked\r\n\r\n");
}

static bool
end_chunks(int fd)
{
	put_text("0\r\n\r\n");
	return send_waiting(fd);
}

/* ---- receiving ---- */

static bool
receive(int fd, char *p, size_t max, size_t *ret_n)
{
	ssize_t n = recv(fd, p, max, 0);

	*ret_n = n > 0 ? (size_t)n : 0;
	return n > 0;
}

/* Read a head; *ret_body is where in `in` the body begins. */
static bool
receive_head(int fd, size_t *ret_body)
{
	const char *end;
	size_t n;

	in_len = 0;
	do {
		if (!receive(fd, in + in_len, BLOCK - in_len, &n))
			return false;
		in_len += n;
		in[in_len] = '\0';
		end = strstr(in, "\r\n\r\n");
	} while (end == NULL);
	*ret_body = (size_t)(end + 4 - in);
	return true;
}

static size_t
content_length(void)
{
	const char *field = strstr(in, "Content-Length: ");

	return field ? strtoul(field + 16, NULL, 10) : 0;
}

/* ---- the kinds of work ---- */

static bool
hello(int fd, size_t body)
{
	static const char text[] = OK "Content-Length: 13\r\n\r\nHello, World!";

	(void)body;
	return send_all(fd, text, sizeof(text) - 1, 0);
}

static bool
upload(int fd, size_t body)
{
	size_t length = content_length(), got = in_len - body, n;
	char json[80], text[240];

	for (; got < length; got += n)
		if (!receive(fd, in, BLOCK, &n))
			return false;
	snprintf(json, sizeof(json),
		"{\"received_bytes\": %zu, \"process_seconds\": 0}", length);
	snprintf(text, sizeof(text), OK "Content-Length: %zu\r\n\r\n%s",
		strlen(json), json);
	return send_text(fd, text, 0);
}

/* The block just read, in pieces as small as a careless application's. */
static bool
echo_block(int fd, const char *p, size_t n)
{
	size_t part;

	for (; n > 0; p += part, n -= part) {
		part = n < CHUNK ? n : CHUNK;
		if (!put_chunk(fd, p, part))
			return false;
	}
	return true;
}

static bool
echo(int fd, size_t body)
{
	size_t left = content_length(), n = in_len - body;

	begin_chunks();
	if (!echo_block(fd, in + body, n))
		return false;
	for (left -= n; left > 0; left -= n)
		if (!receive(fd, in, BLOCK, &n) || !echo_block(fd, in, n))
			return false;
	return end_chunks(fd);
}

static bool
chunks(int fd, size_t body)
{
	(void)body;
	begin_chunks();
	for (int i = 0; i < CHUNKS; i++)
		if (!put_chunk(fd, piece + i * CHUNK, CHUNK))
			return false;
	return end_chunks(fd);
}

static bool
one_piece(int fd, size_t body)
{
	(void)body;
	return send_text(fd, OK "Content-Length: 1048576\r\n\r\n", MSG_MORE) &&
		send_all(fd, piece, sizeof(piece), 0);
}

static bool
file(int fd, size_t body)
{
	int f = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char head[160];
	ssize_t n = 1;

	(void)body;
	if (f == -1 || fstat(f, &st) == -1)
		err(1, "%s", path);
	snprintf(head, sizeof(head), OK "Content-Length: %lld\r\n\r\n",
		(long long)st.st_size);
	if (send_text(fd, head, MSG_MORE))
		for (off_t at = 0; n > 0 && at < st.st_size;)
			n = sendfile(fd, f, &at, (size_t)(st.st_size - at));
	close(f);
	return n > 0;
}

static const struct work {
	const char *name;
	bool (*answer)(int fd, size_t body);
} works[] = {
	{"hello", hello},
	{"upload", upload},
	{"piece", one_piece},
	{"chunks", chunks},
	{"echo", echo},
	{"file", file},
};

/* ---- connections ---- */

/* One request; false when the connection is at its end. */
static bool
serve(const struct work *w, int fd)
{
	size_t body;
	bool last;

	if (!receive_head(fd, &body))
		return false;
	last = strstr(in, "Connection: close") != NULL; /* before it is gone */
	return w->answer(fd, body) && !last;
}

static void
watch(int ep, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) == -1)
		err(1, "epoll_ctl");
}

/* Its request comes at once: that is what the clients are for. */
static void
take(const struct work *w, int ep, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), on = 1;

	if (fd == -1)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (serve(w, fd))
		watch(ep, fd);
	else
		close(fd);
}

static void
loop(const struct work *w, int listener)
{
	struct epoll_event e;
	int ep = epoll_create1(EPOLL_CLOEXEC);

	watch(ep, listener);
	while (epoll_wait(ep, &e, 1, -1) >= 0)
		if (e.data.fd == listener)
			take(w, ep, listener);
		else if (!serve(w, e.data.fd))
			close(e.data.fd);
	err(1, "epoll_wait");
}

static int
listen_on(int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) == -1 ||
		listen(fd, 2048) == -1)
		err(1, "port %d", port);
	return fd;
}

int
main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN); /* sendfile has no MSG_NOSIGNAL */
	if (argc > 3) {
		path = argv[3];
		most_waiting = atoi(argv[3]);
	}
	out = malloc((size_t)(most_waiting + 2) * (CHUNK + FRAME) + BLOCK);
	memset(piece, 'x', sizeof(piece));
	for (size_t i = 0; argc > 2 && i < sizeof(works) / sizeof(works[0]);
		i++)
		if (strcmp(argv[2], works[i].name) == 0)
			loop(&works[i], listen_on(atoi(argv[1])));
	errx(2,
		"usage: floor PORT hello | upload | piece | chunks N | echo N "
		"| file PATH");
}
