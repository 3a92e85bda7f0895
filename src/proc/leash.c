/*
 * leash.c -- messages between the master and one worker.
 *
 * Neither side believes the other: a packet of the wrong size or with an
 * unknown word is EPROTO, and a descriptor nobody asked for is closed.
 */
#include "proc/leash.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/io.h"

struct packet {
	uint64_t mask;
	uint32_t word;
	uint16_t has_error_fd;
	uint16_t has_access_fd;
};

#define FDS_MAX 2

union control {
	char p[CMSG_SPACE(FDS_MAX * sizeof(int))];
	struct cmsghdr align;
};

int
leash_open(int *ret_master, int *ret_worker)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    0, fds) == -1)
		return -1;
	*ret_master = fds[0];
	*ret_worker = fds[1];
	return 0;
}

static void
attach_fds(struct msghdr *msg, union control *c, const int *fds, size_t n)
{
	struct cmsghdr *cm;

	if (n == 0)
		return;
	memset(c, 0, sizeof(*c));
	msg->msg_control = c->p;
	msg->msg_controllen = CMSG_SPACE(n * sizeof(int));
	cm = CMSG_FIRSTHDR(msg);
	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(cm), fds, n * sizeof(int));
}

int
leash_send(int fd, const struct leash_message *m)
{
	struct packet k = {.word = m->word, .mask = m->mask};
	struct iovec iov = {&k, sizeof(k)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	union control c;
	int fds[FDS_MAX];
	size_t n = 0;
	ssize_t r;

	if (m->word == LEASH_LOGS && m->error_fd != -1) {
		k.has_error_fd = 1;
		fds[n++] = m->error_fd;
	}
	if (m->word == LEASH_LOGS && m->access_fd != -1) {
		k.has_access_fd = 1;
		fds[n++] = m->access_fd;
	}
	attach_fds(&msg, &c, fds, n);
	r = io_sendmsg(fd, &msg, MSG_NOSIGNAL);
	/* Said once of a side that left without having read all. */
	if (r == -1 && errno == ECONNRESET)
		errno = EPIPE;
	return r == -1 ? -1 : 0;
}

void
leash_look(int fd)
{
	const struct leash_message m = {
		.word = LEASH_LOOK, .error_fd = -1, .access_fd = -1};

	if (fd_unsent(fd) == 0)
		leash_send(fd, &m);
}

static size_t
detach_fds(struct msghdr *msg, int *fds)
{
	struct cmsghdr *cm = CMSG_FIRSTHDR(msg);
	size_t n;

	if (cm == NULL || cm->cmsg_level != SOL_SOCKET ||
		cm->cmsg_type != SCM_RIGHTS)
		return 0;
	n = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(cm), n * sizeof(int));
	return n;
}

/* Is it what leash_send() makes?  Then its contents in *m. */
static bool
read_packet(const struct packet *k, size_t len, const int *fds, size_t nfds,
	struct leash_message *m)
{
	size_t n = 0;

	if (len != sizeof(*k) || k->word < LEASH_READY || k->word > LEASH_LOGS)
		return false;
	if (nfds != (size_t) !!k->has_error_fd + !!k->has_access_fd ||
		(nfds > 0 && k->word != LEASH_LOGS))
		return false;
	m->word = k->word;
	m->mask = k->mask;
	if (k->has_error_fd)
		m->error_fd = fds[n++];
	if (k->has_access_fd)
		m->access_fd = fds[n++];
	return true;
}

int
leash_receive(int fd, struct leash_message *m)
{
	struct packet k = {0};
	struct iovec iov = {&k, sizeof(k)};
	union control c;
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = c.p,
		.msg_controllen = sizeof(c.p)};
	int fds[FDS_MAX];
	size_t nfds;
	ssize_t r;

	*m = (struct leash_message){LEASH_EOF, 0, -1, -1};
	r = io_recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	if (r == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 0;
	/* The other side left without having read all: as good as an EOF. */
	if (r == 0 || (r == -1 && errno == ECONNRESET))
		return 1;
	if (r == -1)
		return -1;
	nfds = detach_fds(&msg, fds);
	if (read_packet(&k, (size_t)r, fds, nfds, m))
		return 1;
	while (nfds > 0)
		fd_close(&fds[--nfds]);
	errno = EPROTO;
	return -1;
}
