/*
 * keys.c -- the key table, and finding a row in it.
 *
 * How a text becomes the member of struct conf that a row names is keyset.c's.
 */
#include <stddef.h>
#include <string.h>

#include "conf/keys.h"

#define AT(member) offsetof(struct conf, member)
#define KB UINT64_C(1024)
#define MB (1024 * KB)
#define PB (1024 * 1024 * 1024 * MB)
#define YEAR (UINT64_C(8760) * 3600 * 1000)

const struct key keys[] = {
	{"app", "app", KEY_APP, AT(app), NULL, 0, 0, "APP",
		"application: wsgi:MODULE[:CALLABLE], MODULE:CALLABLE, so:NAME"
		" or so:/PATH"},
	{"app", "chdir", KEY_PATH, AT(chdir), NULL, 0, 0, "PATH",
		"working directory of the workers"},

	{"wsgi", "pythonpath", KEY_PATHS, AT(pythonpath), NULL, 0, 0, "LIST",
		"folders put before sys.path"},
	{"wsgi", "virtualenv", KEY_PATH, AT(virtualenv), NULL, 0, 0, "PATH",
		"environment whose packages the application sees"},

	{"server", "bind", KEY_BIND, AT(bind), "127.0.0.1:8000", 0, 0, "LIST",
		"addresses: HOST:PORT, [V6]:PORT, unix:/PATH, fd:N"},
	{"server", "backlog", KEY_COUNT, AT(backlog), "2048", 1, 65535, "COUNT",
		"length of the listen queue"},
	{"server", "unix-socket-mode", KEY_MODE, AT(unix_socket_mode), "0660",
		0, 0777, "MODE", "mode of unix sockets, octal"},
	{"server", "workers", KEY_WORKERS, AT(workers), "1", 1, 512, "COUNT",
		"worker processes, or auto: processors x 2 + 1"},
	{"server", "worker-connections", KEY_COUNT, AT(worker_connections),
		"1000", 1, 1000000, "COUNT", "connections a worker may park"},
	{"server", "keepalive", KEY_TIME, AT(keepalive_ms), "5s", 0, YEAR,
		"TIME", "how long an idle connection is kept, 0: not at all"},
	{"server", "max-requests", KEY_COUNT64, AT(max_requests), "0", 0,
		INT64_MAX, "COUNT",
		"retire a worker after so many requests, 0: never"},
	{"server", "max-requests-jitter", KEY_COUNT64, AT(max_requests_jitter),
		"0", 0, INT64_MAX, "COUNT", "random addition to max-requests"},

	{"buffers", "input-block-size", KEY_SIZE, AT(input_block_size), "64k",
		512, 16 * MB, "SIZE",
		"most bytes one read of a request body asks for"},
	{"buffers", "outgoing-body-buffer-chunks", KEY_COUNT,
		AT(outgoing_body_buffer_chunks), "16", 0, 1024, "COUNT",
		"chunks the application may write ahead of the client"},
	{"buffers", "outgoing-body-chunk-size", KEY_SIZE,
		AT(outgoing_body_chunk_size), "64k", 512, 16 * MB, "SIZE",
		"larger writes are cut into chunks of this size"},
	{"buffers", "outgoing-flush-delay", KEY_TIME,
		AT(outgoing_flush_delay_ms), "5ms", 0, 3600000, "TIME",
		"longest a chunk waits for company, 0: not at all"},

	{"timeouts", "header-timeout", KEY_TIME, AT(header_timeout_ms), "10s",
		1, YEAR, "TIME", "for a whole request head"},
	{"timeouts", "body-timeout", KEY_TIME, AT(body_timeout_ms), "30s", 1,
		YEAR, "TIME", "longest silence while a body is read"},
	{"timeouts", "send-timeout", KEY_TIME, AT(send_timeout_ms), "30s", 1,
		YEAR, "TIME", "longest time a client may take nothing"},
	{"timeouts", "min-body-rate", KEY_SIZE64, AT(min_body_rate), "500", 0,
		16 * MB, "SIZE",
		"least a client sends of a body in a second, over body-timeout"},
	{"timeouts", "min-send-rate", KEY_SIZE64, AT(min_send_rate), "500", 0,
		16 * MB, "SIZE",
		"least a client takes in a second, over send-timeout"},
	{"timeouts", "timeout", KEY_TIME, AT(timeout_ms), "30s", 0, YEAR,
		"TIME", "application time of one request, 0: no end"},
	{"timeouts", "graceful-timeout", KEY_TIME, AT(graceful_timeout_ms),
		"30s", 1, YEAR, "TIME", "how long a retiring worker may take"},

	{"limits", "request-head", KEY_SIZE, AT(request_head), "64k", 512,
		1 * MB, "SIZE", "bytes of a request head"},
	{"limits", "request-line", KEY_SIZE, AT(request_line), "8190", 32,
		1 * MB, "SIZE", "bytes of a request line"},
	{"limits", "request-fields", KEY_COUNT, AT(request_fields), "100", 1,
		10000, "COUNT", "fields of a request"},
	{"limits", "request-field-size", KEY_SIZE, AT(request_field_size),
		"8190", 32, 1 * MB, "SIZE", "bytes of one field line"},
	{"limits", "request-body", KEY_SIZE64, AT(request_body), "0", 0, PB,
		"SIZE", "bytes of a request body, 0: no limit"},

	{"log", "error-log", KEY_LOG, AT(error_log), "-", 0, 0, "PATH",
		"error log, -: standard error"},
	{"log", "log-level", KEY_LEVEL, AT(log_level), "info", 0, 0,
		"error|warning|info|debug", "the most talkative level shown"},
	{"log", "access-log", KEY_LOG, AT(access_log), NULL, 0, 0, "PATH",
		"access log, -: standard output"},
	{"log", "access-log-format", KEY_TEXT, AT(access_log_format),
		"%(h)s %(l)s %(u)s %(t)s \"%(r)s\" %(s)s %(b)s \"%(f)s\" "
		"\"%(a)s\" %(D)s",
		0, 0, "FORMAT", "a line of the access log"},

	{"proxy", "forwarded-allow-ips", KEY_PEERS, AT(forwarded_allow_ips),
		"127.0.0.1, ::1, unix", 0, 0, "LIST",
		"peers whose X-Forwarded fields are believed"},
	{"proxy", "proxy-protocol", KEY_PROXY, AT(proxy_protocol), "off", 0, 0,
		"off|v1|v2|auto",
		"version of the PROXY header that begins each connection"},

	{"process", "user", KEY_TEXT, AT(user), NULL, 0, 0, "USER",
		"user the workers run as, if started as root"},
	{"process", "group", KEY_TEXT, AT(group), NULL, 0, 0, "GROUP",
		"their group, by default that of the user"},
	{"process", "umask", KEY_MODE, AT(umask), NULL, 0, 0777, "MODE",
		"file mode creation mask of the workers, octal"},
	{"process", "pidfile", KEY_PATH, AT(pidfile), NULL, 0, 0, "PATH",
		"file that holds the process id of the master"},
	{"process", "daemon", KEY_SWITCH, AT(daemon), "no", 0, 0, "yes|no",
		"go into the background once the first worker is ready"},
};

