/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Connections for soak.sh.
 *
 * traffic off DEVICE...: offloads of devices off
 * traffic sink PORT CONTROL...: reads and checks bytes; changes controls of its sockets
 * traffic open ADDRESS PORT SECONDS PARALLEL SEED CONTROL...: opens connections, switches controls
 *	mid-connection, waits, closes or resets
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST 256	/* connections at a time */
#define CHUNK 16384	/* bytes of a write */
#define END_WAIT 90	/* s, for the last bytes */
#define NO_PROGRESS 60000	/* ms without an acknowledgement after which a connection fails */

static volatile sig_atomic_t stopped;
static unsigned int state = 1;
static long chosen, absent, refused;

static void on_term(int signal)
{
	(void)signal;
	stopped = 1;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static unsigned int draw(unsigned int below)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % below;
}

static unsigned char byte_at(unsigned long position)
{
	return position * 7 + (position >> 8);
}

static int choose(int socket, const char *control)
{
	if (!setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, control, strlen(control)))
		return chosen++, 1;
	/* It is not loaded at the moment. */
	if (errno == ENOENT)
		return absent++, 0;
	printf("%s: %s\n", control, strerror(errno));
	return refused++, 0;
}

static int turn_off(char **devices)
{
	static const unsigned int offloads[] = { ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO };
	int handle = socket(AF_INET, SOCK_DGRAM, 0), failed = 0;

	for (; *devices; devices++) {
		for (int i = 0; i < 3; i++) {
			struct ethtool_value value = { .cmd = offloads[i] };
			struct ifreq request = { .ifr_data = (void *)&value };

			strncpy(request.ifr_name, *devices, IFNAMSIZ - 1);
			if (ioctl(handle, SIOCETHTOOL, &request)) {
				perror(*devices);
				failed = 1;
			}
		}
	}
	return failed;
}

static int sink(int port, char **controls, int count)
{
	static struct pollfd polled[MOST];
	static unsigned long got[MOST];
	static unsigned char bytes[1 << 16];
	long accepted = 0, ended = 0, reset = 0, wrong = 0;
	unsigned long long sum = 0;
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	double change = 0;
	int n = 1, on = 1;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	signal(SIGTERM, on_term);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener, (void *)&address, sizeof(address)) || listen(listener, 64))
		return perror("listen"), 1;
	polled[0] = (struct pollfd){ .fd = listener, .events = POLLIN };
	while (!stopped) {
		if (now() > change) {
			change = now() + 2;
			choose(listener, controls[draw(count)]);
		}
		if (poll(polled, n, 500) < 1)
			continue;
		for (int i = n - 1; i > 0; i--) {
			ssize_t read_now;

			if (!polled[i].revents)
				continue;
			read_now = read(polled[i].fd, bytes, sizeof(bytes));
			if (read_now > 0) {
				for (ssize_t j = 0; j < read_now; j++)
					wrong += bytes[j] != byte_at(got[i] + j);
				got[i] += read_now;
				sum += read_now;
				if (draw(400) == 0)
					choose(polled[i].fd, controls[draw(count)]);
			} else if (read_now == 0 || errno != EAGAIN) {
				*(read_now == 0 ? &ended : &reset) += 1;
				close(polled[i].fd);
				n--;
				polled[i] = polled[n];
				got[i] = got[n];
			}
		}
		if (polled[0].revents && n < MOST) {
			int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);

			if (fd >= 0) {
				accepted++;
				polled[n] = (struct pollfd){ .fd = fd, .events = POLLIN };
				got[n++] = 0;
			}
		}
	}
	printf("sink: accepted %ld, ended %ld, reset %ld, open %d, bytes %llu, wrong %ld; "
	       "controls chosen %ld, not loaded %ld, refused %ld\n",
	       accepted, ended, reset, n - 1, sum, wrong, chosen, absent, refused);
	return wrong > 0;
}

struct connection {
	int fd;			/* -1: none */
	unsigned long left, at;	/* bytes */
	double wake;		/* nothing is done before */
	int switches;		/* changes of the control that remain */
};

/* Without ECN a bottleneck may drop what it marks of others. */
static void say_failure(const struct connection *c, int error)
{
	char control[16] = "";
	struct tcp_info info = {};
	socklen_t length = sizeof(control);

	getsockopt(c->fd, IPPROTO_TCP, TCP_CONGESTION, control, &length);
	length = sizeof(info);
	getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &length);
	printf("send after %lu bytes by %s, %s ECN: %s; %u timeouts in a row, %u resent\n", c->at,
	       control, info.tcpi_options & TCPI_OPT_ECN ? "with" : "without", strerror(error),
	       info.tcpi_retransmits, info.tcpi_total_retrans);
}

