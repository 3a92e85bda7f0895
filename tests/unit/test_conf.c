/*
 * test_conf.c -- one generation of the configuration, from all its sources.
 *
 * Each test has a folder of its own with narwhal.ini in it, and is there.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/conf.h"

Suite *conf_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))

static char folder[64];
static char *overrides[8];
static struct conf_args args;
static struct conf *c;
static struct buf errors, notes;

static void
setup(void)
{
	strcpy(folder, "/tmp/narwhal-conf-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	unsetenv("PORT");
	unsetenv("WEB_CONCURRENCY");
	unsetenv("VIRTUAL_ENV");
	args = (struct conf_args){.overrides = overrides};
	buf_init(&errors);
	buf_init(&notes);
	c = NULL;
}

static void
teardown(void)
{
	conf_free(c);
	buf_done(&errors);
	buf_done(&notes);
	unlink("narwhal.ini");
	unlink("sub/narwhal.ini");
	rmdir("sub");
	ck_assert_int_eq(chdir(NW_SOURCE), 0);
	rmdir(folder);
}

static void
write_ini(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static void
give(char *text)
{
	overrides[args.noverrides++] = text;
}

/* Load what is there; NULL if it is refused. */
static struct conf *
load(void)
{
	conf_free(c);
	buf_reset(&errors);
	buf_reset(&notes);
	c = conf_load(&args, &errors, &notes);
	ck_assert_int_eq(!c, errors.len > 0);
	return c;
}

static void
must_load(const char *ini)
{
	write_ini("narwhal.ini", ini);
	ck_assert_msg(load(), "%s", buf_z(&errors));
}

static void
must_refuse(const char *ini, const char *expect)
{
	write_ini("narwhal.ini", ini);
	load();
	ck_assert_str_eq(buf_z(&errors), expect);
}

#define APP "[app]\napp = so:echo\n"

/* ---- where values come from ---- */

START_TEST(defaults)
{
	give((char *)"app=so:echo");
	ck_assert_msg(load(), "%s", buf_z(&errors));
	ck_assert_ptr_null(c->path);
	ck_assert_str_eq(c->app, "so:echo");
	ck_assert_int_eq(c->workers, 1);
	ck_assert_int_eq(c->keepalive_ms, 5000);
	ck_assert_uint_eq(c->input_block_size, 65536);
	ck_assert_int_eq(c->outgoing_body_buffer_chunks, 16);
	ck_assert_uint_eq(c->outgoing_body_chunk_size, 65536);
	ck_assert_int_eq(c->outgoing_flush_delay_ms, 5);
	ck_assert_uint_eq(c->request_line, 8190);
	ck_assert_int_eq(c->unix_socket_mode, 0660);
	ck_assert_int_eq(c->log_level, LOG_INFO);
	ck_assert_str_eq(c->error_log, "-");
	ck_assert_ptr_null(c->access_log);
	ck_assert_ptr_null(c->chdir);
	ck_assert_ptr_null(c->virtualenv);
	ck_assert_uint_eq(c->naddrs, 1);
	ck_assert_str_eq(c->addrs[0].text, "127.0.0.1:8000");
	ck_assert_uint_eq(c->forwarded_allow_ips.n, 3);
}
END_TEST

START_TEST(the_order)
{
	setenv("WEB_CONCURRENCY", "5", 1);
	setenv("PORT", "8123", 1);
	setenv("VIRTUAL_ENV", "/some/venv", 1);
	must_load(APP);
	ck_assert_int_eq(c->workers, 5);
	ck_assert_str_eq(c->addrs[0].text, "0.0.0.0:8123");
	ck_assert_str_eq(c->virtualenv, "/some/venv");
	must_load(APP "[server]\nworkers = 6\nbind = 127.0.0.1:1\n"
		      "[wsgi]\nvirtualenv =\n");
	ck_assert_int_eq(c->workers, 6);
	ck_assert_str_eq(c->addrs[0].text, "127.0.0.1:1");
	ck_assert_ptr_null(c->virtualenv);
	ck_assert_uint_eq(notes.len, 0);
	give((char *)"workers=7");
	ck_assert_ptr_nonnull(load());
	ck_assert_int_eq(c->workers, 7);
	ck_assert_str_eq(buf_z(&notes),
		"narwhal.ini:4: workers: overridden by --workers=7\n");
}
END_TEST

