/*
 * listener.c -- make, adopt, change and close listening sockets.
 *
 * Who listens on what, and for how long, is the master's to decide; accepting
 * is the workers'.
 *
 * Always: l->fd is -1 or listens.  A path in the file system is removed only
 * while it still is the inode that our bind() made.
 */
#include "proc/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

#define RETRY_MS 100
#define GUARD_RETRY_MS 10
#define GUARD_TRIES 100

static bool
is_unix(const struct addr *a)
{
	return a->kind == ADDR_UNIX;
}

static void
set_option(int fd, int level, int name, int value)
{
	(void)!setsockopt(fd, level, name, &value, sizeof(value));
}

static int
get_option(int fd, int level, int name)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, level, name, &value, &len) == -1 ? -1 : value;
}

static const char *
unix_path(const struct listener *l)
{
	return ((const struct sockaddr_un *)&l->addr.sa)->sun_path;
}

/* As it was bound: with the port the kernel chose, if it did. */
static void
set_text(struct listener *l, const struct addr *a)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	const char *bound = NULL;
	struct arena tmp;

	snprintf(l->text, sizeof(l->text), "%s", a->text);
	if (is_unix(a) || arena_init(&tmp, 512) == -1)
		return;
	if (getsockname(l->fd, (struct sockaddr *)&sa, &len) == 0)
		bound = addr_text((struct sockaddr *)&sa, len, &tmp);
	if (bound != NULL && a->kind == ADDR_FD)
		snprintf(l->text, sizeof(l->text), "%s (%s)", a->text, bound);
	else if (bound != NULL)
		snprintf(l->text, sizeof(l->text), "%s", bound);
	arena_done(&tmp);
}

static int
adopt(struct listener *l, const struct addr *a, char *why)
{
	if (get_option(a->fd, SOL_SOCKET, SO_TYPE) != SOCK_STREAM ||
		get_option(a->fd, SOL_SOCKET, SO_ACCEPTCONN) != 1) {
		snprintf(why, LISTENER_WHY_MAX, "Not a listening socket");
		errno = ENOTSOCK;
		return -1;
	}
	if (fd_set_cloexec(a->fd, true) == -1 ||
		fd_set_nonblock(a->fd, true) == -1) {
		snprintf(why, LISTENER_WHY_MAX, "%s", strerror(errno));
		return -1;
	}
	l->fd = a->fd;
	l->inherited = true;
	if (get_option(l->fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP)
		set_option(l->fd, IPPROTO_TCP, TCP_NODELAY, 1);
	return 0;
}

static int
make_socket(const struct addr *a)
{
	int fd = socket(
		a->sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd == -1 || is_unix(a))
		return fd;
	set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (a->sa.ss_family == AF_INET6)
		set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	return fd;
}

/*
 * Remove what a server that is gone has left behind.  Anything but a refused
 * connection means that somebody may still want the path.
 */
static int
clear_stale_path(const struct addr *a)
{
	const char *path = ((const struct sockaddr_un *)&a->sa)->sun_path;
	struct stat st;
	int fd, r = -1;

	if (lstat(path, &st) == -1)
		return errno == ENOENT ? 0 : -1;
	if (!S_ISSOCK(st.st_mode)) {
		errno = EEXIST;
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return -1;
	if (connect(fd, (const struct sockaddr *)&a->sa, a->len) == 0 ||
		errno == EAGAIN || errno == EPROTOTYPE)
		errno = EADDRINUSE;
	else if (errno == ECONNREFUSED)
		r = unlink(path);
	fd_close(&fd);
	return r;
}

/*
 * Of two servers that start at a time one could take the other's socket for a
 * dead one, between its bind() and its listen().  So they do it one by one.
 * Who cannot have the lock goes on without: a stranger may hold it for ever.
 */
static int
guard_folder(const struct addr *a)
{
	const char *path = ((const struct sockaddr_un *)&a->sa)->sun_path;
	const char *slash = strrchr(path, '/');
	char folder[sizeof(struct sockaddr_un)] = ".";
	int fd;

	if (slash != NULL)
		snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - path),
			path);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; fd != -1 && i < GUARD_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			break;
		poll(NULL, 0, GUARD_RETRY_MS);
	}
	return fd;
}

