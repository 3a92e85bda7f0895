/*
 * proxy.c -- the PROXY protocol, versions 1 and 2.
 *
 * Whether a header is to be expected, and of whom, is the caller's business.
 * Strict: whoever may send one at all writes it by the letter.
 */
#include "http/proxy.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

const char *const proxy_mode_names[] = {"off", "v1", "v2", "auto", NULL};

/* Does p[0 .. n) begin with the text, as far as it goes? */
static bool
may_begin(const char *p, size_t n, struct str text)
{
	return memcmp(p, text.p, n < text.len ? n : text.len) == 0;
}

/* ---- version 1: a line of text ---- */

#define V1_BEGIN STR("PROXY ")

/* Decimal without a sign or a leading zero. */
static int
read_port(struct str s, int *ret_port)
{
	uint64_t n;

	if (s.len == 0 || s.len > 5 || (s.len > 1 && s.p[0] == '0') ||
		str_to_u64(s, &n) == -1 || n > 65535)
		return -1;
	*ret_port = (int)n;
	return 0;
}

static int
read_ip(struct str s, int family, unsigned char *ret_ip)
{
	char z[INET6_ADDRSTRLEN];

	if (s.len >= sizeof(z) || memchr(s.p, '\0', s.len))
		return -1;
	memcpy(z, s.p, s.len);
	z[s.len] = '\0';
	return inet_pton(family, z, ret_ip) == 1 ? 0 : -1;
}

/* `SOURCE DESTINATION PORT PORT`, parted by one blank each. */
static int
read_addresses(struct str s, int family, struct proxy_source *ret)
{
	unsigned char to[16];
	struct str word[4];
	int i, port;

	for (i = 0; i < 4; i++)
		if (!str_cut(&s, ' ', &word[i]))
			return -1;
	if (s.p || read_ip(word[0], family, ret->ip) == -1 ||
		read_ip(word[1], family, to) == -1 ||
		read_port(word[2], &ret->port) == -1 ||
		read_port(word[3], &port) == -1)
		return -1;
	ret->version = family == AF_INET ? 4 : 6;
	return 0;
}

static int
read_v1_line(struct str s, struct proxy_source *ret)
{
	struct str protocol;

	str_cut(&s, ' ', &protocol);
	if (str_eq(protocol, STR("UNKNOWN")))
		return 0; /* whatever follows */
	if (s.p && str_eq(protocol, STR("TCP4")))
		return read_addresses(s, AF_INET, ret);
	if (s.p && str_eq(protocol, STR("TCP6")))
		return read_addresses(s, AF_INET6, ret);
	return -1;
}

static int
read_v1(const char *p, size_t n, struct proxy_source *ret)
{
	const size_t begin = V1_BEGIN.len;
	size_t max = n < PROXY_V1_MAX ? n : PROXY_V1_MAX;
	const char *end;

	if (!may_begin(p, n, V1_BEGIN))
		return -1;
	end = memchr(p, '\r', max);
	if (memchr(p, '\n', end ? (size_t)(end - p) : max))
		return -1;
	if (!end || end + 1 == p + n)
		return n < PROXY_V1_MAX ? 0 : -1;
	if (end[1] != '\n' || end + 2 > p + PROXY_V1_MAX ||
		read_v1_line((struct str){p + begin, (size_t)(end - p) - begin},
			ret) == -1)
		return -1;
	return (int)(end + 2 - p);
}

/* ---- version 2: binary ---- */

#define V2_BEGIN STR("\r\n\r\n\0\r\nQUIT\n")

enum {
	V2_HEAD = 16, /* signature, command, family, length */
	V2_LOCAL = 0x20,
	V2_PROXY = 0x21,
	V2_UNSPEC = 0x00,
	V2_TCP4 = 0x11,
	V2_TCP6 = 0x21,
	V2_UNIX = 0x31
};

static size_t
be16(const unsigned char *p)
{
	return (size_t)p[0] << 8 | p[1];
}

/* Type, length, value, until nothing is left. */
static bool
are_tlvs(const unsigned char *p, size_t n)
{
	size_t len;

	while (n > 0) {
		if (n < 3 || (len = be16(p + 1)) > n - 3)
			return false;
		p += 3 + len;
		n -= 3 + len;
	}
	return true;
}

/* The addresses at p, of so many bytes each, then both ports. */
static int
read_binary(const unsigned char *p, size_t n, size_t ip_len,
	struct proxy_source *ret)
{
	size_t len = 2 * ip_len + 4;

	if (n < len || !are_tlvs(p + len, n - len))
		return -1;
	memcpy(ret->ip, p, ip_len);
	ret->port = (int)be16(p + 2 * ip_len);
	ret->version = ip_len == 4 ? 4 : 6;
	return 0;
}

static int
read_v2_body(
	int family, const unsigned char *p, size_t n, struct proxy_source *ret)
{
	switch (family) {
	case V2_UNSPEC:
		return 0;
	case V2_TCP4:
		return read_binary(p, n, 4, ret);
	case V2_TCP6:
		return read_binary(p, n, 16, ret);
	case V2_UNIX: /* no address we could show */
		return n >= 216 && are_tlvs(p + 216, n - 216) ? 0 : -1;
	}
	return -1;
}

/* The length of the body, -1 if the fixed part is none of ours. */
static int
read_v2_head(const unsigned char *u)
{
	size_t len = be16(u + 14);

	if (u[12] != V2_LOCAL && u[12] != V2_PROXY)
		return -1;
	return len > PROXY_V2_MAX - V2_HEAD ? -1 : (int)len;
}

static int
read_v2(const char *p, size_t n, struct proxy_source *ret)
{
	const unsigned char *u = (const unsigned char *)p;
	int len;

	if (!may_begin(p, n, V2_BEGIN))
		return -1;
	if (n < V2_HEAD)
		return 0;
	len = read_v2_head(u);
	if (len == -1)
		return -1;
	if (n < V2_HEAD + (size_t)len)
		return 0;
	if (u[12] == V2_PROXY &&
		read_v2_body(u[13], u + V2_HEAD, (size_t)len, ret) == -1)
		return -1;
	return V2_HEAD + len;
}

int
proxy_read(enum proxy_mode mode, const char *p, size_t n,
	struct proxy_source *ret_source)
{
	memset(ret_source, 0, sizeof(*ret_source));
	if (n == 0)
		return 0;
	if (mode == PROXY_AUTO)
		mode = p[0] == 'P' ? PROXY_V1 : PROXY_V2;
	return mode == PROXY_V1 ? read_v1(p, n, ret_source)
				: read_v2(p, n, ret_source);
}