START_TEST(the_last_of_the_command_line_counts)
{
	give((char *)"workers=2");
	give((char *)"workers=3");
	must_load(APP);
	ck_assert_int_eq(c->workers, 3);
}
END_TEST

START_TEST(a_bad_environment)
{
	setenv("WEB_CONCURRENCY", "many", 1);
	setenv("PORT", "tcp://10.0.0.1:80", 1);
	write_ini("narwhal.ini", APP);
	ck_assert_ptr_null(load());
	ck_assert_ptr_nonnull(strstr(buf_z(&errors),
		"workers (from the environment): 'many' is not a number\n"));
	ck_assert_ptr_nonnull(
		strstr(buf_z(&errors), "bind (from the environment): "));
	/* harms nobody who does not use it */
	must_load(APP "[server]\nworkers = 1\nbind = 127.0.0.1:1\n");
}
END_TEST

START_TEST(files)
{
	give((char *)"app=so:echo");
	/* without -c the file may be missing, with it not */
	ck_assert_ptr_nonnull(load());
	args.path = "sub/narwhal.ini";
	args.path_given = true;
	ck_assert_ptr_null(load());
	ck_assert_str_eq(
		buf_z(&errors), "sub/narwhal.ini: No such file or directory\n");
	args.path = ".";
	ck_assert_ptr_null(load());
	ck_assert_str_eq(buf_z(&errors), ".: Is a directory\n");
}
END_TEST

START_TEST(relative_paths)
{
	char expect[128];

	ck_assert_int_eq(mkdir("sub", 0755), 0);
	write_ini("sub/narwhal.ini",
		"[app]\napp = so:./x.so\nchdir = .\n"
		"[wsgi]\npythonpath = lib, /lib\n"
		"[log]\nerror-log = e.log\naccess-log = a.log\n"
		"[server]\nbind = unix:s\n");
	args.path = "sub/narwhal.ini";
	give((char *)"access-log=a.log");
	ck_assert_msg(load(), "%s", buf_z(&errors));
	snprintf(expect, sizeof(expect), "so:%s/sub/x.so", folder);
	ck_assert_str_eq(c->app, expect);
	snprintf(expect, sizeof(expect), "%s/sub", folder);
	ck_assert_str_eq(c->chdir, expect);
	snprintf(expect, sizeof(expect), "%s/sub/lib", folder);
	ck_assert_str_eq(c->pythonpath.v[0], expect);
	ck_assert_str_eq(c->pythonpath.v[1], "/lib");
	snprintf(expect, sizeof(expect), "%s/sub/e.log", folder);
	ck_assert_str_eq(c->error_log, expect);
	snprintf(expect, sizeof(expect), "%s/a.log", folder);
	ck_assert_str_eq(c->access_log, expect);
	snprintf(expect, sizeof(expect), "unix:%s/sub/s", folder);
	ck_assert_str_eq(c->addrs[0].text, expect);
}
END_TEST

START_TEST(options_and_env)
{
	must_load(APP "[options]\na = 1 ; x\nB.c-d = \"x ; y\"\nempty =\n"
		      "[env]\nNARWHAL_X = y\nNARWHAL_Z=\n[options]\nl = m\n");
	ck_assert_uint_eq(c->options.n, 4);
	ck_assert_str_eq(c->options.v[0].value, "1");
	ck_assert_str_eq(c->options.v[1].name, "B.c-d");
	ck_assert_str_eq(c->options.v[1].value, "x ; y");
	ck_assert_str_eq(c->options.v[2].value, "");
	ck_assert_str_eq(c->options.v[3].name, "l");
	ck_assert_int_eq(c->options.v[3].line, 11);
	ck_assert_int_eq(conf_apply_env(c), 0);
	ck_assert_str_eq(getenv("NARWHAL_X"), "y");
	ck_assert_str_eq(getenv("NARWHAL_Z"), "");
}
END_TEST

START_TEST(comments_and_hashes)
{
	must_load("[app]\napp = pkg.mod:app\n[server]\n"
		  "workers = 2   ; two of them\nkeepalive = 5 # seconds\n"
		  "[log]\nerror-log = /tmp/a#b.log\n");
	ck_assert_int_eq(c->workers, 2);
	ck_assert_int_eq(c->keepalive_ms, 5000);
	ck_assert_str_eq(c->error_log, "/tmp/a#b.log");
}
END_TEST

/* ---- faults ---- */

