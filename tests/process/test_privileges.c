/*
 * test_privileges.c -- whom the workers run as, and what is theirs.
 *
 * Most of it only root can do; for others those tests say that they were
 * skipped.
 */
#include "process/harness.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *privileges_suite(void);

#define N(rows) ((int)(sizeof(rows) / sizeof(rows[0])))
#define WHOAMI "[app]\napp = " APP("whoami") "\n"

/* Numbers that no database knows. */
#define UID 4242
#define GID 4343
#define ACCOUNT "[process]\nuser = 4242\ngroup = 4343\n"
#define AS_ACCOUNT "uid 4242 4242 4242 gid 4343 4343 4343 groups 4343 "

static bool
can_run(const char *test)
{
	const char *why = geteuid() != 0 ? "not root"
		: !others_reach(NW_BUILD "/tests/whoami.so", UID)
		? "other users cannot reach " NW_BUILD
		: NULL;

	if (why)
		fprintf(stderr, "skipped: %s (%s)\n", test, why);
	return !why;
}

static void
must_be(const struct server *s, const char *pattern)
{
	struct answer a;

	get(s, "/", &a);
	MUST(a.status == 200 && count_matches(a.body.p, pattern) == 1,
		"not %s: %s", pattern, a.body.p);
	answer_done(&a);
}

static void
must_belong(const char *path, uid_t uid, gid_t gid, int mode)
{
	struct stat st;

	MUST(lstat(path, &st) == 0, "%s: %s", path, strerror(errno));
	MUST(st.st_uid == uid && st.st_gid == gid, "%s belongs to %u:%u", path,
		st.st_uid, st.st_gid);
	MUST((st.st_mode & 0777) == (mode_t)mode, "%s has mode %o", path,
		st.st_mode & 0777);
}

/* ---- who they are ---- */

START_TEST(workers_are_the_account)
{
	struct server s;
	pid_t pids[WORKERS_MAX];
	int n, i;

	if (!can_run("workers_are_the_account"))
		return;
	server_start(&s, "workers = 3\n" WHOAMI ACCOUNT);
	must_be(&s, "^" AS_ACCOUNT "umask [0-7]+ root no$");
	server_wait_workers(&s, 3);
	n = server_workers(&s, pids);
	for (i = 0; i < n; i++) /* one may have been forked just now */
		UNTIL(proc_status(pids[i], "Uid") == UID &&
			proc_status(pids[i], "Gid") == GID);
	MUST(proc_status(s.pid, "Uid") == 0, "the master is not root");
	MUST(server_count_log(&s, "\\[warning\\]") == 0, "a warning");
	server_stop(&s);
}
END_TEST

/*
 * An account that is in a second group; in a mount namespace with databases of
 * our own, so that the machine's are left alone.
 */
static void
use_databases(struct server *s)
{
	static const char passwd[] = "root:x:0:0::/root:/bin/sh\n"
				     "site:x:4242:4343::/:/bin/false\n",
			  group[] = "root:x:0:\nsite:x:4343:\n"
				    "second:x:4444:other,site\nthird:x:4545:\n";
	static char command[1000];
	const char *argv[] = {"unshare", "-m", "sh", "-c", command, "sh"};

	snprintf(command, sizeof(command),
		"mount --bind %s /etc/passwd && mount --bind %s /etc/group && "
		"exec \"$@\"",
		server_path(s, "passwd"), server_path(s, "group"));
	write_file(server_path(s, "passwd"), passwd, strlen(passwd));
	write_file(server_path(s, "group"), group, strlen(group));
	memcpy(s->prefix, argv, sizeof(argv));
	s->nprefix = N(argv);
}

static bool
can_mount(void)
{
	if (system("unshare -m mount -t tmpfs none /mnt 2>/dev/null") == 0)
		return true;
	fprintf(stderr, "skipped: groups_of_the_account (no namespaces)\n");
	return false;
}

