/*
 * forks.c -- an application that forks, and tells what its child found.
 *
 *	/return		the child tries a call and returns from handle
 *	/look		the child lists its descriptors and signals
 *	/stay		the child stays for as long as the file in option while
 *			is there; the parent answers at once
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit.h"

/* What look prints of itself. */
static const char command[] =
	"ls -l /proc/%ld/fd; grep -E '^Sig(Blk|Ign|Cgt)' /proc/%ld/status";

static pid_t
fork_noted(nw_request *r)
{
	pid_t child = fork();

	if (child > 0)
		note(r->server, "forks: child %ld", (long)child);
	return child;
}

static int
return_in_child(nw_request *r)
{
	int status;
	pid_t child = fork_noted(r);

	if (child == 0)
		return nw_start(r, 500, NULL) == -1 && errno == EBADF ? 0 : -1;
	if (child == -1 || waitpid(child, &status, 0) != child)
		return -1;
	return say(r, "child %s %d\n", WIFEXITED(status) ? "exit" : "signal",
		WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static int
look(nw_request *r)
{
	char line[256], out[8192];
	int until[2];
	size_t n = 0;
	FILE *f;
	pid_t child;

	if (pipe(until) == -1)
		return -1;
	child = fork_noted(r);
	if (child == 0) {
		close(until[0]);
		close(until[1]);
		for (;;)
			pause();
	}
	/* until fork() has returned there, too */
	close(until[1]);
	(void)!read(until[0], out, 1);
	close(until[0]);
	snprintf(line, sizeof(line), command, (long)child, (long)child);
	f = popen(line, "r");
	if (f) {
		n = fread(out, 1, sizeof(out), f);
		pclose(f);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return answer(r, 200, out, n);
}

static int
stay(nw_request *r)
{
	const char *file = nw_option(r->server, "while");
	pid_t child = fork_noted(r);

	if (child == 0) {
		while (file && access(file, F_OK) == 0)
			nap(5);
		_exit(0);
	}
	return child == -1 ? -1 : say(r, "answered\n");
}

static int
handle(nw_request *r, void *state)
{
	nw_str path = nw_path(r);

	(void)state;
	if (is_str(path, "/return"))
		return return_in_child(r);
	if (is_str(path, "/look"))
		return look(r);
	return stay(r);
}

const nw_app narwhal_app = {NW_APP_ABI, .handle = handle};