static int opened(const char *to, int port, double seconds, int parallel, char **controls,
		  int count)
{
	static struct connection all[MOST];
	static struct pollfd polled[MOST];
	static unsigned char bytes[CHUNK];
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct linger abort_it = { .l_onoff = 1 };
	long tried = 0, closed = 0, aborted = 0, failed = 0, switched = 0, waits = 0;
	long delivered = 0, marked = 0, resent = 0, with_ecn = 0;
	unsigned long long sum = 0;
	double end = now() + seconds;

	signal(SIGTERM, on_term);
	inet_pton(AF_INET, to, &address.sin_addr);
	for (int i = 0; i < parallel; i++)
		all[i].fd = -1;
	for (;;) {
		double t = now();
		int live = 0;

		if (stopped && end > t)
			end = t;
		for (int i = 0; i < parallel; i++) {
			struct connection *c = &all[i];

			polled[i] = (struct pollfd){ .fd = -1, .events = POLLOUT };
			if (c->fd < 0) {
				int fd, limit = NO_PROGRESS;

				if (t >= end || t < c->wake)
					continue;
				fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
				choose(fd, controls[draw(count)]);
				setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit,
					   sizeof(limit));
				if (connect(fd, (void *)&address, sizeof(address)) &&
				    errno != EINPROGRESS) {
					perror("connect");
					failed++;
					close(fd);
					c->wake = t + 1;
					continue;
				}
				tried++;
				*c = (struct connection){ .fd = fd, .left = 2000u << draw(10),
							  .switches = draw(3) };
			}
			live++;
			if (t >= c->wake)
				polled[i].fd = c->fd;
		}
		if ((!live && t >= end) || t > end + END_WAIT) {
			failed += live;
			break;
		}
		poll(polled, parallel, 100);
		for (int i = 0; i < parallel; i++) {
			struct connection *c = &all[i];
			unsigned long size = c->left < CHUNK ? c->left : CHUNK;
			struct tcp_info info;
			socklen_t length = sizeof(info);
			ssize_t sent;

			if (polled[i].fd < 0 || !polled[i].revents)
				continue;
			for (unsigned long j = 0; j < size; j++)
				bytes[j] = byte_at(c->at + j);
			sent = send(c->fd, bytes, size, MSG_NOSIGNAL);
			if (sent < 0) {
				if (errno == EAGAIN)
					continue;
				say_failure(c, errno);
				failed++;
				close(c->fd);
				*c = (struct connection){ .fd = -1, .wake = now() + 0.2 };
				continue;
			}
			c->at += sent;
			c->left -= sent;
			sum += sent;
			if (c->switches && draw(6) == 0) {
				c->switches--;
				switched += choose(c->fd, controls[draw(count)]);
			}
			/* Some waits are longer than a retransmission timeout. */
			if (draw(40) == 0) {
				c->wake = now() + draw(250) / 100.;
				waits++;
			}
			if (c->left && t < end)
				continue;
			if (!getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &length)) {
				delivered += info.tcpi_delivered;
				marked += info.tcpi_delivered_ce;
				resent += info.tcpi_total_retrans;
				with_ecn += !!(info.tcpi_options & TCPI_OPT_ECN);
			}
			if (draw(8) == 0) {
				setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &abort_it,
					   sizeof(abort_it));
				aborted++;
			} else {
				closed++;
			}
			close(c->fd);
			*c = (struct connection){ .fd = -1, .wake = now() + draw(60) / 100. };
		}
	}
	printf("open: opened %ld, closed %ld, reset %ld, failed %ld, with ECN %ld, switched %ld, "
	       "waits %ld, bytes %llu; segments delivered %ld, marked %ld, resent %ld; "
	       "controls chosen %ld, not loaded %ld, refused %ld\n",
	       tried, closed, aborted, failed, with_ecn, switched, waits, sum, delivered, marked,
	       resent, chosen, absent, refused);
	return failed > 0;
}

int main(int count, char **words)
{
	if (count > 2 && !strcmp(words[1], "off"))
		return turn_off(words + 2);
	if (count > 3 && !strcmp(words[1], "sink"))
		return sink(atoi(words[2]), words + 3, count - 3);
	if (count > 7 && !strcmp(words[1], "open")) {
		state = atoi(words[6]);
		return opened(words[2], atoi(words[3]), atof(words[4]), atoi(words[5]), words + 7,
			      count - 7);
	}
	fprintf(stderr, "usage: off DEVICE... | sink PORT CONTROL... | "
			"open ADDRESS PORT SECONDS PARALLEL SEED CONTROL...\n");
	return 2;
}