static const struct {
	const char *account;
	const char *is;
} accounts[] = {
	{"user = site\n", "gid 4343 4343 4343 groups 4343 4444 "},
	{"user = 4242\n", "gid 4343 4343 4343 groups 4343 4444 "},
	{"user = site\ngroup = third\n",
		"gid 4545 4545 4545 groups (4444 4545|4545 4444) "},
};

START_TEST(groups_of_the_account)
{
	struct server s;
	char is[200];

	if (!can_run("groups_of_the_account") || !can_mount())
		return;
	server_init(&s);
	server_listen(&s);
	use_databases(&s);
	server_ini(&s, "[server]\nbind = fd:3\n" WHOAMI "[process]\n%s",
		accounts[_i].account);
	server_spawn(&s);
	server_wait_ready(&s);
	snprintf(is, sizeof(is), "^uid 4242 4242 4242 %s", accounts[_i].is);
	must_be(&s, is);
	server_stop(&s);
}
END_TEST

/* `group` alone takes root's other groups away, too. */
START_TEST(group_alone)
{
	struct server s;

	if (!can_run("group_alone"))
		return;
	server_start(&s, WHOAMI "[process]\ngroup = 4343\n");
	must_be(&s, "^uid 0 0 0 gid 4343 4343 4343 groups 4343 ");
	server_stop(&s);
}
END_TEST

START_TEST(root_is_warned)
{
	static const char says[] = "\\[warning\\].*root.*user = NAME";
	struct server s;

	if (geteuid() != 0) {
		fprintf(stderr, "skipped: root_is_warned (not root)\n");
		return;
	}
	server_start(&s, WHOAMI);
	MUST(server_count_log(&s, says) == 1, "no warning");
	must_be(&s, "^uid 0 0 0 ");
	server_reload(&s, WHOAMI "[process]\nuser = root\n");
	MUST(server_count_log(&s, says) == 1, "warned of what was asked for");
	must_be(&s, "^uid 0 0 0 ");
	server_stop(&s);
}
END_TEST

/* ---- who they cannot be ---- */

static void
add_prefix(struct server *s, const char *const *argv, int n)
{
	memcpy(s->prefix, argv, (size_t)n * sizeof(*argv));
	s->nprefix = n;
}

START_TEST(each_failure_is_fatal)
{
	static const char *const without_setgid[] = {"setpriv",
		"--bounding-set", "-setgid", "--inh-caps", "-setgid"};
	static const char *const without_setuid[] = {"setpriv",
		"--bounding-set", "-setuid", "--inh-caps", "-setuid"};
	struct server s;
	int status;

	if (!can_run("each_failure_is_fatal"))
		return;
	server_init(&s);
	server_ini(&s,
		"[server]\nbind = unix:%s\n" WHOAMI ACCOUNT "pidfile = %s\n",
		server_path(&s, "socket"), server_path(&s, "pid"));
	add_prefix(&s, _i ? without_setuid : without_setgid, 5);
	status = server_run(&s);
	MUST(status == 3, "exit status %d", status);
	MUST(server_count_log(&s,
		     _i ? "cannot run as user 4242, group 4343: setuid: "
			: "cannot run as user 4242, group 4343: "
			  "initgroups: ") == 1,
		"no reason");
	MUST(access(server_path(&s, "socket"), F_OK) == -1, "socket left");
	MUST(access(server_path(&s, "pid"), F_OK) == -1, "pid file left");
	server_done(&s);
}
END_TEST

static const struct {
	const char *line;
	const char *says;
} faults[] = {
	{"user = no_such_user_x", ":6: user: 'no_such_user_x': no such user$"},
	{"user = 99999999999", ":6: user: '99999999999': no such user$"},
	{"user = 4242", ":6: user: '4242' has no entry .* set group too$"},
	{"group = 99999999999", ":6: group: '99999999999': no such group$"},
	{"umask = 9", ":6: umask: '9' is not an octal number$"},
	{"umask = 02000", ":6: umask: 02000 is out of range"},
	{"pidfile = none/pid", ":6: pidfile: '.*/none/pid': No such file"},
	{"pidfile = .", ":6: pidfile: '.*': Is a directory$"},
	{"daemon = perhaps", ":6: daemon: 'perhaps' is not yes or no$"},
	{"daemon = yes", ":6: daemon: error-log is -"},
	{"usr = x", ":6: usr: unknown key \\(did you mean 'user'\\?\\)$"},
};

