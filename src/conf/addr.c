/*
 * addr.c -- one address to listen on.
 *
 * The one place that resolves names.  Forms that have two readings elsewhere
 * (a bare port, 127.1, a v6 address without brackets) are refused, with the
 * right form in the reason.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "conf/addr.h"

static int
refuse(const char **ret_why, const char *why)
{
	*ret_why = why ? why : "out of memory";
	return -1;
}

const char *
addr_text(const struct sockaddr *sa, socklen_t len, struct arena *a)
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)sa;
	char host[NI_MAXHOST], port[NI_MAXSERV];
	size_t n;

	if (sa->sa_family == AF_UNIX) {
		n = len - offsetof(struct sockaddr_un, sun_path);
		if (n && !un->sun_path[0])
			return arena_printf(
				a, "unix:@%.*s", (int)n - 1, un->sun_path + 1);
		return arena_printf(a, "unix:%.*s",
			(int)strnlen(un->sun_path, n), un->sun_path);
	}
	if (getnameinfo(sa, len, host, sizeof(host), port, sizeof(port),
		    NI_NUMERICHOST | NI_NUMERICSERV))
		return arena_strdup(a, "unknown");
	return arena_printf(
		a, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

static int
read_unix(struct str path, struct arena *a, struct addr *out,
	const char **ret_why)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&out->sa;

	if (!path.len)
		return refuse(ret_why, "has no path");
	if (path.len >= sizeof(un->sun_path))
		return refuse(ret_why,
			arena_printf(a, "is a path of more than %zu bytes",
				sizeof(un->sun_path) - 1));
	*out = (struct addr){.kind = ADDR_UNIX, .fd = -1};
	un->sun_family = AF_UNIX;
	memcpy(un->sun_path, path.p, path.len);
	out->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
		path.len + 1);
	out->text = arena_printf(a, "unix:%.*s", STR_ARG(path));
	return out->text ? 1 : refuse(ret_why, NULL);
}

static int
read_fd(struct str number, struct arena *a, struct addr *out,
	const char **ret_why)
{
	uint64_t fd;

	if (str_to_u64(number, &fd) == -1 || fd > 1 << 20)
		return refuse(ret_why, "names no descriptor (fd:N)");
	*out = (struct addr){.kind = ADDR_FD, .fd = (int)fd};
	out->text = arena_printf(a, "fd:%d", out->fd);
	return out->text ? 1 : refuse(ret_why, NULL);
}

/* Split host:port or [v6]:port, and say what is wrong with it if it is not. */
static const char *
split(struct str text, struct str *ret_host, struct str *ret_port)
{
	const char *colon = memrchr(text.p, ':', text.len);
	struct str host;

	if (!colon || (text.p[text.len - 1] == ']' && text.p[0] == '['))
		return "has no port (HOST:PORT)";
	host = (struct str){text.p, (size_t)(colon - text.p)};
	*ret_port = (struct str){
		colon + 1, text.len - (size_t)(colon + 1 - text.p)};
	if (!host.len)
		return "has no host (0.0.0.0:PORT is every IPv4 address)";
	if (host.p[0] == '[') {
		if (host.p[host.len - 1] != ']')
			return "has no port behind its bracket ([V6]:PORT)";
		host = (struct str){host.p + 1, host.len - 2};
	} else if (memchr(host.p, ':', host.len)) {
		return "is an IPv6 address without brackets ([V6]:PORT)";
	}
	*ret_host = host;
	return NULL;
}

/* A number, never a name, though it need not be a good one. */
static bool
is_dotted(const char *host)
{
	return host[strspn(host, "0123456789.")] == '\0';
}

static bool
is_quad(const char *host)
{
	struct in_addr in;

	return inet_pton(AF_INET, host, &in) == 1;
}

static int
resolve(const char *host, const char *port, bool v6, struct addrinfo **ret_list)
{
	struct addrinfo want = {
		.ai_family = v6 ? AF_INET6 : AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
	};
	int err;

	if (v6 || is_dotted(host)) {
		want.ai_flags |= AI_NUMERICHOST;
		return getaddrinfo(host, port, &want, ret_list);
	}
	/*
	 * Without AI_ADDRCONFIG localhost would be ::1 too on a machine that
	 * has no IPv6; with it localhost is nothing on one without a network.
	 */
	want.ai_flags |= AI_ADDRCONFIG;
	err = getaddrinfo(host, port, &want, ret_list);
	if (!err)
		return 0;
	want.ai_flags &= ~AI_ADDRCONFIG;
	return getaddrinfo(host, port, &want, ret_list);
}

static bool
is_mapped(const struct sockaddr *sa)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;

	return sa->sa_family == AF_INET6 &&
		IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr);
}