const size_t keys_len = sizeof(keys) / sizeof(keys[0]);

_Static_assert(sizeof(keys) / sizeof(keys[0]) <= CONF_KEYS_MAX,
	"struct conf has room for each row");

static const char *const pairs_sections[] = {"options", "env"};

const struct key *
key_find(struct str name)
{
	for (size_t i = 0; i < keys_len; i++)
		if (str_eq(name, str_of(keys[i].name)))
			return &keys[i];
	return NULL;
}

bool
key_is_pairs_section(struct str section)
{
	return str_eq(section, str_of(pairs_sections[0])) ||
		str_eq(section, str_of(pairs_sections[1]));
}

bool
key_is_section(struct str section)
{
	for (size_t i = 0; i < keys_len; i++)
		if (str_eq(section, str_of(keys[i].section)))
			return true;
	return key_is_pairs_section(section);
}

#define NEAR_MAX 40 /* longer than any key */

static int
min(int a, int b)
{
	return a < b ? a : b;
}

/* Letters added, left out, changed or swapped between a and b. */
static int
distance(struct str a, struct str b)
{
	int d[3][NEAR_MAX + 1], *old = d[0], *last = d[1], *now = d[2], *t;
	int la = (int)a.len, lb = (int)b.len;

	for (int j = 0; j <= lb; j++)
		last[j] = j;
	for (int i = 1; i <= la; i++) {
		now[0] = i;
		for (int j = 1; j <= lb; j++) {
			bool same = a.p[i - 1] == b.p[j - 1];

			now[j] = min(min(last[j], now[j - 1]) + 1,
				last[j - 1] + !same);
			if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] &&
				a.p[i - 2] == b.p[j - 1])
				now[j] = min(now[j], old[j - 2] + 1);
		}
		t = old, old = last, last = now, now = t;
	}
	return last[lb];
}

/* Is word nearer to name than *best, and near at all?  Then *best follows. */
static bool
is_nearer(struct str name, const char *word, int *best)
{
	struct str w = str_of(word);
	size_t longer = name.len > w.len ? name.len : w.len;
	int d;

	if (longer > NEAR_MAX)
		return false;
	d = distance(name, w);
	if (d >= *best || d > (longer < 6 ? 1 : (int)longer / 3))
		return false;
	*best = d;
	return true;
}

const struct key *
key_nearest(struct str name)
{
	const struct key *found = NULL;
	int best = NEAR_MAX;

	for (size_t i = 0; i < keys_len; i++)
		if (is_nearer(name, keys[i].name, &best))
			found = &keys[i];
	return found;
}

const char *
key_nearest_section(struct str section)
{
	const char *found = NULL;
	int best = NEAR_MAX;

	for (size_t i = 0; i < keys_len; i++)
		if ((!i || strcmp(keys[i].section, keys[i - 1].section)) &&
			is_nearer(section, keys[i].section, &best))
			found = keys[i].section;
	for (size_t i = 0; i < 2; i++)
		if (is_nearer(section, pairs_sections[i], &best))
			found = pairs_sections[i];
	return found;
}
