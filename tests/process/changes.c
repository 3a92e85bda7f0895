/*
 * changes.c -- configurations that follow one another in the soak.
 *
 * The table has a row for each key of the server's own; a key without one is
 * an error, and so is one that is never changed without a reason.
 */
#include "process/changes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/crowd.h"

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))
#define VALUES_MAX 4
#define WSGI_APPS NW_SOURCE "/tests/wsgi/apps"
#define VENV NW_BUILD "/tests/soak-venv"
#define NOBODY 65534

struct key {
	const char *section, *name;
	const char *values[VALUES_MAX]; /* "": it is not set */
	const char *quiet; /* why clients would notice, if they would */
	int now; /* which value it has */
};

/* $PORT and $OTHER stand for ports. */
static struct key keys[] = {
	{"app", "app", {APP("soak"), "wsgi:soak:app"}, NULL, 0},
	{"app", "chdir", {"", "/", "/usr"}, NULL, 0},
	{"options", "colour", {"", "red", "green"}, NULL, 0},
	{"env", "NARWHAL_SOAK", {"", "1", "2"}, NULL, 0},
	{"wsgi", "pythonpath", {WSGI_APPS, WSGI_APPS ", /usr"}, NULL, 0},
	{"wsgi", "virtualenv", {"", VENV}, NULL, 0},
	{"server", "bind",
		{"127.0.0.1:$PORT, unix:socket",
			"127.0.0.1:$PORT, unix:socket, 127.0.0.1:$OTHER",
			"unix:socket, 0.0.0.0:$OTHER, 127.0.0.1:$PORT"},
		NULL, 0},
	{"server", "backlog", {"2048", "128", "1000"}, NULL, 0},
	{"server", "unix-socket-mode", {"0660", "0600", "0666"}, NULL, 0},
	{"server", "workers", {"3", "2", "auto", "4"}, NULL, 0},
	{"server", "worker-connections", {"1000", "100"}, NULL, 0},
	{"server", "keepalive", {"5s", "0", "1m"}, NULL, 0},
	{"server", "max-requests", {"0", "500"}, NULL, 0},
	{"server", "max-requests-jitter", {"0", "200"}, NULL, 0},
	{"buffers", "input-block-size", {"64k", "512", "1m"}, NULL, 0},
	{"buffers", "outgoing-body-buffer-chunks", {"16", "0", "64"}, NULL, 0},
	{"buffers", "outgoing-body-chunk-size", {"64k", "1k", "5000"}, NULL, 0},
	{"buffers", "outgoing-flush-delay", {"5ms", "0", "1ms"}, NULL, 0},
	{"timeouts", "header-timeout", {"10s", "20s"}, NULL, 0},
	{"timeouts", "body-timeout", {"30s", "20s"}, NULL, 0},
	{"timeouts", "send-timeout", {"30s", "20s"}, NULL, 0},
	{"timeouts", "min-body-rate", {"500", "0", "100"}, NULL, 0},
	{"timeouts", "min-send-rate", {"500", "0", "100"}, NULL, 0},
	{"timeouts", "timeout", {"30s", "0", "1m"}, NULL, 0},
	{"timeouts", "graceful-timeout", {"30s", "1m"}, NULL, 0},
	{"limits", "request-head", {"64k", "16k"}, NULL, 0},
	{"limits", "request-line", {"8190", "2000"}, NULL, 0},
	{"limits", "request-fields", {"100", "20"}, NULL, 0},
	{"limits", "request-field-size", {"8190", "4000"}, NULL, 0},
	{"limits", "request-body", {"0", "4m"}, NULL, 0},
	{"log", "error-log", {"log", "log-too"}, NULL, 0}, /* one file */
	{"log", "log-level", {"info", "debug"}, NULL, 0},
	{"log", "access-log", {"access-a", "access-b"}, NULL, 0},
	{"log", "access-log-format",
		{"%(h)s %(r)s %(s)s %(b)s", "%(t)s %(r)s Q=%(Q)s W=%(W)s"},
		NULL, 0},
	{"proxy", "forwarded-allow-ips", {"unix", "10.0.0.0/8, ::1"}, NULL, 0},
	{"proxy", "proxy-protocol", {"off", "v1"},
		"a client must know whether a header is due", 0},
	{"process", "user", {"", "nobody"}, NULL, 0},
	{"process", "group", {"", "nogroup"}, NULL, 0},
	{"process", "umask", {"", "077", "002"}, NULL, 0},
	{"process", "pidfile", {"", "pid-a", "pid-b"}, NULL, 0},
	{"process", "daemon", {"no", "yes"}, NULL, 0},
};

/* What is put into a good file, and the reload is refused. */
static const struct {
	const char *key, *value; /* in place of a value, or else */
	const char *text; /* at the end */
} faults[] = {
	{NULL, NULL, "[server]\nwrokers = 2\n"},
	{"timeout", "soon", ""},
	{NULL, NULL, "[server\nbacklog = 100\n"},
	{"app", APP("openfails"), ""},
	{"chdir", "/no/such/folder", ""},
	{"app", "wsgi:no_such_module", ""},
	{"bind", "127.0.0.1:$PORT, unix:socket, 192.0.2.1:$OTHER", ""},
	{"error-log", "no/such/folder/log", ""},
	{"app", APP("no-such-file"), ""},
	{"access-log-format", "%(nothing)s", ""},
	{"pidfile", "no/such/folder/pid", ""},
	{"user", "no-such-user", ""},
	{"app", "so:" NW_SOURCE "/README.md", ""},
	{"worker-connections", "1000000", ""},
	{"bind", "127.0.0.1:$PORT, 0.0.0.0:$PORT, unix:socket", ""},
	{"virtualenv", "/no/such/folder", ""},
};

