/*
 * strict.c -- accept or refuse the raw bytes of a request head.
 *
 * A state per part of a line.  A state eats what it may of its part and names
 * the next one; strict_scan() runs them and alone knows the limits, which it
 * judges byte by byte: before a byte is looked at for its line, behind it for
 * the head.  So the verdict does not depend on how the bytes were cut.
 *
 * Long runs of ordinary bytes, in targets and values, are skipped sixteen at a
 * time.  Nothing behind the end of what came is ever read.
 *
 * Host, framing and the form of the target are left to framing.c and target.c.
 */
#include "http/strict.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* In the order of a head; those after IN_LINE wait for an LF or for nothing. */
enum state {
	START, /* empty lines may come before the request line (2.2) */
	METHOD,
	TARGET,
	VERSION,
	FIELD,
	NAME,
	VALUE,
	IN_LINE = VALUE,
	START_LF,
	LINE_LF,
	END_LF,
	DONE,
};

/* tchar of RFC 9110 5.6.2 */
static const bool tchars[256] = {
	['!'] = 1,
	['#' ... '\''] = 1,
	['*'] = 1,
	['+'] = 1,
	['-'] = 1,
	['.'] = 1,
	['0' ... '9'] = 1,
	['A' ... 'Z'] = 1,
	['^' ... 'z'] = 1,
	['|'] = 1,
	['~'] = 1,
};

static bool
is_tchar(char c)
{
	return tchars[(unsigned char)c];
}

static size_t
skip_token(const char *p, size_t i, size_t end)
{
	while (i < end && is_tchar(p[i]))
		i++;
	return i;
}

static bool
is_plain(unsigned char c, unsigned char low)
{
	return c >= low && c != 0x7f;
}

/* The first of p[i .. end) that is below low, or DEL; else end. */
static size_t
skip_plain(const char *p, size_t i, size_t end, unsigned char low)
{
#ifdef __SSE2__
	const __m128i lows = _mm_set1_epi8((char)(low - 1));
	const __m128i dels = _mm_set1_epi8(0x7f);
	__m128i v, bad;

	for (; end - i >= sizeof(v); i += sizeof(v)) {
		v = _mm_loadu_si128((const __m128i *)(p + i));
		bad = _mm_or_si128(_mm_cmpeq_epi8(v, dels),
			_mm_cmpeq_epi8(_mm_min_epu8(v, lows), v));
		if (_mm_movemask_epi8(bad))
			return i + __builtin_ctz(_mm_movemask_epi8(bad));
	}
#endif
	while (i < end && is_plain((unsigned char)p[i], low))
		i++;
	return i;
}

static size_t
skip_value(const char *p, size_t i, size_t end)
{
	i = skip_plain(p, i, end, ' ');
	while (i < end && p[i] == '\t')
		i = skip_plain(p, i + 1, end, ' ');
	return i;
}

/* The part of the line that begins at s->mark is over; c has to follow it. */
static int
end_part(struct strict *s, const char *p, char c, int next)
{
	if (s->at == s->mark || p[s->at] != c)
		return 400;
	s->mark = ++s->at;
	s->state = next;
	return 0;
}

static int
scan_start(struct strict *s, const char *p)
{
	if (p[s->at] == '\r') {
		s->at++;
		s->state = START_LF;
		return 0;
	}
	s->start = s->mark = s->at;
	s->state = METHOD;
	return 0;
}

static int
scan_method(struct strict *s, const char *p, size_t end)
{
	s->at = skip_token(p, s->at, end);
	return s->at == end ? 0 : end_part(s, p, ' ', TARGET);
}

static int
scan_target(struct strict *s, const char *p, size_t end)
{
	s->at = skip_plain(p, s->at, end, '!');
	return s->at == end ? 0 : end_part(s, p, ' ', VERSION);
}

/* Of a version in the right form. */
static int
judge_version(struct strict *s, const char *p)
{
	if (p[s->mark + 5] != '1')
		return 505;
	s->minor = p[s->mark + 7] - '0';
	return 0;
}

