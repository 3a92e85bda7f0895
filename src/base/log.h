/*
 * log.h -- the error log.
 *
 * A line is `[time] [pid] [level] message`, written with one write(2) so that
 * lines of several processes do not mix (longer ones than PIPE_BUF into a pipe
 * take several).  Control bytes in a message are
 * escaped as \xHH: one call, one line.  A log that cannot be written is
 * ignored; nothing ever fails because of its log.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdarg.h>

enum log_level {
	LOG_ERROR,
	LOG_WARNING,
	LOG_INFO,
	LOG_DEBUG
};

extern const char *const log_level_names[]; /* "error" ... "debug", NULL */

/* Where lines go (default: descriptor 2) and the most talkative level shown. */
void log_set_fd(int fd);
int log_fd(void);
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_at(enum log_level level, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

/*
 * Raw text, several lines perhaps (a traceback): each line gets the stamp; a
 * last line without a newline gets one.
 */
void log_text(enum log_level level, const char *p, size_t n);

#endif
