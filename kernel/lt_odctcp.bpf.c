/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* One-sided DCTCP, both halves (ODCTCP section 5). Twin of the scheme `odctcp`. */
#include "receiver.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

LT_RULE _Bool lt_on_ack(struct lt_dctcp *d, const struct lt_dctcp_params *p,
			const struct lt_ack *ack)
{
	return lt_dctcp_ack(d, p, ack);
}

SEC("struct_ops")
void BPF_PROG(odctcp_init, struct sock *sk)
{
	if (!lt_without_ecn(sk))
		lt_sender_init(sk);
}

SEC("struct_ops")
void BPF_PROG(odctcp_cong_control, struct sock *sk, __u32 ack, int flag,
	      const struct rate_sample *rs)
{
	/* A cgroup selected it in SYN-SENT, before ECN was negotiated. */
	if (!lt_is_ready(lt_state(sk)) && lt_without_ecn(sk))
		return;
	lt_sender_ack(sk, flag, 0);
}

SEC("struct_ops")
void BPF_PROG(odctcp_set_state, struct sock *sk, __u8 state)
{
	lt_on_state(lt_tcp(sk), lt_state(sk), state, 1);
}

SEC("struct_ops")
void BPF_PROG(odctcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	lt_sender_event(sk, event);
	lt_receiver_event(sk, event, 1);
}

SEC("struct_ops")
__u32 BPF_PROG(odctcp_ssthresh, struct sock *sk)
{
	return lt_sender_ssthresh(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(odctcp_undo_cwnd, struct sock *sk)
{
	return lt_sender_undo(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops lt_odctcp = {
	.init = (void *)odctcp_init,
	.cong_control = (void *)odctcp_cong_control,
	.set_state = (void *)odctcp_set_state,
	.cwnd_event = (void *)odctcp_cwnd_event,
	.ssthresh = (void *)odctcp_ssthresh,
	.undo_cwnd = (void *)odctcp_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.name = "lt_odctcp",
};