static int
scan_version(struct strict *s, const char *p, size_t end)
{
	static const char form[] = "HTTP/0.0";
	char c, want;

	for (; s->at < end && s->at < s->mark + 8; s->at++) {
		c = p[s->at];
		want = form[s->at - s->mark];
		if (want == '0' ? c < '0' || c > '9' : c != want)
			return 400;
	}
	if (s->at == end)
		return 0;
	if (p[s->at] != '\r')
		return 400;
	s->at++;
	s->state = LINE_LF;
	return judge_version(s, p);
}

static int
scan_field(struct strict *s, const char *p, size_t fields)
{
	if (p[s->at] == '\r') {
		s->at++;
		s->state = END_LF;
		return 0;
	}
	s->mark = s->at;
	s->state = NAME;
	return ++s->nfields > fields ? 431 : 0;
}

static int
scan_name(struct strict *s, const char *p, size_t end)
{
	s->at = skip_token(p, s->at, end);
	return s->at == end ? 0 : end_part(s, p, ':', VALUE);
}

static int
scan_value(struct strict *s, const char *p, size_t end)
{
	s->at = skip_value(p, s->at, end);
	if (s->at == end)
		return 0;
	if (p[s->at] != '\r')
		return 400;
	s->at++;
	s->state = LINE_LF;
	return 0;
}

static int
scan_lf(struct strict *s, const char *p, int next)
{
	if (p[s->at] != '\n')
		return 400;
	s->line_start = ++s->at;
	s->state = next;
	return 0;
}

static int
scan_part(struct strict *s, const struct strict_limits *limits, const char *p,
	size_t end)
{
	switch (s->state) {
	case START:
		return scan_start(s, p);
	case METHOD:
		return scan_method(s, p, end);
	case TARGET:
		return scan_target(s, p, end);
	case VERSION:
		return scan_version(s, p, end);
	case FIELD:
		return scan_field(s, p, limits->fields);
	case NAME:
		return scan_name(s, p, end);
	case VALUE:
		return scan_value(s, p, end);
	case START_LF:
		return scan_lf(s, p, START);
	case LINE_LF:
		return scan_lf(s, p, FIELD);
	default:
		return scan_lf(s, p, DONE);
	}
}

/*
 * Scan a part of the current line, up to end or to what the line may hold.  At
 * that limit one byte more is looked at, which has to be the line's CR.
 */
static int
scan_line(struct strict *s, const struct strict_limits *limits, const char *p,
	size_t end)
{
	bool request_line = s->state < FIELD;
	size_t max = request_line ? limits->line : limits->field;

	if (s->state > IN_LINE || end - s->line_start <= max)
		return scan_part(s, limits, p, end);
	if (s->at - s->line_start < max)
		return scan_part(s, limits, p, s->line_start + max);
	if (p[s->at] != '\r')
		return request_line ? 414 : 431;
	return scan_part(s, limits, p, s->at + 1);
}

int
strict_scan(struct strict *s, const struct strict_limits *limits, const char *p,
	size_t len, size_t *ret_len)
{
	size_t end = len < limits->head ? len : limits->head;
	int status = 0;

	*ret_len = 0;
	while (!status && s->state != DONE && s->at < end)
		status = scan_line(s, limits, p, end);
	if (status)
		return status;
	if (s->state == DONE)
		*ret_len = s->at;
	else if (s->at >= limits->head)
		return 431; /* whatever comes now is one byte too many */
	return 0;
}

void
strict_reset(struct strict *s)
{
	*s = (struct strict){.state = START};
}

void
strict_reset_trailers(struct strict *s)
{
	*s = (struct strict){.state = FIELD};
}

bool
strict_is_blank(const struct strict *s)
{
	return s->state == START;
}

bool
strict_is_token(struct str s)
{
	return s.len > 0 && skip_token(s.p, 0, s.len) == s.len;
}

bool
strict_is_value(struct str s)
{
	return skip_value(s.p, 0, s.len) == s.len;
}