START_TEST(all_of_them)
{
	must_refuse("wrokers = 4\n"
		    "workers = 4\n"
		    "[server]\n"
		    "wrokers = 4\n"
		    "error_log = x\n"
		    "timeout = 5\n"
		    "workers = two\n"
		    "workers = 3\n"
		    "keepalive = 1e3\n"
		    "bind\n"
		    "[sevrer]\n"
		    "wrokers = 4\n"
		    "backlog = -1\n"
		    "[optoins]\n"
		    "anything = goes\n"
		    "[env]\n"
		    "A = 1\n"
		    "A = 2\n"
		    "[app\n"
		    "app = missing_colon\n",
		"narwhal.ini:1: wrokers: unknown key (did you mean "
		"'workers'?)\n"
		"narwhal.ini:2: workers: stands before the first section; it "
		"belongs in [server]\n"
		"narwhal.ini:4: wrokers: unknown key (did you mean "
		"'workers'?)\n"
		"narwhal.ini:5: error_log: unknown key (did you mean "
		"'error-log'?)\n"
		"narwhal.ini:6: timeout: belongs in [timeouts]\n"
		"narwhal.ini:7: workers: 'two' is not a number\n"
		"narwhal.ini:8: workers: already set on line 7\n"
		"narwhal.ini:9: keepalive: '1e3' is not a time (a number, then "
		"ms, s, m, h or nothing)\n"
		"narwhal.ini:10: bind: no '=' and no value (KEY = VALUE)\n"
		"narwhal.ini:11: [sevrer]: unknown section (did you mean "
		"'server'?)\n"
		"narwhal.ini:12: wrokers: unknown key (did you mean "
		"'workers'?)\n"
		"narwhal.ini:13: backlog: '-1' is not a number\n"
		"narwhal.ini:14: [optoins]: unknown section (did you mean "
		"'options'?)\n"
		"narwhal.ini:18: A: already set on line 17\n"
		"narwhal.ini:19: the section has no closing ]\n"
		"narwhal.ini:20: app: 'missing_colon' is not MODULE:CALLABLE, "
		"wsgi:MODULE or so:NAME\n");
}
END_TEST

START_TEST(on_the_command_line)
{
	give((char *)"wrokers=4");
	give((char *)"keepalive=-5");
	give((char *)"workers");
	give((char *)"options=x");
	give((char *)"chdir=a\nb");
	must_refuse(APP,
		"--wrokers: unknown key (did you mean '--workers'?)\n"
		"--keepalive: '-5' is not a time (a number, then ms, s, m, h "
		"or nothing)\n"
		"--workers: has no value (--KEY=VALUE)\n"
		"--options: unknown key\n"
		"--chdir: control byte in the value\n");
}
END_TEST

/* One fault, in one line of its own section. */
static const struct {
	const char *lines;
	const char *error; /* behind `narwhal.ini:4: ` */
} faults[] = {
	{"[server]\nbind = 127.0.0.1:99999",
		"bind: '127.0.0.1:99999' has no port from 0 to 65535 behind "
		"its colon"},
	{"[server]\nbind = 127.0.0.1:80, 127.0.0.1:80",
		"bind: '127.0.0.1:80' is there twice"},
	{"[server]\nbind = 127.0.0.1:80, 0.0.0.0:80",
		"bind: '127.0.0.1:80' and '0.0.0.0:80' cannot both be bound"},
	{"[server]\nbind = fd:3, fd:3", "bind: 'fd:3' is there twice"},
	{"[server]\nbind = ,", "bind: no address to listen on"},
	{"[server]\nworkers = 513", "workers: 513 is out of range (1 to 512)"},
	{"[buffers]\noutgoing-body-buffer-chunks = 1024\n"
	 "outgoing-body-chunk-size = 257k",
		"outgoing-body-buffer-chunks: 1024 x outgoing-body-chunk-size "
		"257k is more than 256m"},
	{"[buffers]\noutgoing-body-chunk-size = 16777215",
		NULL}, /* 16 x that is just less */
	{"[buffers]\noutgoing-body-chunk-size = 17m",
		"outgoing-body-chunk-size: 17m is out of range (512 to 16m)"},
	{"[limits]\nrequest-line = 99999",
		"request-line: 99999 is more than request-head 64k"},
	{"[limits]\nrequest-field-size = 2k\nrequest-head = 1k",
		"request-field-size: 2k is more than request-head 1k"},
	{"[limits]\nrequest-line = 64k", NULL},
	/* lowering the head alone is no contradiction */
	{"[limits]\nrequest-head = 1k", NULL},
	{"[log]\nerror-log =", "error-log: no value (- is standard error)"},
	{"[log]\naccess-log-format =", "access-log-format: no value"},
	{"[log]\naccess-log = /nonexistent/a.log",
		"access-log: '/nonexistent/a.log': No such file or directory"},
	{"[log]\naccess-log = /tmp", "access-log: '/tmp': Is a directory"},
	{"[wsgi]\nvirtualenv = /dev/null",
		"virtualenv: '/dev/null': Not a directory"},
	{"[proxy]\nforwarded-allow-ips = 1.2.3.4/33", "forwarded-allow-ips: "},
};