/* At load: nothing has been bound, locked or forked by then. */
START_TEST(faults_of_the_section)
{
	struct server s;
	int status;

	server_init(&s);
	server_ini(&s,
		"[app]\napp = so:hello\n"
		"[server]\nbind = unix:%s\n"
		"[process]\n%s\n%s\n",
		server_path(&s, "socket"), faults[_i].line,
		strstr(faults[_i].line, "pidfile") ? "" : "pidfile = pid");
	status = server_run(&s);
	MUST(status == 2, "%s: exit status %d", faults[_i].line, status);
	MUST(server_count_log(&s, faults[_i].says) == 1, "%s", faults[_i].line);
	MUST(server_count_log(&s, "^.") == 1, "more than one line");
	MUST(access(server_path(&s, "socket"), F_OK) == -1, "a socket");
	MUST(access(server_path(&s, "pid"), F_OK) == -1, "a pid file");
	server_done(&s);
}
END_TEST

static const struct {
	const char *arg;
	int status;
	const char *says;
} ordinary[] = {
	{"--user=root", 2, "--user: 'root': only root can start"},
	{"--group=root", 2, "--group: 'root': only root can start"},
	{"--user=4242", 0, NULL},
	{"--group=4343", 0, NULL},
};

/* An ordinary user can name himself and nobody else. */
START_TEST(as_an_ordinary_user)
{
	static const char *const somebody[] = {
		"setpriv", "--reuid=4242", "--regid=4343", "--clear-groups"};
	struct server s;
	int status;

	if (!can_run("as_an_ordinary_user"))
		return;
	server_init(&s);
	s.no_file = true;
	shell(&s, "chmod 755 .");
	add_prefix(&s, somebody, N(somebody));
	server_arg(&s, "-t");
	server_arg(&s, "--app=" APP("whoami"));
	server_arg(&s, ordinary[_i].arg);
	status = server_run(&s);
	MUST(status == ordinary[_i].status, "%s: exit status %d",
		ordinary[_i].arg, status);
	MUST(!ordinary[_i].says || server_count_log(&s, ordinary[_i].says) == 1,
		"%s", ordinary[_i].arg);
	server_done(&s);
}
END_TEST

/* -t loads the application, so not as root either. */
START_TEST(check_loads_as_the_account)
{
	struct server s;

	if (!can_run("check_loads_as_the_account"))
		return;
	server_init(&s);
	server_ini(&s, WHOAMI ACCOUNT);
	server_arg(&s, "-t");
	MUST(server_run(&s) == 0, "exit status");
	MUST(server_count_log(&s, "whoami: opened as 4242") == 1, "not so");
	server_done(&s);
}
END_TEST

/* ---- what they own ---- */

START_TEST(umask_of_the_workers)
{
	struct server s;

	server_start(&s, WHOAMI "[process]\numask = 0137\n");
	must_be(&s, " umask 137 ");
	server_reload(&s, WHOAMI "[process]\numask = 0\n");
	must_be(&s, " umask 000 ");
	server_stop(&s);
}
END_TEST

