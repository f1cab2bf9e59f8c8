/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* For a test only: lt_odctcp_snd without its own CWR. crates/cli/tests/privileged/kernel_cwr.rs
 * loads it to show what CWR does against a receiver of classic ECN.
 *
 * lt_kernel_cwr	sends CWR when the kernel does: tcp_enter_cwr queues it before cong_control runs
 * lt_no_cwr		sends none (with LT_WITHHELD): it also removes what the kernel has queued
 *
 * cong_control runs before the data that the ACK releases is sent, so no CWR escapes. */
#include "sender.bpf.h"
#include "callbacks.bpf.h"

LT_RULE _Bool lt_on_ack(struct lt_dctcp *d, const struct lt_dctcp_params *p,
			const struct lt_ack *ack)
{
	return lt_dctcp_ack(d, p, ack);
}

/* `kept`: the bits that the kernel has set and that remain. */
#define CWR_CONTROL(prefix, kept)								\
SEC("struct_ops")										\
void BPF_PROG(lt_##prefix##_init_socket, struct sock *sk)					\
{												\
	lt_sender_init(sk);									\
}												\
												\
SEC("struct_ops")										\
void BPF_PROG(lt_##prefix##_cong_control, struct sock *sk)					\
{												\
	struct tcp_sock *tp = lt_tcp(sk);							\
	__u8 queued = tp->ecn_flags & (kept);							\
												\
	lt_sender_ack(sk, 0);									\
	tp->ecn_flags = (tp->ecn_flags & ~TCP_ECN_QUEUE_CWR) | queued;				\
}												\
												\
LT_CALLBACKS(prefix, 0, lt_no_receiver)

#ifdef LT_WITHHELD
CWR_CONTROL(no_cwr, 0);
#else
CWR_CONTROL(kernel_cwr, TCP_ECN_QUEUE_CWR);
#endif