START_TEST(fault)
{
	char ini[300], expect[300];

	snprintf(ini, sizeof(ini), APP "%s\n", faults[_i].lines);
	if (!faults[_i].error) {
		must_load(ini);
		return;
	}
	write_ini("narwhal.ini", ini);
	ck_assert_ptr_null(load());
	snprintf(expect, sizeof(expect), "narwhal.ini:4: %s", faults[_i].error);
	ck_assert_msg(!strncmp(buf_z(&errors), expect, strlen(expect)), "%s",
		buf_z(&errors));
	/* and no other */
	ck_assert_ptr_eq(strchr(errors.p, '\n'), errors.p + errors.len - 1);
}
END_TEST

START_TEST(no_application)
{
	must_refuse("[app]\n", "app: not set\n");
	must_refuse("[app]\napp =\n", "narwhal.ini:2: app: not set\n");
	args.app_optional = true;
	ck_assert_ptr_nonnull(load());
}
END_TEST

static const char *
refuse_format(const char *format)
{
	return strcmp(format, "bad") ? NULL : "is bad";
}

START_TEST(the_format_is_checked_by_who_knows_it)
{
	args.check_format = refuse_format;
	must_load(APP);
	must_refuse(APP "[log]\naccess-log-format = bad\n",
		"narwhal.ini:4: access-log-format: is bad\n");
}
END_TEST

START_TEST(descriptors)
{
	struct rlimit r = {120, 120};

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &r), 0);
	must_load(APP "[server]\nworker-connections = 103\n");
	must_refuse(APP "[server]\nworker-connections = 104\n",
		"narwhal.ini:4: worker-connections: 104 do not fit: 120 "
		"descriptors are allowed (ulimit -Hn), and a worker needs 17 "
		"for itself\n");
}
END_TEST

START_TEST(a_backlog_the_kernel_cuts)
{
	FILE *f = fopen("/proc/sys/net/core/somaxconn", "r");
	int max = 0;

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%d", &max), 1);
	fclose(f);
	if (max >= 65535)
		return;
	must_load(APP "[server]\nbacklog = 65535\n");
	ck_assert(!strncmp(buf_z(&notes),
		"narwhal.ini:4: backlog: 65535 is more than ", 43));
}
END_TEST

/* ---- addresses ---- */

START_TEST(several_addresses)
{
	must_load(APP "[server]\nbind = 127.0.0.1:0 127.0.0.1:0, [::]:80\n"
		      "[env]\n");
	ck_assert_uint_eq(c->naddrs, 3);
	must_load(APP "[server]\nbind = 0.0.0.0:80, [::]:80, fd:3\n");
	ck_assert_uint_eq(c->naddrs, 3);
	ck_assert_int_eq(c->addrs[2].fd, 3);
}
END_TEST

START_TEST(inherited_sockets)
{
	/* in the place of the default */
	args.listen_fds = 2;
	must_load(APP);
	ck_assert_uint_eq(c->naddrs, 2);
	ck_assert_str_eq(c->addrs[0].text, "fd:3");
	ck_assert_str_eq(c->addrs[1].text, "fd:4");
	/* beside what is set, but not twice */
	must_load(APP "[server]\nbind = 127.0.0.1:1, fd:4\n");
	ck_assert_uint_eq(c->naddrs, 3);
	ck_assert_str_eq(c->addrs[2].text, "fd:3");
}
END_TEST

START_TEST(too_many)
{
	args.listen_fds = CONF_ADDRS_MAX;
	must_load(APP);
	must_refuse(APP "[server]\nbind = 127.0.0.1:1\n",
		"narwhal.ini:4: bind: LISTEN_FDS gives too many addresses\n");
}
END_TEST

/* ---- as text ---- */

static char *
print(void)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	conf_print(c, f);
	fclose(f);
	return text;
}

