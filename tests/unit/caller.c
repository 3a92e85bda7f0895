/*
 * caller.c -- an application's place: requests in, calls, responses out.
 */
#include "unit/caller.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

static const char *
find_setting(void *arg, const char *key)
{
	(void)arg;
	return strcmp(key, "workers") == 0 ? "3" : NULL;
}

static const char *
find_option(void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "colour") == 0 ? "blue" : NULL;
}

static int
option_at(void *arg, size_t i, const char **ret_name, const char **ret_value)
{
	(void)arg;
	if (i > 0)
		return -1;
	*ret_name = "colour";
	*ret_value = "blue";
	return 0;
}

static const struct api_settings lookups = {
	find_setting, find_option, option_at, NULL};

static const struct request_limits request_limits = {
	.head = {65536, 8190, 100, 8190}, .body = 1000, .block_size = 512};
static const struct conn_limits conn_limits = {
	.body_timeout_us = 10000000, .send_timeout_us = 10000000};

static struct flusher flusher;
static struct board_slot slot;
struct caller caller;

static void
release(void *arg)
{
	ck_assert_ptr_eq(arg, &caller);
	caller.released++;
}

int
caller_lend(const char *p, size_t n)
{
	return nw_write_release(&caller.api.handle, p, n, release, &caller);
}

void
caller_setup(void)
{
	caller.log_file = memfd_create("log", MFD_CLOEXEC);
	log_set_fd(caller.log_file);
	ck_assert_int_eq(flusher_init(&flusher, 16, 65536, 10000000), 0);
	caller.conn.fd = -1;
	caller.conn.flusher = &flusher;
	caller.conn.hooks = &caller.hooks;
	caller.conn.limits = &conn_limits;
	caller.conn.board = &slot;
	ck_assert_int_eq(
		request_init(&caller.request, &request_limits, &caller.conn),
		0);
	ck_assert_int_eq(response_init(&caller.response, &caller.conn), 0);
	api_init(&caller.api, &caller.request, &caller.response, &caller.conn,
		&caller.hooks, &lookups);
	caller.released = 0;
}

void
caller_teardown(void)
{
	if (caller.conn.fd != -1)
		close(caller.conn.fd);
	caller.conn.fd = -1;
	flusher_done(&flusher);
	request_done(&caller.request);
	response_done(&caller.response);
	log_set_fd(2);
	close(caller.log_file);
}

int
caller_log_lines(void)
{
	char p[16384];
	ssize_t n = pread(caller.log_file, p, sizeof(p), 0);
	int lines = 0;

	while (n > 0)
		lines += p[--n] == '\n';
	ck_assert_int_eq(ftruncate(caller.log_file, 0), 0);
	lseek(caller.log_file, 0, SEEK_SET);
	return lines;
}

void
caller_say(const char *p)
{
	ck_assert_int_eq(
		write(caller.client, p, strlen(p)), (ssize_t)strlen(p));
}

void
caller_begin(const char *wire)
{
	struct response_facts facts = {.keep_alive = true};
	struct sockaddr_storage sa = {.ss_family = AF_UNIX};
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	caller.client = pair[0];
	conn_take(&caller.conn, pair[1], &sa, sizeof(sa_family_t));
	request_reset(&caller.request);
	caller_say(wire);
	ck_assert_int_gt(request_receive_head(&caller.request), 0);
	ck_assert_int_eq(request_read_head(&caller.request), 0);
	ck_assert_uint_gt(caller.request.head_len, 0);
	facts.head_only = str_eq(caller.request.head.method, STR("HEAD"));
	facts.minor = caller.request.head.minor;
	facts.te_trailers = caller.request.framing.te_trailers;
	response_begin(&caller.response, &facts);
	api_reset(&caller.api);
}

const char *
caller_end(int result, bool *ret_keep)
{
	static char p[1 << 20];
	size_t n = 0;
	ssize_t got;
	bool keep;

	api_end(&caller.api);
	keep = response_end(&caller.response, result == -1);
	if (ret_keep)
		*ret_keep = keep;
	close(caller.conn.fd);
	caller.conn.fd = -1;
	while ((got = read(caller.client, p + n, sizeof(p) - 1 - n)) > 0)
		n += (size_t)got;
	close(caller.client);
	p[n] = '\0';
	return p;
}

const char *
caller_body(const char *wire)
{
	const char *p = strstr(wire, "\r\n\r\n");

	ck_assert_msg(p != NULL, "no head in '%s'", wire);
	return p + 4;
}

bool
is(nw_str s, const char *z)
{
	return str_eq((struct str){s.p, s.len}, str_of(z));
}