static bool
is_inode(const struct listener *l, const struct stat *st)
{
	return l->inode != 0 && st->st_ino == l->inode &&
		st->st_dev == l->inode_dev;
}

static bool
path_is_ours(const struct listener *l)
{
	struct stat st;

	return is_unix(&l->addr) && lstat(unix_path(l), &st) == 0 &&
		is_inode(l, &st);
}

/* Only a fresh socket has one name: with more it is somebody else's too. */
static void
note_inode(struct listener *l)
{
	struct stat st;

	if (lstat(unix_path(l), &st) == -1 || !S_ISSOCK(st.st_mode) ||
		st.st_nlink != 1)
		return;
	l->inode_dev = st.st_dev;
	l->inode = st.st_ino;
}

/* By descriptor: what has the name may change while we look. */
static int
set_owner(const struct listener *l, const struct account *owner)
{
	int fd = open(unix_path(l), O_PATH | O_NOFOLLOW | O_CLOEXEC), r = -1;
	struct stat st;

	if (fd == -1 || fstat(fd, &st) == -1)
		goto out;
	errno = ESTALE;
	if (is_inode(l, &st))
		r = fchownat(fd, "", owner->uid, owner->gid, AT_EMPTY_PATH);
out:
	fd_close(&fd);
	return r;
}

