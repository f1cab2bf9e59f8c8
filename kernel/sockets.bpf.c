/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Lists the TCP sockets of this network namespace whose congestion control is one of ours, or was
 * before it became `reno`, with its private memory: alpha, window, cuts. A control cannot supply
 * `get_info`, so `ss` shows none of it. One lt_socket per socket, read by
 * crates/kernel/src/bpf/sockets.rs. */
#include "sender.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

LT_RULE _Bool lt_on_ack(struct lt_dctcp *d, const struct lt_dctcp_params *p,
			const struct lt_ack *ack)
{
	return 0;
}

/* Layout: as `Record` in crates/kernel/src/sockets.rs. */
struct lt_socket {
	char control[16];
	__u32 state;
	__u32 family;
	__u8 local[16];
	__u8 remote[16];
	__u32 local_port;
	__u32 remote_port;
	__u32 snd_cwnd;
	__u32 srtt_us;		/* in 1/8 us, as the kernel keeps it */
	__u32 ecn_mode;		/* bits of TCP_ECN_MODE_ANY */
	__u32 delivered;	/* segments */
	__u32 delivered_ce;	/* of these, segments that were reported as marked */
	__u32 fell_back;	/* a twin became `reno`, because ECN was not negotiated */
	struct lt_sender sender;
};

_Static_assert(sizeof(struct lt_socket) == 88 + 100, "as in sockets.rs");

SEC("iter/tcp")
int lt_sockets(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct lt_socket out = {};
	struct inet_connection_sock *icsk;
	struct tcp_sock *tp;

	if (!skc)
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	icsk = &tp->inet_conn;
	BPF_CORE_READ_STR_INTO(&out.control, icsk, icsk_ca_ops, name);
	bpf_core_read(&out.sender, sizeof(out.sender), &icsk->icsk_ca_priv);
	out.fell_back = out.sender.dctcp.window.cwnd == LT_FELL_BACK;
	if (!out.fell_back &&
	    (out.control[0] != 'l' || out.control[1] != 't' || out.control[2] != '_'))
		return 0;
	out.state = skc->skc_state;
	out.family = skc->skc_family;
	if (out.family == 2 /* AF_INET */) {
		*(__u32 *)out.local = skc->skc_rcv_saddr;
		*(__u32 *)out.remote = skc->skc_daddr;
	} else {
		bpf_core_read(out.local, sizeof(out.local), &skc->skc_v6_rcv_saddr);
		bpf_core_read(out.remote, sizeof(out.remote), &skc->skc_v6_daddr);
	}
	out.local_port = skc->skc_num;
	out.remote_port = __builtin_bswap16(skc->skc_dport);
	out.snd_cwnd = tp->snd_cwnd;
	out.srtt_us = tp->srtt_us;
	out.ecn_mode = lt_ecn_mode(tp);
	out.delivered = tp->delivered;
	out.delivered_ce = tp->delivered_ce;
	bpf_seq_write(ctx->meta->seq, &out, sizeof(out));
	return 0;
}
