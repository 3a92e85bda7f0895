/*
 * fuzz_ini.c -- any bytes as an INI file; a value that a key takes is printed,
 * and what was printed must be taken too.
 */
#include <assert.h>
#include <stdlib.h>

#include "conf/ini.h"
#include "conf/keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static struct conf c;

static void
on_section(void *arg, int line, struct str name)
{
	assert(arg == &c && line > 0);
	key_nearest_section(name);
}

static void
on_pair(void *arg, int line, struct str section, struct str name,
	struct str value)
{
	const struct key *k = key_find(name);
	struct buf b = {0};
	const char *why;

	assert(arg == &c && line > 0 && (section.p || !section.len));
	assert(name.p[name.len] == '\0' && value.p[value.len] == '\0');
	assert(name.len <= INI_NAME_MAX && value.len <= INI_LINE_MAX);
	if (!k || key_set(&c, k, value, "/", &why) == -1)
		return;
	key_print(&c, k, &b);
	assert(key_set(&c, k, buf_str(&b), "/", &why) == 0);
	buf_done(&b);
}

static void
on_fault(void *arg, int line, struct str name, const char *why)
{
	assert(arg == &c && line > 0 && (name.p || !name.len) && *why);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	const struct ini_visitor v = {on_section, on_pair, on_fault, &c};

	if (arena_init(&c.arena, 4096) == -1)
		abort();
	ini_read((struct str){(const char *)p, n}, &v);
	arena_done(&c.arena);
	return 0;
}
