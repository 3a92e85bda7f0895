/*
 * forwarded.c -- what a trusted proxy says of its client.
 *
 * X-Forwarded-Proto gives the scheme; the older X-Forwarded-Protocol and
 * X-Forwarded-Ssl are not believed, but where they contradict it somebody has
 * smuggled one past the proxy, and the request is refused.
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

/* A word that means one of the two schemes; false if it means neither. */
static bool
scheme_of(struct str word, struct str yes, struct str no, struct str *ret)
{
	if (str_eq_nocase(word, yes))
		*ret = HTTPS;
	else if (str_eq_nocase(word, no))
		*ret = HTTP;
	else
		return false;
	return true;
}

/* All elements of one field agree with *scheme, or give it if it is empty. */
static bool
agree(struct str list, struct str yes, struct str no, struct str *scheme)
{
	struct str word, said;

	while (cut_last(&list, &word)) {
		if (!scheme_of(word, yes, no, &said))
			continue;
		if (scheme->len && !str_eq(*scheme, said))
			return false;
		*scheme = said;
	}
	return true;
}

static int
read_scheme(const struct head *head, struct str *ret_scheme)
{
	struct str proto = {NULL, 0}, others;

	for (size_t i = 0; i < head->nfields; i++) {
		const struct field *f = &head->fields[i];

		if (str_eq_nocase(f->name, STR("X-Forwarded-Proto")) &&
			!agree(f->value, HTTPS, HTTP, &proto))
			return 400;
	}
	others = proto;
	for (size_t i = 0; i < head->nfields; i++) {
		const struct field *f = &head->fields[i];

		if (str_eq_nocase(f->name, STR("X-Forwarded-Protocol")) &&
			!agree(f->value, STR("ssl"), HTTP, &others))
			return 400;
		if (str_eq_nocase(f->name, STR("X-Forwarded-Ssl")) &&
			!agree(f->value, STR("on"), STR("off"), &others))
			return 400;
	}
	if (proto.len)
		*ret_scheme = proto;
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
	const struct head *head, struct forwarded *ret)
{
	*ret = (struct forwarded){HTTP, {NULL, 0}, 0};
	if (!allow_has_peer(trusted, peer))
		return 0;
	read_addr(trusted, head, ret);
	return read_scheme(head, &ret->scheme);
}
