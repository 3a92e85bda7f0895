/*
 * title.c -- write a title over the arguments, where ps reads them.
 *
 * The kernel shows the memory in which it once put the arguments, and if that
 * does not end in a NUL any more goes on into the environment behind it.  So
 * the strings of both are copied elsewhere, and the room is ours.
 */
#include "proc/title.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "narwhal: "

static char *room;
static size_t room_len;

/* Kept for good, and reachable for whoever looks for leaks. */
static char **arguments, **environment;

/* The strings and the vector in one block. */
static char **
copy(char **v)
{
	size_t n = 0, bytes = 0;
	char **to, *p;

	for (; v[n]; n++)
		bytes += strlen(v[n]) + 1;
	to = malloc((n + 1) * sizeof(*to) + bytes);
	if (!to)
		return NULL;
	p = (char *)(to + n + 1);
	for (size_t i = 0; i < n; i++) {
		to[i] = p;
		p = stpcpy(p, v[i]) + 1;
	}
	to[n] = NULL;
	return to;
}

/* How far the strings of v go on without a gap from `end` on. */
static char *
extend(char *end, char **v)
{
	for (; *v && *v == end; v++)
		end += strlen(end) + 1;
	return end;
}

static void
name_program(char *path)
{
	char *slash = strrchr(path, '/');

	program_invocation_name = path;
	program_invocation_short_name = slash ? slash + 1 : path;
}

char **
title_init(char **argv)
{
	char *end;

	if (!argv[0])
		return argv;
	end = extend(extend(argv[0], argv), environ);
	arguments = copy(argv);
	environment = copy(environ);
	if (!arguments || !environment)
		return argv;
	room = argv[0];
	room_len = (size_t)(end - room);
	environ = environment;
	name_program(arguments[0]);
	return arguments;
}

void
title_set(const char *fmt, ...)
{
	char text[512] = PREFIX;
	size_t n = strlen(PREFIX);
	va_list ap;

	if (!room)
		return;
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - n, fmt, ap);
	va_end(ap);
	memset(room, '\0', room_len);
	snprintf(room, room_len, "%s", text);
}
