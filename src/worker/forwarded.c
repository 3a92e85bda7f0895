/*
 * forwarded.c -- what a trusted proxy says of its client.
 *
 * X-Forwarded-Proto gives the scheme.  Where it says both, somebody has smuggled
 * one past the proxy, and the request is refused.  Its older relatives
 * (X-Forwarded-Ssl and the like) mean nothing here.
 *
 * X-Forwarded-For is read from its end, the part the nearest proxy wrote: the
 * first address that is not a trusted proxy's own is the client's.  What
 * stands before it anybody may have written.
 */
#include "worker/forwarded.h"

#define HTTP STR("http")
#define HTTPS STR("https")

/* The next element of a comma list, last first; false when it is used up. */
static bool
cut_last(struct str *list, struct str *ret_element)
{
	size_t at = list->len;

	if (!list->p)
		return false;
	while (at > 0 && list->p[at - 1] != ',')
		at--;
	*ret_element = str_trim((struct str){list->p + at, list->len - at});
	if (at == 0)
		*list = (struct str){NULL, 0};
	else
		list->len = at - 1;
	return true;
}

/* All elements of a field agree with *scheme, or give it if it is empty. */
static bool
agree(struct str list, struct str *scheme)
{
	struct str word, said;

	while (cut_last(&list, &word)) {
		if (str_eq_nocase(word, HTTPS))
			said = HTTPS;
		else if (str_eq_nocase(word, HTTP))
			said = HTTP;
		else
			continue; /* a scheme we do not serve */
		if (scheme->len && !str_eq(*scheme, said))
			return false;
		*scheme = said;
	}
	return true;
}

static int
read_scheme(const struct head *head, struct str *ret_scheme)
{
	struct str scheme = {NULL, 0};

	for (size_t i = 0; i < head->nfields; i++) {
		const struct field *f = &head->fields[i];

		if (str_eq_nocase(f->name, STR("X-Forwarded-Proto")) &&
			!agree(f->value, &scheme))
			return 400;
	}
	if (scheme.len)
		*ret_scheme = scheme;
	return 0;
}

/* `10.0.0.1:80`, `[::1]:80` or `[::1]` without the port and the brackets. */
static struct str
without_port(struct str s, int *ret_port)
{
	struct str addr = s, port = s;
	uint64_t n;

	*ret_port = 0;
	if (str_starts(s, STR("["))) {
		str_cut(&port, ']', &addr);
		addr.p++, addr.len--;
		if (!str_starts(port, STR(":")))
			return addr;
		port.p++, port.len--;
	} else {
		str_cut(&port, ':', &addr);
		if (!port.p)
			return s;
	}
	if (str_to_u64(port, &n) == -1 || n > 65535)
		return s;
	*ret_port = (int)n;
	return addr;
}

/*
 * Go on from the end of one field.  True when the client was found, or when
 * something that is no address ends what can be believed.
 */
static bool
walk(const struct allow *trusted, struct str list, struct forwarded *f)
{
	unsigned char ip[16];
	struct str element;
	int port;

	while (cut_last(&list, &element)) {
		element = without_port(element, &port);
		if (allow_read_ip(element, ip) == -1)
			return true;
		f->addr = element;
		f->port = port;
		if (!allow_has_ip(trusted, ip))
			return true;
	}
	return false;
}

static void
read_addr(const struct allow *trusted, const struct head *head,
	struct forwarded *f)
{
	for (size_t i = head->nfields; i-- > 0;) {
		const struct field *field = &head->fields[i];

		if (str_eq_nocase(field->name, STR("X-Forwarded-For")) &&
			walk(trusted, field->value, f))
			return;
	}
}

int
forwarded_read(const struct allow *trusted, const struct sockaddr *peer,
	const struct head *head, const struct target *target,
	struct forwarded *ret)
{
	*ret = (struct forwarded){HTTP, {NULL, 0}, 0};
	if (!allow_has_peer(trusted, peer))
		return str_eq_nocase(target->scheme, HTTPS) ? 421 : 0;
	read_addr(trusted, head, ret);
	return read_scheme(head, &ret->scheme);
}
