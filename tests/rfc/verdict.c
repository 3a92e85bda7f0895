/*
 * verdict.c -- did the server answer what came as the second reader reads it?
 *
 * Each good request has one response, which says what the request was; what is
 * no request is refused, and after a refusal nothing is answered any more.
 */
#include "rfc/verdict.h"

#include <stdio.h>

#include "wire.h"

static bool
is_status(const struct wire_message *m, char first)
{
	return m->head[9] == first;
}

static const char *
check_refusal(struct wire *got, const struct reading *r)
{
	struct wire_message m;
	const char *wrong = NULL;
	struct wire again = *got;

	/* To HEAD there is no body, if its head was good enough to know. */
	if (!wire_read(got, false, &m))
		return "no response where a refusal is due";
	if (!m.complete && r->head_only) {
		wire_free(&m);
		*got = again;
		if (!wire_read(got, true, &m))
			return "no refusal of HEAD";
	}
	if (!is_status(&m, '4') && !is_status(&m, '5'))
		wrong = "served, but it is no good request";
	else if (!wire_field_is(&m, "Connection", "close"))
		wrong = "refused without Connection: close";
	else if (!m.complete)
		wrong = "a refusal cut short";
	else if (got->n > 0)
		wrong = "something behind a refusal";
	wire_free(&m);
	return wrong;
}

static const char *
check_told(const struct wire_message *m, const struct reading *r)
{
	bool close = wire_field_is(m, "Connection", "close");

	if (!is_status(m, '2'))
		return "refused, but it is a good request";
	if (!m->complete)
		return "a response cut short";
	if (!r->head_only &&
		(m->body_len != r->told_len ||
			memcmp(m->body, r->told, r->told_len) != 0))
		return "another request was served";
	if (close != r->close)
		return close ? "closed, but the client wants to go on"
			     : "not closed as the client wants it";
	return NULL;
}

static const char *
check_answer(struct wire *got, const struct reading *r)
{
	struct wire_message m;
	const char *wrong;

	if (!wire_read(got, r->head_only, &m))
		return "no response";
	wrong = check_told(&m, r);
	wire_free(&m);
	return wrong;
}

/* An interim response is no answer. */
static void
skip_continue(struct wire *got)
{
	static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";

	if (got->n >= strlen(line) && !memcmp(got->p, line, strlen(line)))
		wire_skip(got, strlen(line));
}

static const char *
check_one(struct wire *got, const struct reading *r)
{
	struct wire again = *got;
	const char *wrong = NULL;

	skip_continue(got);
	if (got->n < again.n && !r->expects)
		return "100 Continue for nobody";
	switch (r->kind) {
	case READING_GOOD:
		wrong = check_answer(got, r);
		break;
	case READING_NOTHING:
		break;
	default:
		wrong = check_refusal(got, r);
	}
	if (!wrong || !r->over)
		return wrong;
	*got = again;
	skip_continue(got);
	return check_refusal(got, r);
}

const char *
verdict(const char *sent, size_t n, const char *got, size_t got_len,
	const struct reader_limits *limits)
{
	struct wire w = {got, got_len};
	const char *wrong;
	struct reading r;
	bool more;

	do {
		reader_read(sent, n, limits, &r);
		wrong = check_one(&w, &r);
		more = r.kind == READING_GOOD && !r.close &&
			!(r.over && w.n == 0);
		sent += r.used;
		n -= r.used;
		reading_done(&r);
	} while (more && !wrong);
	if (!wrong && w.n > 0)
		wrong = "answered more than there is";
	return wrong;
}
