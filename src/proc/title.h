/*
 * title.h -- what ps shows for a process.
 */
#ifndef PROC_TITLE_H
#define PROC_TITLE_H

/*
 * First thing in main(): make room for titles where the arguments and the
 * environment are.  Both move; returns the arguments at their new place.
 */
char **title_init(char **argv);

/* "narwhal: " and the text; before title_init() nothing. */
void title_set(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
