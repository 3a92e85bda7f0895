/*
 * allow.c -- a list of peers: addresses, networks, `*` (anybody), `unix`.
 *
 * Numeric addresses only: a name would be asked for at every look.
 */
#include "base/allow.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#define V4_BITS 96 /* of the prefix ::ffff:0:0/96 before an IPv4 address */

int
allow_read_ip(struct str text, unsigned char ret_ip[16])
{
	char z[INET6_ADDRSTRLEN];

	if (text.len == 0 || text.len >= sizeof(z) ||
		memchr(text.p, '\0', text.len))
		return -1;
	memcpy(z, text.p, text.len);
	z[text.len] = '\0';
	if (inet_pton(AF_INET6, z, ret_ip) == 1)
		return 0;
	memset(ret_ip, 0, 10);
	memset(ret_ip + 10, 0xff, 2);
	return inet_pton(AF_INET, z, ret_ip + 12) == 1 ? 0 : -1;
}

static bool
is_v4(struct str text)
{
	return !memchr(text.p, ':', text.len);
}

/* Are the first `bits` bits of a and b the same? */
static bool
same_bits(const unsigned char *a, const unsigned char *b, int bits)
{
	int whole = bits / 8, rest = bits % 8;

	if (memcmp(a, b, whole) != 0)
		return false;
	return rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

/* Is nothing set behind the first `bits` bits? */
static bool
ends_at(const unsigned char *net, int bits)
{
	for (int i = bits; i < 128; i++) {
		if (net[i / 8] & (0x80 >> i % 8))
			return false;
	}
	return true;
}

static int
read_net(struct str text, struct allow_entry *e, const char **ret_why)
{
	struct str ip;
	uint64_t n;

	if (!str_cut(&text, '/', &ip) || allow_read_ip(ip, e->net) == -1) {
		*ret_why = "not an address, a network, '*' or 'unix'";
		return -1;
	}
	n = is_v4(ip) ? 32 : 128;
	if (text.p &&
		(str_to_u64(text, &n) == -1 || n > (is_v4(ip) ? 32 : 128))) {
		*ret_why = "the network's prefix length is out of range";
		return -1;
	}
	e->kind = ALLOW_NET;
	e->bits = (int)n + (is_v4(ip) ? V4_BITS : 0);
	if (!ends_at(e->net, e->bits)) {
		*ret_why = "the address has bits set behind its prefix length";
		return -1;
	}
	return 0;
}

int
allow_read(struct str text, struct allow_entry *ret_entry, const char **ret_why)
{
	struct allow_entry e = {ALLOW_ANY, {0}, 0};

	if (str_eq(text, STR("unix")))
		e.kind = ALLOW_UNIX;
	else if (!str_eq(text, STR("*")) && read_net(text, &e, ret_why) == -1)
		return -1;
	*ret_entry = e;
	return 0;
}

static bool
has(const struct allow *a, enum allow_kind kind)
{
	for (size_t i = 0; i < a->n; i++) {
		if (a->v[i].kind == kind)
			return true;
	}
	return false;
}

bool
allow_has_ip(const struct allow *a, const unsigned char ip[16])
{
	for (size_t i = 0; i < a->n; i++) {
		const struct allow_entry *e = &a->v[i];

		if (e->kind == ALLOW_NET && same_bits(e->net, ip, e->bits))
			return true;
	}
	return has(a, ALLOW_ANY);
}

bool
allow_has_peer(const struct allow *a, const struct sockaddr *sa)
{
	unsigned char ip[16] = {[10] = 0xff, [11] = 0xff};

	switch (sa->sa_family) {
	case AF_INET6:
		memcpy(ip, &((const struct sockaddr_in6 *)sa)->sin6_addr, 16);
		return allow_has_ip(a, ip);
	case AF_INET:
		memcpy(ip + 12, &((const struct sockaddr_in *)sa)->sin_addr, 4);
		return allow_has_ip(a, ip);
	default:
		return has(a, ALLOW_UNIX) || has(a, ALLOW_ANY);
	}
}
