/*
 * main.c -- the command line.
 *
 * Reads options and what the environment says about inherited sockets, and
 * hands both on.  What a key's value means is conf's; everything that runs is
 * the master's.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "conf/keys.h"
#include "master/master.h"
#include "proc/title.h"
#include "worker/access.h"

#define USAGE 2 /* exit status: bad usage or configuration */
#define FIXED 5 /* options that are no keys */

enum action {
	RUN,
	CHECK, /* -t */
	PRINT, /* -T */
	HELP,
	VERSION
};

struct command {
	enum action action;
	struct conf_args args;
};

/* The options that are no keys; rows of the key table come behind them. */
static const struct option fixed[FIXED] = {
	{"config", required_argument, NULL, 'c'},
	{"check-config", no_argument, NULL, 't'},
	{"print-config", no_argument, NULL, 'T'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
};

static const char usage[] =
	"usage: narwhal [-c FILE] [-t | -T] [--KEY=VALUE ...] [APP]\n";

static void
print_help(void)
{
	printf("%s"
	       "\n"
	       "Serves APP over HTTP/1.1 with a master and synchronous "
	       "workers.\n"
	       "\n"
	       "  -c, --config FILE    the INI file (./narwhal.ini if there "
	       "is one)\n"
	       "  -t, --check-config   find every fault, load the application, "
	       "start nothing\n"
	       "  -T, --print-config   every key, its value and where that "
	       "came from\n"
	       "  -h, --help           this text\n"
	       "  -V, --version        the version\n"
	       "  --KEY=VALUE          a key of the INI file; wins over the "
	       "file\n"
	       "  APP                  short for --app=APP\n"
	       "\n"
	       "Keys by section of the INI file, with their [defaults]:\n",
		usage);
	conf_print_help(stdout);
	printf("\nSee narwhal(8) and narwhal.ini(5).\n");
}

static int
usage_error(void)
{
	fputs(usage, stderr);
	return USAGE;
}

static bool
is_fixed(const char *name)
{
	for (int i = 0; i < FIXED; i++)
		if (!strcmp(name, fixed[i].name))
			return true;
	return false;
}

/*
 * getopt_long(3) takes abbreviations and cannot suggest a name; so the names
 * are looked at before it sees them.
 */
static int
check_name(const char *arg)
{
	const char *near = NULL;
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(arg + 2, "="),
		arg + 2);
	if (is_fixed(name) || conf_find_key(name, &near))
		return 0;
	for (int i = 0; i < FIXED && !near; i++)
		if (!strncmp(name, fixed[i].name, strlen(name)))
			near = fixed[i].name;
	fprintf(stderr, "narwhal: unknown option '--%s'", name);
	if (near)
		fprintf(stderr, " (did you mean '--%s'?)", near);
	fputc('\n', stderr);
	return -1;
}

static int
check_names(int argc, char **argv)
{
	int r = 0;

	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "-c") || !strcmp(argv[i], "--config"))
			i++; /* its value may look like anything */
		else if (!strncmp(argv[i], "--", 2) &&
			check_name(argv[i]) == -1)
			r = -1;
	}
	return r;
}

static int
add_override(struct conf_args *a, const char *key, const char *value)
{
	char **v;

	v = realloc(a->overrides, (a->noverrides + 1) * sizeof(*v));
	if (!v)
		return -1;
	a->overrides = v;
	if (asprintf(&v[a->noverrides], "%s=%s", key, value) == -1)
		return -1;
	a->noverrides++;
	return 0;
}

/* `--KEY=VALUE`: the value is optional to getopt, so that it must be joined. */
static int
read_key(struct conf_args *a, const char *key, const char *value)
{
	if (!value) {
		fprintf(stderr,
			"narwhal: --%s has no value; write --%s=VALUE\n", key,
			key);
		return -1;
	}
	return add_override(a, key, value);
}

static int
set_action(struct command *c, enum action action)
{
	if (c->action != RUN && c->action != action && action <= PRINT &&
		c->action <= PRINT) {
		fprintf(stderr, "narwhal: -t and -T exclude each other\n");
		return -1;
	}
	if (action > c->action)
		c->action = action;
	return 0;
}

