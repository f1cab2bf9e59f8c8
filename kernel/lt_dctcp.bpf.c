/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* DCTCP at both ends (RFC 8257). Twin of crates/congestion/src/cc/dctcp.rs and ack/dctcp.rs.
 *
 * TCP_CONG_NEEDS_ECN makes SYN and ACKs ECN-capable and reports the ECN field of arriving data. A
 * connection whose peer refused ECN would go on sending ECN-capable packets that nobody echoes, so
 * it becomes `reno` in init. */
#include "receiver.bpf.h"
#include "callbacks.bpf.h"

LT_RULE _Bool lt_on_ack(struct lt_dctcp *d, const struct lt_dctcp_params *p,
			const struct lt_ack *ack)
{
	return lt_dctcp_ack(d, p, ack);
}

SEC("struct_ops")
void BPF_PROG(dctcp_init, struct sock *sk)
{
	if (lt_keeps_ecn(sk))
		lt_sender_init(sk);
}

SEC("struct_ops")
void BPF_PROG(dctcp_cong_control, struct sock *sk, __u32 ack, int flag,
	      const struct rate_sample *rs)
{
	if (lt_keeps_ecn(sk))
		lt_sender_ack(sk, flag, 0);
}

LT_CONTROL(dctcp, TCP_CONG_NEEDS_ECN, lt_echo_at_once);
