/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The callbacks that all controls share, and their registration. A file that includes this has
 * defined lt_on_ack, PREFIX_init and PREFIX_cong_control, in which the controls differ.
 *
 * ON_EVENT(sk, event) is called for each event of the kernel, after the sending half's own. */
#ifndef LOWTIDE_CALLBACKS_BPF_H
#define LOWTIDE_CALLBACKS_BPF_H

#define LT_CONTROL(prefix, control_flags, ON_EVENT)						\
char LICENSE[] SEC("license") = "Dual MIT/GPL";							\
												\
SEC("struct_ops")										\
void BPF_PROG(prefix##_set_state, struct sock *sk, __u8 state)					\
{												\
	lt_on_state(lt_tcp(sk), lt_state(sk), state, 1);					\
}												\
												\
SEC("struct_ops")										\
void BPF_PROG(prefix##_cwnd_event, struct sock *sk, enum tcp_ca_event event)			\
{												\
	lt_sender_event(sk, event);								\
	ON_EVENT(sk, event);									\
}												\
												\
SEC("struct_ops")										\
__u32 BPF_PROG(prefix##_ssthresh, struct sock *sk)						\
{												\
	return lt_sender_ssthresh(sk);								\
}												\
												\
SEC("struct_ops")										\
__u32 BPF_PROG(prefix##_undo_cwnd, struct sock *sk)						\
{												\
	return lt_sender_undo(sk);								\
}												\
												\
SEC(".struct_ops.link")										\
struct tcp_congestion_ops lt_##prefix = {							\
	.init = (void *)prefix##_init,								\
	.cong_control = (void *)prefix##_cong_control,						\
	.set_state = (void *)prefix##_set_state,						\
	.cwnd_event = (void *)prefix##_cwnd_event,						\
	.ssthresh = (void *)prefix##_ssthresh,							\
	.undo_cwnd = (void *)prefix##_undo_cwnd,						\
	.flags = TCP_CONG_NON_RESTRICTED | (control_flags),					\
	.name = "lt_" #prefix,									\
}

#endif