static int
read_option(struct command *c, int opt, int index, const struct option *all)
{
	switch (opt) {
	case 'c':
		c->args.path = optarg;
		c->args.path_given = true;
		return 0;
	case 't':
		return set_action(c, CHECK);
	case 'T':
		return set_action(c, PRINT);
	case 'h':
		return set_action(c, HELP);
	case 'V':
		return set_action(c, VERSION);
	case 'k':
		return read_key(&c->args, all[index].name, optarg);
	default:
		return -1; /* getopt has said what is wrong */
	}
}

static int
read_app(struct command *c, int argc, char **argv)
{
	if (optind == argc)
		return 0;
	if (optind + 1 < argc) {
		fprintf(stderr,
			"narwhal: '%s' is one application too many (keys are "
			"set with --KEY=VALUE)\n",
			argv[optind + 1]);
		return -1;
	}
	return add_override(&c->args, "app", argv[optind]);
}

static int
read_command(struct command *c, int argc, char **argv)
{
	struct option all[FIXED + CONF_KEYS_MAX + 1] = {0};
	int opt, index = 0;

	memcpy(all, fixed, sizeof(fixed));
	for (size_t i = 0; i < keys_len; i++)
		all[FIXED + i] = (struct option){
			keys[i].name, optional_argument, NULL, 'k'};
	if (check_names(argc, argv) == -1)
		return -1;
	while ((opt = getopt_long(argc, argv, "c:tThV", all, &index)) != -1)
		if (read_option(c, opt, index, all) == -1)
			return -1;
	return read_app(c, argc, argv);
}

/*
 * sd_listen_fds(3): descriptors from 3 on are ours if LISTEN_PID says so.  The
 * variables go, lest a child takes them for its own.
 */
static int
read_listen_fds(struct conf_args *a)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	uint64_t p = 0, n = 0;
	int r = 0;

	if (pid && fds && str_to_u64(str_of(pid), &p) == 0 &&
		p == (uint64_t)getpid()) {
		if (str_to_u64(str_of(fds), &n) == -1 || n > CONF_ADDRS_MAX) {
			fprintf(stderr,
				"narwhal: LISTEN_FDS: '%s' is not a number "
				"from 0 to %d\n",
				fds, CONF_ADDRS_MAX);
			r = -1;
		} else {
			a->listen_fds = (int)n;
		}
	}
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return r;
}

static int
print_config(struct conf_args *args)
{
	struct buf errors, notes;
	struct conf *c;

	buf_init(&errors);
	buf_init(&notes);
	args->app_optional = true;
	c = conf_load(args, &errors, &notes);
	if (c)
		conf_print(c, stdout);
	else
		fputs(buf_z(&errors), stderr);
	buf_done(&errors);
	buf_done(&notes);
	conf_free(c);
	return c ? 0 : USAGE;
}

/* Without this a full disk behind `narwhal -T >file` would go unnoticed. */
static int
flush_stdout(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	perror("narwhal: standard output");
	return EXIT_FAILURE;
}

static int
act(struct command *c)
{
	switch (c->action) {
	case CHECK:
		return master_check(&c->args);
	case PRINT:
		return flush_stdout(print_config(&c->args));
	case HELP:
		print_help();
		return flush_stdout(0);
	case VERSION:
		printf("narwhal " NW_VERSION "\n");
		return flush_stdout(0);
	case RUN:
		break;
	}
	return master_run(&c->args);
}

int
main(int argc, char **argv)
{
	struct command c = {.args = {.check_format = access_check}};
	int status;

	if (fd_fill_standard() == -1)
		return EXIT_FAILURE; /* and nowhere to say so */
	argv = title_init(argv);
	if (read_command(&c, argc, argv) == -1)
		status = usage_error();
	else if (read_listen_fds(&c.args) == -1)
		status = USAGE;
	else
		status = act(&c);
	for (size_t i = 0; i < c.args.noverrides; i++)
		free(c.args.overrides[i]);
	free(c.args.overrides);
	return status;
}
