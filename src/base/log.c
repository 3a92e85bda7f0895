/*
 * log.c -- the error log.
 *
 * Leaves to others which file it is (the master opens logs) and what is worth
 * saying.  errno is the same after a call as before it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"

const char *const log_level_names[] = {
	"error", "warning", "info", "debug", NULL};

static int out_fd = 2;
static struct io_reader reader;
static enum log_level shown = LOG_INFO;

void
log_set_fd(int fd)
{
	out_fd = fd;
}

int
log_fd(void)
{
	return out_fd;
}

void
log_set_level(enum log_level level)
{
	shown = level;
}

enum log_level
log_get_level(void)
{
	return shown;
}

/* What could end the line early or play with a terminal is spelled out. */
static void
add_escaped(struct buf *b, const char *p, size_t n)
{
	size_t from = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if ((c >= 0x20 && c != 0x7f) || c == '\t')
			continue;
		buf_add(b, p + from, i - from);
		buf_addf(b, "\\x%02X", c);
		from = i + 1;
	}
	buf_add(b, p + from, n - from);
}

/* One line: the stamp, the message, a newline; line is scratch. */
static void
put_line(struct buf *line, enum log_level level, const char *p, size_t n)
{
	char stamp[CLOCK_LOG_MAX];
	size_t len = clock_log_stamp(stamp);

	buf_reset(line);
	buf_addf(line, "[%.*s] [%ld] [%s] ", (int)len, stamp, (long)getpid(),
		log_level_names[level]);
	add_escaped(line, p, n);
	buf_add_char(line, '\n');
	/* short of memory a cut line still says something */
	if (line->failed && line->len)
		line->p[line->len - 1] = '\n';
	/* A log that cannot be written is no reason to stop. */
	if (line->len)
		(void)io_write_line(out_fd, line->p, line->len, &reader);
}

void
log_at(enum log_level level, const char *fmt, va_list ap)
{
	struct buf text, line;
	int saved = errno;

	if (level > shown)
		return;
	buf_init(&text);
	buf_init(&line);
	buf_vaddf(&text, fmt, ap);
	if (text.failed)
		put_line(&line, level, fmt, strlen(fmt));
	else
		put_line(&line, level, text.p, text.len);
	buf_done(&line);
	buf_done(&text);
	errno = saved;
}

void
log_text(enum log_level level, const char *p, size_t n)
{
	struct str rest = {p, n}, piece;
	struct buf line;
	int saved = errno;

	if (level > shown)
		return;
	buf_init(&line);
	while (rest.len && str_cut(&rest, '\n', &piece))
		put_line(&line, level, piece.p, piece.len);
	buf_done(&line);
	errno = saved;
}

#define DEFINE(name, level)                                                    \
	void name(const char *fmt, ...)                                        \
	{                                                                      \
		va_list ap;                                                    \
		va_start(ap, fmt);                                             \
		log_at(level, fmt, ap);                                        \
		va_end(ap);                                                    \
	}

DEFINE(log_error, LOG_ERROR)
DEFINE(log_warning, LOG_WARNING)
DEFINE(log_info, LOG_INFO)
DEFINE(log_debug, LOG_DEBUG)
