/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* TDCTCP (Das and Sivalingam). Twin of crates/tcp/src/cc/tdctcp.rs; the receiving half is DCTCP's.
 *
 * The receiver's adaptive delayed-ACK timer (section IV-C) is not here: a congestion control may
 * not set that timer. TCP_BPF_DELACK_MAX of a sock_ops program bounds it per connection. */
#include "receiver.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

LT_RULE _Bool lt_on_ack(struct lt_dctcp *d, const struct lt_dctcp_params *p,
			const struct lt_ack *ack)
{
	return lt_tdctcp_ack(d, p, ack);
}

/* The rule of crates/tcp (AckSample::delack_suspected): the ACK covers fewer than two segments, has
 * the ECE of the ACK before, nothing is outstanding after it, and its round trip took a tick
 * longer than the least one. */
#define LT_TICK_US 10000

LT_RULE _Bool lt_delack_timeout(struct sock *sk, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = lt_tcp(sk);
	struct lt_sender *s = lt_state(sk);
	lt_u32 acked = tp->snd_una - s->dctcp.una;

	return acked && acked < 2 * tp->mss_cache && s->ece == !!(flag & FLAG_ECE) &&
	       tp->snd_una == tp->snd_nxt && rs->rtt_us > 0 &&
	       (lt_u32)rs->rtt_us >= tp->rtt_min.s[0].v + LT_TICK_US;
}

SEC("struct_ops")
void BPF_PROG(tdctcp_init, struct sock *sk)
{
	if (!lt_without_ecn(sk))
		lt_sender_init(sk);
}

SEC("struct_ops")
void BPF_PROG(tdctcp_cong_control, struct sock *sk, __u32 ack, int flag,
	      const struct rate_sample *rs)
{
	/* A cgroup selected it in SYN-SENT, before ECN was negotiated. */
	if (!lt_is_ready(lt_state(sk)) && lt_without_ecn(sk))
		return;
	lt_sender_ack(sk, flag, lt_delack_timeout(sk, flag, rs));
}

SEC("struct_ops")
void BPF_PROG(tdctcp_set_state, struct sock *sk, __u8 state)
{
	lt_on_state(lt_tcp(sk), lt_state(sk), state, 1);
}

SEC("struct_ops")
void BPF_PROG(tdctcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	lt_sender_event(sk, event);
	lt_receiver_event(sk, event, 0);
}

SEC("struct_ops")
__u32 BPF_PROG(tdctcp_ssthresh, struct sock *sk)
{
	return lt_sender_ssthresh(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(tdctcp_undo_cwnd, struct sock *sk)
{
	return lt_sender_undo(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops lt_tdctcp = {
	.init = (void *)tdctcp_init,
	.cong_control = (void *)tdctcp_cong_control,
	.set_state = (void *)tdctcp_set_state,
	.cwnd_event = (void *)tdctcp_cwnd_event,
	.ssthresh = (void *)tdctcp_ssthresh,
	.undo_cwnd = (void *)tdctcp_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.name = "lt_tdctcp",
};
