/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* One-sided DCTCP, both halves (ODCTCP section 5). Twin of the scheme `odctcp`. */
#include "receiver.bpf.h"
#include "callbacks.bpf.h"

LT_RULE _Bool lt_on_ack(struct lt_dctcp *d, const struct lt_dctcp_params *p,
			const struct lt_ack *ack)
{
	return lt_dctcp_ack(d, p, ack);
}

SEC("struct_ops")
void BPF_PROG(odctcp_init, struct sock *sk)
{
	if (lt_keeps_ecn(sk))
		lt_sender_init(sk);
}

SEC("struct_ops")
void BPF_PROG(odctcp_cong_control, struct sock *sk, __u32 ack, int flag,
	      const struct rate_sample *rs)
{
	if (lt_keeps_ecn(sk))
		lt_sender_ack(sk, flag, 0);
}

LT_CONTROL(odctcp, TCP_CONG_NEEDS_ECN, lt_echo_delaying_cwr);
