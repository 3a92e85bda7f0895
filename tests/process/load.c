/*
 * load.c -- clients without pause.
 *
 * An error is: a refused or reset connection, one that ends without an
 * answer, an answer that is not 200.  The end of a kept connection is none if
 * the last answer announced it.
 */
#include "process/load.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hitter {
	struct load *load;
	pthread_t thread;
	bool keep;
	int64_t longest_ms; /* from the request to the end of its answer */
	char error[300];
};

struct load {
	int port, n;
	bool post;
	char target[200];
	atomic_bool stop;
	atomic_long count;
	struct hitter hitters[];
};

static bool
hit(struct hitter *h, struct client *c, bool *ret_close)
{
	struct answer a = {0};
	char text[400];
	bool good;

	snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\nHost: t\r\n%s%s",
		h->load->post ? "POST" : "GET", h->load->target,
		h->keep ? "" : "Connection: close\r\n",
		h->load->post ? "Content-Length: 5\r\n\r\nhello" : "\r\n");
	good = client_try_send(c, text, strlen(text)) &&
		client_try_read(c, &a, false);
	if (!good)
		snprintf(h->error, sizeof(h->error), "%s (received: %.100s)",
			c->error, a.head ? a.head : "nothing");
	else if (a.status != 200)
		snprintf(h->error, sizeof(h->error), "status %d", a.status);
	good = good && a.status == 200;
	*ret_close = a.close;
	answer_done(&a);
	return good;
}

static void *
keep_hitting(void *arg)
{
	struct hitter *h = arg;
	bool open = false, close = false;
	int64_t began, ms;
	struct client c;

	while (!atomic_load(&h->load->stop)) {
		began = now_ms();
		if (!open && !client_try_port(&c, h->load->port, 0)) {
			snprintf(h->error, sizeof(h->error), "connect: %s",
				c.error);
			break;
		}
		open = true;
		if (!hit(h, &c, &close))
			break;
		ms = now_ms() - began;
		if (ms > h->longest_ms)
			h->longest_ms = ms;
		atomic_fetch_add(&h->load->count, 1);
		if (close || !h->keep) {
			client_done(&c);
			open = false;
		}
	}
	if (open)
		client_done(&c);
	return NULL;
}

static struct load *
start(int port, int n, const char *target, bool post)
{
	struct load *l =
		calloc(1, sizeof(*l) + (size_t)n * sizeof(l->hitters[0]));
	int i;

	MUST(l, "out of memory");
	l->port = port;
	l->n = n;
	l->post = post;
	snprintf(l->target, sizeof(l->target), "%s", target);
	for (i = 0; i < n; i++) {
		l->hitters[i].load = l;
		l->hitters[i].keep = i % 2;
		MUST(pthread_create(&l->hitters[i].thread, NULL, keep_hitting,
			     &l->hitters[i]) == 0,
			"thread");
	}
	return l;
}

struct load *
load_start(int port, int n, const char *target)
{
	return start(port, n, target, false);
}

struct load *
load_start_posting(int port, int n, const char *target)
{
	return start(port, n, target, true);
}

long
load_count(const struct load *l)
{
	return atomic_load(&l->count);
}

void
load_stop_within(struct load *l, int64_t ms)
{
	int i;

	atomic_store(&l->stop, true);
	for (i = 0; i < l->n; i++)
		pthread_join(l->hitters[i].thread, NULL);
	for (i = 0; i < l->n; i++) {
		const struct hitter *h = &l->hitters[i];

		MUST(h->error[0] == '\0',
			"client %d (%s), %ld requests in all: %s", i,
			h->keep ? "kept" : "one each", load_count(l), h->error);
		MUST(h->longest_ms <= ms, "client %d (%s) waited %lld ms", i,
			h->keep ? "kept" : "one each",
			(long long)h->longest_ms);
	}
	free(l);
}

void
load_stop(struct load *l)
{
	load_stop_within(l, INT64_MAX);
}
