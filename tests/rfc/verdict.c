/*
 * verdict.c -- did the server answer what came as the second reader reads it?
 *
 * Each good request has one response, which says what the request was; what is
 * no request is refused, and after a refusal nothing is answered any more.
 *
 * Where the body is not read, one that breaks off ends the connection without a
 * word, and so may one that a client holds back until it is asked for, since
 * the response may be there first.  Where it is passed through, the response
 * may have begun when the body breaks off, and is then cut; to HTTP/1.0 it ends
 * with the connection.
 */
#include "rfc/verdict.h"

#include <stdio.h>

#include "wire.h"

struct judge {
	struct wire got; /* what is left of it */
	const struct verdict_terms *terms;
	bool ended; /* nothing more is to come */
};

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

/* May its end not be told from a cut? */
static bool
is_until_close(const struct judge *j, const struct reading *r)
{
	return j->terms->body == BODY_PASSED && r->http_1_0 && !r->head_only;
}

static const char *
check_told(const struct wire_message *m, const struct reading *r, size_t len,
	bool whole)
{
	if (!is_status(m, '2'))
		return "refused, but it is a good request";
	if (!m->complete && whole)
		return "a response cut short";
	if (!r->head_only &&
		(m->body_len != len || memcmp(m->body, r->told, len) != 0))
		return "another request was served";
	return NULL;
}

static const char *
check_close(const struct judge *j, const struct reading *r, bool close)
{
	bool may = is_until_close(j, r) ||
		(j->terms->body != BODY_READ &&
			(r->expects || r->kind != READING_GOOD));

	if (close && !r->close && !may)
		return "closed, but the client wants to go on";
	return r->close && !close ? "not closed as the client wants it" : NULL;
}

static const char *
check_answer(struct judge *j, const struct reading *r)
{
	bool unread = j->terms->body == BODY_UNREAD, close;
	size_t len = unread ? r->told_head : r->told_len;
	struct wire_message m;
	const char *wrong;

	if (!wire_read(&j->got, r->head_only, &m))
		return "no response";
	close = wire_field_is(&m, "Connection", "close");
	wrong = check_told(&m, r, len, !close || !is_until_close(j, r));
	if (!wrong)
		wrong = check_close(j, r, close);
	wire_free(&m);
	j->ended = close || r->kind != READING_GOOD ||
		(r->over && unread && j->got.n == 0);
	return wrong;
}

/* An answer that had begun when the body turned out to be broken. */
static const char *
check_cut(struct judge *j, const struct reading *r)
{
	struct wire_message m;
	const char *wrong = NULL;

	if (!wire_read(&j->got, r->head_only, &m))
		return "no response";
	if (!is_status(&m, '2') || j->got.n > 0)
		wrong = "not cut";
	if (m.complete && !r->head_only)
		wrong = "a whole response to a broken request";
	wire_free(&m);
	return wrong;
}

/* An interim response is no answer. */
static const char *
skip_continue(struct judge *j, const struct reading *r)
{
	static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
	const size_t n = strlen(line);

	if (j->got.n < n || memcmp(j->got.p, line, n) != 0)
		return NULL;
	wire_skip(&j->got, n);
	if (!r->expects || j->terms->body == BODY_UNREAD)
		return "100 Continue for nobody";
	return NULL;
}

static const char *
check_one(struct judge *j, const struct reading *r)
{
	const enum verdict_body body = j->terms->body;
	const char *wrong = skip_continue(j, r);
	const struct wire again = j->got;
	bool broken = r->kind == READING_BAD_BODY;

	j->ended = r->kind != READING_GOOD;
	if (wrong || (r->kind == READING_NOTHING && again.n == 0))
		return wrong;
	if (r->kind == READING_GOOD || (broken && body == BODY_UNREAD)) {
		wrong = check_answer(j, r);
		if (!wrong)
			return NULL;
	}
	if (wrong && !broken && !r->over)
		return wrong;
	j->ended = true;
	j->got = again;
	if ((broken || r->over) && body == BODY_PASSED && !check_cut(j, r))
		return NULL;
	j->got = again;
	if (r->kind == READING_NOTHING && !r->over)
		return "answered more than there is";
	return check_refusal(&j->got, r);
}

const char *
verdict(const char *sent, size_t n, const char *got, size_t got_len,
	const struct verdict_terms *terms)
{
	struct judge j = {.got = {got, got_len}, .terms = terms};
	const char *wrong;
	struct reading r;

	do {
		reader_read(sent, n, &terms->limits, &r);
		wrong = check_one(&j, &r);
		sent += r.used;
		n -= r.used;
		reading_done(&r);
	} while (!wrong && !j.ended);
	if (!wrong && j.got.n > 0)
		wrong = "answered more than there is";
	return wrong;
}