/* Without the comments, which say where a value came from. */
static void
strip(char *text)
{
	char *p;

	while ((p = strstr(text, " ; ")))
		memmove(p, p + strcspn(p, "\n"),
			strlen(p + strcspn(p, "\n")) + 1);
}

START_TEST(printed_and_read_back)
{
	char *once, *again;

	setenv("WEB_CONCURRENCY", "3", 1);
	give((char *)"keepalive=7");
	must_load(APP "[options]\nq = \"\"\"x\"\" # y\"\ne =\nt = \" z \"\n"
		      "[server]\nbind = 127.0.0.1:1, unix:/tmp/x\n"
		      "[log]\naccess-log-format = \"\"\"%(r)s\"\" ; x\"\n");
	once = print();
	ck_assert_ptr_nonnull(strstr(once, "\nworkers = 3 ; environment\n"));
	ck_assert_ptr_nonnull(
		strstr(once, "\nkeepalive = 7s ; command line\n"));
	ck_assert_ptr_nonnull(strstr(once, "\nbacklog = 2048 ; default\n"));
	ck_assert_ptr_nonnull(strstr(
		once, "\nbind = 127.0.0.1:1, unix:/tmp/x ; narwhal.ini:8\n"));
	ck_assert_ptr_nonnull(
		strstr(once, "\nq = \"\"\"x\"\" # y\" ; narwhal.ini:4\n"));
	args.noverrides = 0;
	unsetenv("WEB_CONCURRENCY");
	must_load(once);
	ck_assert_str_eq(c->access_log_format, "\"%(r)s\" ; x");
	ck_assert_str_eq(c->options.v[2].value, " z ");
	again = print();
	strip(once);
	strip(again);
	ck_assert_str_eq(once, again);
	free(once);
	free(again);
}
END_TEST

START_TEST(values_for_applications)
{
	struct buf b;

	buf_init(&b);
	must_load(APP "[buffers]\ninput-block-size = 8k\n");
	ck_assert_str_eq(conf_value(c, "input-block-size", &b), "8192");
	ck_assert_str_eq(conf_value(c, "outgoing-flush-delay", &b), "5ms");
	ck_assert_str_eq(conf_value(c, "bind", &b), "127.0.0.1:8000");
	ck_assert_ptr_null(conf_value(c, "chdir", &b));
	ck_assert_ptr_null(conf_value(c, "no-such-key", &b));
	buf_done(&b);
}
END_TEST

START_TEST(names_for_the_command_line)
{
	const char *near;

	ck_assert_str_eq(conf_find_key("workers", &near), "workers");
	ck_assert_ptr_null(conf_find_key("worker", &near));
	ck_assert_str_eq(near, "workers");
	ck_assert_ptr_null(conf_find_key("q", &near));
	ck_assert_ptr_null(near);
}
END_TEST

static TCase *
tests(Suite *s, const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, setup, teardown);
	suite_add_tcase(s, tc);
	return tc;
}

Suite *
conf_suite(void)
{
	Suite *s = suite_create("conf");
	TCase *tc = tests(s, "sources");

	tcase_add_test(tc, defaults);
	tcase_add_test(tc, the_order);
	tcase_add_test(tc, the_last_of_the_command_line_counts);
	tcase_add_test(tc, a_bad_environment);
	tcase_add_test(tc, files);
	tcase_add_test(tc, relative_paths);
	tcase_add_test(tc, options_and_env);
	tcase_add_test(tc, comments_and_hashes);
	tc = tests(s, "faults");
	tcase_add_test(tc, all_of_them);
	tcase_add_test(tc, on_the_command_line);
	tcase_add_loop_test(tc, fault, 0, N(faults));
	tcase_add_test(tc, no_application);
	tcase_add_test(tc, the_format_is_checked_by_who_knows_it);
	/* a lowered hard limit stays; it must not be that of all tests */
	if (!getenv("CK_FORK") || strcmp(getenv("CK_FORK"), "no"))
		tcase_add_test(tc, descriptors);
	tcase_add_test(tc, a_backlog_the_kernel_cuts);
	tc = tests(s, "addresses");
	tcase_add_test(tc, several_addresses);
	tcase_add_test(tc, inherited_sockets);
	tcase_add_test(tc, too_many);
	tc = tests(s, "text");
	tcase_add_test(tc, printed_and_read_back);
	tcase_add_test(tc, values_for_applications);
	tcase_add_test(tc, names_for_the_command_line);
	return s;
}
