/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Drives one control, compiled for this machine, from lines on standard input:
 *
 *	init MSS INITIAL SND_UNA SHIFT_G INITIAL_ALPHA IDLE_RESETS FLOOR
 *	accecn					the connection has AccECN, not classic ECN
 *	switch SND_CWND SND_SSTHRESH		the socket had another control until now
 *	state CA_STATE SND_UNA SND_NXT		the kernel changes its state
 *	ack CA_STATE SND_UNA SND_NXT CE LIMITED RTT_US	CE: marked segments that it reports
 *	idle					sending resumes after an idle time
 *	tx_start				the same, reported with an operation of its own
 *	undo
 *
 * After each line it prints cwnd and ssthresh in bytes, alpha in 2^-20, snd_cwnd in segments, and
 * whether CWR is due.
 */
#include <stdio.h>
#include <string.h>

#include "names.h"
#include TWIN

static __u64 now;

__u64 bpf_jiffies64(void)
{
	return now;
}

long bpf_setsockopt(void *sk, int level, int name, void *value, int len)
{
	(void)sk, (void)level, (void)name, (void)value, (void)len;
	return 0;
}

__u32 bpf_tcp_send_ack(struct tcp_sock *tp, __u32 rcv_nxt)
{
	(void)tp, (void)rcv_nxt;
	return 0;
}

int main(void)
{
	static struct tcp_sock tp;
	struct sock *sk = (struct sock *)&tp;
	struct lt_sender *s = lt_state(sk);
	lt_u8 mode = TCP_ECN_MODE_RFC3168;
	char verb[16];
	unsigned a, b, c, d, e, f, g;

	sk->__sk_common.skc_state = 1;	/* established */
	tp.inet_conn.icsk_rto = 50;
	sk->sk_max_pacing_rate = ~0ul;
	while (scanf("%15s", verb) == 1) {
		tp.ecn_flags = mode;
		if (!strcmp(verb, "init") &&
		    scanf("%u %u %u %u %u %u %u", &a, &b, &c, &d, &e, &f, &g) == 7) {
			tp.mss_cache = a;
			tp.snd_cwnd = b;
			tp.snd_una = tp.snd_nxt = c;
			lt_param = (struct lt_dctcp_params){ d, e, f, g };
			tp.snd_ssthresh = TCP_INFINITE_SSTHRESH;
			TWIN_OP(init_socket)(sk);
		} else if (!strcmp(verb, "accecn")) {
			mode = TCP_ECN_MODE_ACCECN;
		} else if (!strcmp(verb, "switch") && scanf("%u %u", &a, &b) == 2) {
			tp.snd_cwnd = a;
			tp.snd_ssthresh = b;
			tp.data_segs_out = 1;
			TWIN_OP(init_socket)(sk);
		} else if (!strcmp(verb, "state") && scanf("%u %u %u", &a, &b, &c) == 3) {
			tp.snd_una = b;
			tp.snd_nxt = c;
			TWIN_OP(set_state)(sk, a);
			tp.inet_conn.icsk_ca_state = a;
		} else if (!strcmp(verb, "ack") &&
			   scanf("%u %u %u %u %u %u", &a, &b, &c, &d, &e, &f) == 6) {
			tp.inet_conn.icsk_ca_state = a;
			tp.snd_una = b;
			tp.snd_nxt = c;
			tp.is_cwnd_limited = e;
			tp.rack.rtt_us = f;
			tp.packets_out = b != c;
			tp.delivered_ce += d;
			TWIN_OP(cong_control)(sk);
		} else if (!strcmp(verb, "idle")) {
			now += 1000;
			TWIN_OP(cwnd_event)(sk, CA_EVENT_TX_START);
			tp.lsndtime = now;
		} else if (!strcmp(verb, "tx_start")) {
			now += 1000;
			TWIN_OP(tx_start)(sk);
			tp.lsndtime = now;
		} else if (!strcmp(verb, "undo")) {
			tp.snd_cwnd = TWIN_OP(undo_cwnd)(sk);
		} else {
			fprintf(stderr, "unknown line: %s\n", verb);
			return 1;
		}
		printf("%u %u %u %u %u\n", s->dctcp.window.cwnd, s->dctcp.window.ssthresh,
		       s->dctcp.alpha, tp.snd_cwnd, !!(tp.ecn_flags & TCP_ECN_QUEUE_CWR));
		fflush(stdout);
	}
	return 0;
}