/* Add it to out[0 .. n) unless it is there already; -1 as addr_read(). */
static int
add(const struct addrinfo *ai, struct arena *a, struct addr *out, int n,
	int max, const char **ret_why)
{
	struct addr new = {.kind = ADDR_TCP, .fd = -1, .len = ai->ai_addrlen};

	memcpy(&new.sa, ai->ai_addr, ai->ai_addrlen);
	for (int i = 0; i < n; i++)
		if (addr_eq(&out[i], &new))
			return n;
	if (is_mapped(ai->ai_addr))
		return refuse(ret_why, "is an IPv4 address in IPv6 clothes");
	if (n == max)
		return refuse(ret_why, "makes more addresses than can be had");
	new.text = addr_text(ai->ai_addr, ai->ai_addrlen, a);
	if (!new.text)
		return refuse(ret_why, NULL);
	out[n] = new;
	return n + 1;
}

static int
read_tcp(struct str text, struct arena *a, struct addr *out, int max,
	const char **ret_why)
{
	struct addrinfo *list, *ai;
	struct str host, port;
	const char *why, *z;
	char digits[8];
	uint64_t number;
	int err, n = 0;

	why = split(text, &host, &port);
	if (why)
		return refuse(ret_why, why);
	if (str_to_u64(port, &number) == -1 || number > 65535)
		return refuse(ret_why,
			"has no port from 0 to 65535 behind its colon");
	z = arena_dup(a, host).p;
	if (!z)
		return refuse(ret_why, NULL);
	if (is_dotted(z) && !is_quad(z))
		return refuse(ret_why, "is no IPv4 address");
	snprintf(digits, sizeof(digits), "%u", (unsigned)number);
	err = resolve(z, digits, text.p[0] == '[', &list);
	if (err)
		return refuse(ret_why,
			arena_printf(a, "cannot be resolved: %s",
				err == EAI_SYSTEM ? strerror(errno)
						  : gai_strerror(err)));
	for (ai = list; ai && n != -1; ai = ai->ai_next)
		n = add(ai, a, out, n, max, ret_why);
	freeaddrinfo(list);
	return n;
}

int
addr_read(struct str text, struct arena *a, struct addr *out, int max,
	const char **ret_why)
{
	static const struct str un = STR("unix:"), fd = STR("fd:");

	if (!text.len)
		return refuse(ret_why, "is empty");
	if (max < 1)
		return refuse(ret_why, "makes more addresses than can be had");
	if (memchr(text.p, '\0', text.len))
		return refuse(ret_why, "has a NUL in it");
	if (str_starts(text, un))
		return read_unix(str_skip(text, un.len), a, out, ret_why);
	if (str_starts(text, fd))
		return read_fd(str_skip(text, fd.len), a, out, ret_why);
	return read_tcp(text, a, out, max, ret_why);
}

static bool
tcp_eq(const struct addr *a, const struct addr *b)
{
	const struct sockaddr_in *a4 = (const void *)&a->sa;
	const struct sockaddr_in *b4 = (const void *)&b->sa;
	const struct sockaddr_in6 *a6 = (const void *)&a->sa;
	const struct sockaddr_in6 *b6 = (const void *)&b->sa;

	if (a->sa.ss_family != b->sa.ss_family)
		return false;
	if (a->sa.ss_family == AF_INET)
		return a4->sin_port == b4->sin_port &&
			a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a6->sin6_port == b6->sin6_port &&
		a6->sin6_scope_id == b6->sin6_scope_id &&
		IN6_ARE_ADDR_EQUAL(&a6->sin6_addr, &b6->sin6_addr);
}

bool
addr_eq(const struct addr *a, const struct addr *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case ADDR_FD:
		return a->fd == b->fd;
	case ADDR_UNIX:
		return !strcmp(((const struct sockaddr_un *)&a->sa)->sun_path,
			((const struct sockaddr_un *)&b->sa)->sun_path);
	case ADDR_TCP:
		return tcp_eq(a, b);
	}
	return false;
}

static bool
is_any(const struct addr *a)
{
	const struct sockaddr_in *a4 = (const void *)&a->sa;
	const struct sockaddr_in6 *a6 = (const void *)&a->sa;

	return a->sa.ss_family == AF_INET
		? a4->sin_addr.s_addr == htonl(INADDR_ANY)
		: IN6_IS_ADDR_UNSPECIFIED(&a6->sin6_addr);
}

/* sin_port and sin6_port are in the same place */
static in_port_t
port_of(const struct addr *a)
{
	return ((const struct sockaddr_in *)&a->sa)->sin_port;
}

bool
addr_overlaps(const struct addr *a, const struct addr *b)
{
	if (a->kind != b->kind || a->kind == ADDR_FD)
		return false;
	if (a->kind == ADDR_UNIX)
		return addr_eq(a, b);
	if (a->sa.ss_family != b->sa.ss_family || !port_of(a) ||
		port_of(a) != port_of(b))
		return false;
	return is_any(a) || is_any(b) || tcp_eq(a, b);
}