static void
set_mode(const struct listener *l, int mode)
{
	int fd = open(unix_path(l), O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	char name[40];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (fd != -1 && fstat(fd, &st) == 0 && is_inode(l, &st))
		(void)!chmod(name, (mode_t)mode);
	fd_close(&fd);
}

/* The mode is there from the first moment: bind() honours the umask. */
static int
bind_unix(struct listener *l, int fd, const struct listener_options *o)
{
	const struct addr *a = &l->addr;
	mode_t old;
	int r;

	if (clear_stale_path(a) == -1)
		return -1;
	old = umask(0777 & ~(mode_t)o->unix_mode);
	r = bind(fd, (const struct sockaddr *)&a->sa, a->len);
	umask(old);
	if (r == -1)
		return -1;
	note_inode(l);
	if (!o->unix_owner.is_set)
		return 0;
	r = set_owner(l, &o->unix_owner);
	if (r == -1 && path_is_ours(l))
		unlink(unix_path(l));
	return r;
}

/*
 * SO_REUSEPORT on both sockets makes the kernel accept an overlap, at bind()
 * and again at listen(), and it may be switched on after the old one was
 * bound.  It must not stay: an address in use would no longer be noticed.
 * (The kernel remembers it for the port, so another process of this user that
 * asks for SO_REUSEPORT as well could still join; one that does not is
 * refused.)
 */
static int
bind_and_listen(struct listener *l, const struct addr *a,
	const struct listener_options *o)
{
	int guard = is_unix(a) ? guard_folder(a) : -1;
	int fd = make_socket(a), r = -1;

	if (fd == -1)
		goto out;
	if (o->overlap)
		set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (is_unix(a))
		r = bind_unix(l, fd, o);
	else
		r = bind(fd, (const struct sockaddr *)&a->sa, a->len);
	if (r == -1)
		goto out;
	r = listen(fd, o->backlog);
	if (r == -1)
		goto out;
	if (o->overlap)
		set_option(fd, SOL_SOCKET, SO_REUSEPORT, 0);
	l->fd = fd;
	fd = -1;
out:
	fd_close(&fd);
	fd_close(&guard);
	return r;
}

void
listener_allow_overlap(struct listener *l, bool on)
{
	if (on)
		l->reuse_port = get_option(l->fd, SOL_SOCKET, SO_REUSEPORT);
	set_option(l->fd, SOL_SOCKET, SO_REUSEPORT, on || l->reuse_port == 1);
}

static int
bind_patiently(struct listener *l, const struct addr *a,
	const struct listener_options *o)
{
	int64_t until = clock_ms() + o->patience_ms;

	while (bind_and_listen(l, a, o) == -1) {
		if (errno != EADDRINUSE || is_unix(a) || clock_ms() >= until)
			return -1;
		poll(NULL, 0, RETRY_MS);
	}
	return 0;
}

static void
start(struct listener *l, const struct addr *a)
{
	memset(l, 0, sizeof(*l));
	l->addr = *a;
	l->addr.text = NULL; /* it goes with its configuration */
	l->fd = -1;
}

int
listener_open(struct listener *l, const struct addr *a,
	const struct listener_options *o, char *why)
{
	start(l, a);
	if (a->kind == ADDR_FD) {
		if (adopt(l, a, why) == -1)
			return -1;
	} else if (bind_patiently(l, a, o) == -1) {
		snprintf(why, LISTENER_WHY_MAX, "%s", strerror(errno));
		return -1;
	}
	set_text(l, a);
	return 0;
}

void
listener_set_backlog(struct listener *l, int backlog)
{
	if (!l->inherited)
		(void)!listen(l->fd, backlog);
}

void
listener_set_unix(struct listener *l, const struct listener_options *o)
{
	if (!is_unix(&l->addr))
		return;
	if (o->unix_owner.is_set)
		(void)!set_owner(l, &o->unix_owner);
	set_mode(l, o->unix_mode);
}

/*
 * A queue of length 0 still takes one connection in, perhaps just after the
 * last worker looked, and closing the socket would reset it.  So the first
 * packet of a new connection is dropped before the kernel answers it.
 */
static void
drop_syn(int fd)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13), /* TCP's flags */
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x12), /* ACK, SYN */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x02, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0), /* only SYN: drop */
		BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
	};
	struct sock_fprog prog = {sizeof(code) / sizeof(code[0]), code};

	(void)!setsockopt(
		fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

void
listener_shut(struct listener *l)
{
	if (l->fd == -1 || l->inherited)
		return;
	if (path_is_ours(l))
		unlink(unix_path(l));
	if (l->addr.kind == ADDR_TCP) {
		drop_syn(l->fd);
		/* Workers drain their copies: let the address come back. */
		set_option(l->fd, SOL_SOCKET, SO_REUSEPORT, 1);
	}
	(void)!listen(l->fd, 0);
}

bool
listener_queue(const struct listener *l, int *ret_waiting, int *ret_max)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	if (getsockopt(l->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == -1)
		return false;
	/* of a listening socket these two mean its queue */
	*ret_waiting = (int)info.tcpi_unacked;
	*ret_max = (int)info.tcpi_sacked;
	return true;
}

void
listener_close(struct listener *l, bool unlink_path)
{
	if (l->fd != -1 && unlink_path && path_is_ours(l))
		unlink(unix_path(l));
	fd_close(&l->fd);
}

/* What it is bound to; the port may have been 0 in the configuration. */
static struct addr
bound_to(const struct listener *l)
{
	struct addr a = l->addr;

	a.len = sizeof(a.sa);
	if (getsockname(l->fd, (struct sockaddr *)&a.sa, &a.len) == -1)
		a = l->addr;
	if (a.sa.ss_family != AF_UNIX)
		a.kind = ADDR_TCP;
	return a;
}

bool
listener_serves(const struct listener *l, const struct addr *a)
{
	struct addr b;

	if (l->addr.kind == ADDR_FD || a->kind == ADDR_FD)
		return l->addr.kind == a->kind && l->addr.fd == a->fd;
	if (is_unix(a) && !path_is_ours(l))
		return false;
	if (addr_eq(&l->addr, a))
		return true;
	b = bound_to(l);
	return !is_unix(a) && addr_eq(&b, a);
}

bool
listener_overlaps(const struct listener *l, const struct addr *a)
{
	struct addr b;

	if (l->fd == -1 || a->kind != ADDR_TCP || is_unix(&l->addr))
		return false;
	b = bound_to(l);
	return b.kind == ADDR_TCP && addr_overlaps(&b, a);
}

static bool
is_any(const struct addr *a)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a->sa;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a->sa;

	if (a->sa.ss_family == AF_INET)
		return v4->sin_addr.s_addr == htonl(INADDR_ANY);
	return a->sa.ss_family == AF_INET6 &&
		IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
}

bool
listener_is_within(const struct listener *l, const struct addr *a)
{
	struct addr b = bound_to(l);

	return listener_overlaps(l, a) && is_any(a) &&
		b.sa.ss_family == a->sa.ss_family;
}
