/*
 * replay.c -- run a fuzz target over files instead of under libFuzzer.
 *
 * Linked with one fuzz_*.c; the arguments are folders, each with at least one
 * input: one without has been lost or renamed.  A child does the work, so that
 * whatever it dies of, the parent can name the input.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_MAX_LEN 4096

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

struct shared {
	char path[PATH_MAX_LEN]; /* the input in hand */
	int n;
};

static void
run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *p;
	size_t n;

	if (!f || fseek(f, 0, SEEK_END) != 0)
		exit(2);
	n = (size_t)ftell(f);
	rewind(f);
	p = malloc(n ? n : 1); /* its exact size: overruns are seen */
	if (!p || fread(p, 1, n, f) != n)
		exit(2);
	LLVMFuzzerTestOneInput(p, n);
	free(p);
	fclose(f);
}

static void
run_folder(const char *folder, struct shared *s)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int before = s->n;

	snprintf(s->path, PATH_MAX_LEN, "%s, no input there", folder);
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(s->path, PATH_MAX_LEN, "%s/%s", folder, e->d_name);
		run_file(s->path);
		s->n++;
	}
	if (d)
		closedir(d);
	if (s->n == before)
		exit(3);
}

int
main(int argc, char **argv)
{
	struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int i, status;
	pid_t pid;

	if (s == MAP_FAILED || (pid = fork()) == -1)
		return 2;
	if (pid == 0) {
		for (i = 1; i < argc; i++)
			run_folder(argv[i], s);
		return 0;
	}
	if (waitpid(pid, &status, 0) != pid || status != 0) {
		printf("%s: failed at %s\n", argv[0], s->path);
		return 1;
	}
	printf("%s: %d inputs\n", argv[0], s->n);
	return 0;
}
