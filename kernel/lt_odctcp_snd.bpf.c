/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* One-sided DCTCP, the sending half, for receivers of classic ECN (ODCTCP section 5.1). Twin of
 * crates/tcp/src/cc/dctcp.rs with the decoder feedback/one_sided.rs.
 *
 * It does not set TCP_CONG_NEEDS_ECN: a SYN with ECT(0) in the IP header makes a Linux listener
 * without such a control refuse ECN. The connecting end requests classic ECN
 * (net.ipv4.tcp_ecn = 1). All bytes that an ACK with ECE acknowledges count as marked; CWR after
 * each cut ends the receiver's latch. Without negotiated ECN it is NewReno. */
#include "sender.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

LT_RULE _Bool lt_on_ack(struct lt_dctcp *d, const struct lt_dctcp_params *p,
			const struct lt_ack *ack)
{
	return lt_dctcp_ack(d, p, ack);
}

SEC("struct_ops")
void BPF_PROG(odctcp_snd_init, struct sock *sk)
{
	lt_sender_init(sk);
}

SEC("struct_ops")
void BPF_PROG(odctcp_snd_cong_control, struct sock *sk, __u32 ack, int flag,
	      const struct rate_sample *rs)
{
	lt_sender_ack(sk, flag, 0);
}

SEC("struct_ops")
void BPF_PROG(odctcp_snd_set_state, struct sock *sk, __u8 state)
{
	lt_on_state(lt_tcp(sk), lt_state(sk), state, 1);
}

SEC("struct_ops")
void BPF_PROG(odctcp_snd_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	lt_sender_event(sk, event);
}

SEC("struct_ops")
__u32 BPF_PROG(odctcp_snd_ssthresh, struct sock *sk)
{
	return lt_sender_ssthresh(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(odctcp_snd_undo_cwnd, struct sock *sk)
{
	return lt_sender_undo(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops lt_odctcp_snd = {
	.init = (void *)odctcp_snd_init,
	.cong_control = (void *)odctcp_snd_cong_control,
	.set_state = (void *)odctcp_snd_set_state,
	.cwnd_event = (void *)odctcp_snd_cwnd_event,
	.ssthresh = (void *)odctcp_snd_ssthresh,
	.undo_cwnd = (void *)odctcp_snd_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "lt_odctcp_snd",
};