/* The socket follows a reload, and stays the same one. */
START_TEST(owner_of_the_socket)
{
	struct server s;
	const char *path;
	struct stat before, after;

	if (!can_run("owner_of_the_socket"))
		return;
	server_init(&s);
	path = strdup(server_path(&s, "socket"));
	server_ini(&s, "[server]\nbind = unix:%s\n" WHOAMI ACCOUNT, path);
	server_spawn(&s);
	server_wait_ready(&s);
	must_belong(path, UID, GID, 0660);
	MUST(stat(path, &before) == 0, "stat");
	server_ini(&s,
		"[server]\nbind = unix:%s\nunix-socket-mode = 0600\n" WHOAMI
		"[process]\nuser = 4243\ngroup = 4344\n",
		path);
	server_signal(&s, SIGHUP);
	server_wait_log(&s, RELOADED);
	must_belong(path, 4243, 4344, 0600);
	server_ini(&s, "[server]\nbind = unix:%s\n" WHOAMI, path);
	server_signal(&s, SIGHUP);
	server_wait_log(&s, RELOADED);
	must_belong(path, 0, getegid(), 0660);
	MUST(stat(path, &after) == 0 && after.st_ino == before.st_ino,
		"another socket");
	server_stop(&s);
}
END_TEST

/* A refused reload has not given the socket away. */
START_TEST(owner_after_a_refused_reload)
{
	struct server s;

	if (!can_run("owner_after_a_refused_reload"))
		return;
	server_init(&s);
	server_ini(&s, "[server]\nbind = unix:%s\n" WHOAMI ACCOUNT,
		server_path(&s, "socket"));
	server_spawn(&s);
	server_wait_ready(&s);
	server_ini(&s,
		"[server]\nbind = unix:%s\n[app]\napp = " APP(
			"openfails") "\n[process]\nuser = 4243\ngroup = 4344\n",
		server_path(&s, "socket"));
	server_signal(&s, SIGHUP);
	server_wait_log(&s, REFUSED);
	must_belong(server_path(&s, "socket"), UID, GID, 0660);
	server_stop(&s);
}
END_TEST

/* A reload to another account: its workers are that one's. */
START_TEST(reload_changes_the_account)
{
	struct server s;

	if (!can_run("reload_changes_the_account"))
		return;
	server_start(&s, WHOAMI ACCOUNT);
	must_be(&s, "^" AS_ACCOUNT);
	server_reload(&s, WHOAMI "[process]\nuser = 4243\ngroup = 4344\n");
	must_be(&s, "^uid 4243 4243 4243 gid 4344 4344 4344 groups 4344 ");
	server_ini(&s,
		"[server]\nbind = fd:3\n" WHOAMI
		"[process]\nuser = no_such_user_x\n");
	server_signal(&s, SIGHUP);
	server_wait_log(&s, "narwhal\\.ini:6: user: 'no_such_user_x'");
	server_wait_log(&s, REFUSED);
	must_be(&s, "^uid 4243 4243 4243 ");
	server_stop(&s);
}
END_TEST

/* ---- logs ---- */

static void
start_logging(struct server *s)
{
	server_init(s);
	server_listen(s);
	shell(s, "mkdir -m 0755 logs");
	server_ini(s,
		"[server]\nbind = fd:3\n" WHOAMI ACCOUNT
		"[log]\nerror-log = logs/error\naccess-log = logs/access\n");
}

static void
spawn_logging(struct server *s)
{
	server_spawn(s);
	strcpy(s->log, server_path(s, "logs/error"));
	server_wait_ready(s);
}

/* In root's folder, where the workers could not open anything. */
START_TEST(logs_reopened_after_the_drop)
{
	struct server s;
	pid_t worker;

	if (!can_run("logs_reopened_after_the_drop"))
		return;
	start_logging(&s);
	spawn_logging(&s);
	worker = server_worker(&s);
	must_be(&s, "^" AS_ACCOUNT);
	shell(&s, "mv logs/error logs/error.1 && mv logs/access logs/access.1");
	server_signal(&s, SIGUSR1);
	server_wait_log(&s, "reopened");
	must_be(&s, "^" AS_ACCOUNT);
	UNTIL(access(server_path(&s, "logs/access"), F_OK) == 0);
	UNTIL(count_matches(read_file(server_path(&s, "logs/access"), NULL),
		      "GET / ") == 1);
	MUST(server_worker(&s) == worker, "another worker");
	must_belong(server_path(&s, "logs/error"), 0, getegid(), 0644);
	server_stop(&s);
}
END_TEST