/* ---- a file ---- */

static void
put_value(FILE *f, const struct changes *c, const char *value)
{
	for (; *value; value++) {
		if (strncmp(value, "$PORT", 5) == 0) {
			fprintf(f, "%d", c->port);
			value += 4;
		} else if (strncmp(value, "$OTHER", 6) == 0) {
			fprintf(f, "%d", c->other);
			value += 5;
		} else {
			fputc(*value, f);
		}
	}
}

static void
put_key(FILE *f, const struct changes *c, const struct key *k,
	const char *value)
{
	if (!*value)
		return;
	fprintf(f, "[%s]\n%s = ", k->section, k->name);
	put_value(f, c, value);
	fputc('\n', f);
}

/* All rows, one of them perhaps with another value, and a text. */
static void
write_ini(const struct changes *c, int turn, const char *key, const char *value,
	const char *text)
{
	const char *new = server_path(c->s, "narwhal.ini.new");
	FILE *f = fopen(new, "we");
	int i;

	MUST(f, "%s: %s", new, strerror(errno));
	for (i = 0; i < N(keys); i++)
		put_key(f, c, &keys[i],
			key && strcmp(keys[i].name, key) == 0
				? value
				: keys[i].values[keys[i].now]);
	fprintf(f, "[options]\nturn = %d\n%s", turn, text);
	fclose(f);
	MUST(rename(new, c->s->ini) == 0, "rename");
}

/* ---- one after the other ---- */

static int
values(const struct key *k)
{
	int n = 0;

	while (n < VALUES_MAX && k->values[n])
		n++;
	return n;
}

static void
shuffle(struct changes *c)
{
	struct key swap;
	int i, k;

	for (i = N(keys) - 1; i > 0; i--) {
		k = (int)chance(&c->row, (unsigned)i + 1);
		swap = keys[i];
		keys[i] = keys[k];
		keys[k] = swap;
	}
}

static void
never(const char *name)
{
	int i;

	for (i = 0; i < N(keys); i++)
		if (strcmp(keys[i].name, name) == 0)
			keys[i].values[1] = NULL;
}

/* Two names of one file, so that the test reads all that is said. */
static void
make_files(const struct server *s)
{
	write_file(s->log, "", 0);
	MUST(link(s->log, server_path(s, "log-too")) == 0, "link: %s",
		strerror(errno));
	/* of whichever Python the gateway was built for */
	shell(s,
		"mkdir -p " VENV "/bin && cd " VENV " && touch pyvenv.cfg && "
		"ln -sf /usr/bin/python3 bin/python && "
		"for n in $(seq 11 30); do "
		"mkdir -p lib/python3.$n/site-packages; done");
}

void
changes_init(struct changes *c, const struct server *s, uint64_t seed)
{
	*c = (struct changes){.s = s, .row = seed};
	c->port = free_port();
	do
		c->other = free_port();
	while (c->other == c->port);
	make_files(s);
	if (geteuid() != 0 ||
		!others_reach(NW_BUILD "/tests/soak.so", NOBODY) ||
		!others_reach(WSGI_APPS, NOBODY)) {
		fprintf(stderr, "skipped: user and group in the soak\n");
		never("user");
		never("group");
	}
	shuffle(c);
	write_ini(c, 0, NULL, NULL, "");
}

void
changes_next(struct changes *c, int n)
{
	struct key *k;

	for (; n > 0; n--) {
		k = &keys[c->next];
		if (!k->quiet)
			k->now = (k->now + 1) % values(k);
		c->next = (c->next + 1) % N(keys);
		c->rounds += c->next == 0;
	}
	write_ini(c, ++c->turn, NULL, NULL, "");
}

const char *
changes_fault(struct changes *c)
{
	static char what[200];
	int i = c->fault++ % N(faults);

	write_ini(c, c->turn, faults[i].key, faults[i].value, faults[i].text);
	snprintf(what, sizeof(what), "%s = %s%s",
		faults[i].key ? faults[i].key : "",
		faults[i].value ? faults[i].value : "", faults[i].text);
	return what;
}

void
changes_back(struct changes *c, const char *key, const char *value)
{
	int i;

	for (i = 0; i < N(keys); i++)
		keys[i].now = 0;
	write_ini(c, ++c->turn, key, value, "");
}

bool
changes_other_is_open(const struct changes *c)
{
	char *text = read_file(c->s->ini, NULL), other[30];
	bool is_open;

	snprintf(other, sizeof(other), ":%d", c->other);
	is_open = strstr(text, other) != NULL;
	free(text);
	return is_open;
}

/* ---- none forgotten ---- */

static const struct key *
find(const char *section, const char *name)
{
	int i;

	for (i = 0; i < N(keys); i++)
		if (strcmp(keys[i].section, section) == 0 &&
			strcmp(keys[i].name, name) == 0)
			return &keys[i];
	return NULL;
}

void
changes_check_table(const struct changes *c)
{
	char *text, *line, section[100] = "", name[100];
	const struct key *k;
	int n = 2; /* of [options] and [env] nothing is printed */

	shell(c->s, "cd / && %s/narwhal -T so:hello >'%s'", NW_BUILD,
		server_path(c->s, "keys"));
	text = read_file(server_path(c->s, "keys"), NULL);
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (sscanf(line, "[%99[a-z]]", section) == 1 ||
			sscanf(line, "%99[a-z-] =", name) != 1)
			continue;
		k = find(section, name);
		MUST(k, "the soak does not change [%s] %s", section, name);
		MUST(k->quiet || values(k) > 1 || *k->values[0] == '\0',
			"%s has one value", name);
		n++;
	}
	MUST(n == N(keys), "the soak changes %d keys of %d", N(keys), n);
	free(text);
}