/* The folder is the workers', and one of them has put a link there. */
START_TEST(planted_links)
{
	struct server s;

	if (!can_run("planted_links"))
		return;
	start_logging(&s);
	shell(&s,
		"chown 4242:4343 logs && ln -s ../victim logs/access && "
		"chown -h 4242:4343 logs/access");
	server_arg(&s, "-t");
	MUST(server_run(&s) == 2, "exit status of -t");
	s.nargs--;
	MUST(server_run(&s) == 2, "exit status");
	MUST(server_count_log(&s,
		     "narwhal\\.ini:[0-9]+: access-log: '.*': A link on the way "
		     "belongs to another user$") == 2,
		"not told twice");
	MUST(access(server_path(&s, "victim"), F_OK) == -1, "followed");
	shell(&s, "rm logs/access");
	spawn_logging(&s);
	shell(&s,
		"mv logs/access logs/old && ln -s ../victim logs/access && "
		"chown -h 4242:4343 logs/access");
	server_signal(&s, SIGUSR1);
	server_wait_log(&s,
		"cannot reopen '.*/access': A link on the way belongs to "
		"another user; the old file stays");
	must_be(&s, "^" AS_ACCOUNT);
	MUST(access(server_path(&s, "victim"), F_OK) == -1, "followed");
	UNTIL(count_matches(read_file(server_path(&s, "logs/old"), NULL),
		      "GET / ") == 1);
	server_stop(&s);
}
END_TEST

/* The same with a hard link: the file is root's, and private. */
START_TEST(planted_hard_links)
{
	struct server s;

	if (!can_run("planted_hard_links"))
		return;
	start_logging(&s);
	spawn_logging(&s);
	shell(&s,
		"chown 4242:4343 logs && (umask 077; echo secret >victim) && "
		"mv logs/access logs/old && ln victim logs/access");
	server_signal(&s, SIGUSR1);
	server_wait_log(&s,
		"cannot reopen '.*/access': It has other names.*; the old "
		"file stays");
	must_be(&s, "^" AS_ACCOUNT);
	UNTIL(count_matches(read_file(server_path(&s, "logs/old"), NULL),
		      "GET / ") == 1);
	shell(&s, "test \"$(cat victim)\" = secret");
	server_stop(&s);
}
END_TEST

/* umask makes new logs private as well. */
START_TEST(mode_of_logs)
{
	struct server s;

	server_init(&s);
	server_listen(&s);
	server_ini(&s,
		"[server]\nbind = fd:3\n" WHOAMI "[process]\numask = 027\n"
		"[log]\nerror-log = error\n");
	server_spawn(&s);
	server_wait_ready(&s);
	must_belong(server_path(&s, "error"), geteuid(), getegid(), 0640);
	server_stop(&s);
}
END_TEST

Suite *
privileges_suite(void)
{
	Suite *suite = suite_create("privileges");
	TCase *tc = harness_case(suite, "who");

	tcase_add_test(tc, workers_are_the_account);
	tcase_add_loop_test(tc, groups_of_the_account, 0, N(accounts));
	tcase_add_test(tc, group_alone);
	tcase_add_test(tc, root_is_warned);
	tc = harness_case(suite, "refused");
	tcase_add_loop_test(tc, each_failure_is_fatal, 0, 2);
	tcase_add_loop_test(tc, faults_of_the_section, 0, N(faults));
	tcase_add_loop_test(tc, as_an_ordinary_user, 0, N(ordinary));
	tcase_add_test(tc, check_loads_as_the_account);
	tc = harness_case(suite, "owned");
	tcase_add_test(tc, umask_of_the_workers);
	tcase_add_test(tc, owner_of_the_socket);
	tcase_add_test(tc, owner_after_a_refused_reload);
	tcase_add_test(tc, reload_changes_the_account);
	tc = harness_case(suite, "logs");
	tcase_add_test(tc, logs_reopened_after_the_drop);
	tcase_add_test(tc, planted_links);
	tcase_add_test(tc, planted_hard_links);
	tcase_add_test(tc, mode_of_logs);
	return suite;
}
