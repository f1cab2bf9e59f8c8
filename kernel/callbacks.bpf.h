/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The callbacks of all controls, and their registration. */
#ifndef LOWTIDE_CALLBACKS_BPF_H
#define LOWTIDE_CALLBACKS_BPF_H

/* Older versions of bpftool, and Linux before 6.4, know the section `.struct_ops` alone. */
#ifndef LT_OPS_SECTION
#define LT_OPS_SECTION ".struct_ops.link"
#endif

/* lowtide's loader clears the member where the kernel lacks it. bpftool cannot: it needs an object
 * that was compiled with LT_NO_TX_START. */
#ifdef LT_NO_TX_START
#define LT_TX_START_PROGRAM(prefix)
#define LT_TX_START(prefix)
#else
#define LT_TX_START_PROGRAM(prefix)								\
SEC("struct_ops")										\
void BPF_PROG(lt_##prefix##_tx_start, struct sock *sk)						\
{												\
	lt_sender_tx_start(sk);									\
}
#define LT_TX_START(prefix) .cwnd_event_tx_start = (void *)lt_##prefix##_tx_start,
#endif

/* All callbacks but lt_PREFIX_init_socket and lt_PREFIX_cong_control. ON_EVENT(sk, event) is called
 * for each event of the kernel. Kernels report the start of sending as an event or with an
 * operation of its own, never with both. */
#define LT_CALLBACKS(prefix, control_flags, ON_EVENT)						\
char LICENSE[] SEC("license") = "Dual MIT/GPL";							\
												\
SEC("struct_ops")										\
void BPF_PROG(lt_##prefix##_set_state, struct sock *sk, __u8 state)				\
{												\
	lt_on_state(lt_tcp(sk), lt_state(sk), state, 1);					\
}												\
												\
SEC("struct_ops")										\
void BPF_PROG(lt_##prefix##_cwnd_event, struct sock *sk, enum tcp_ca_event event)		\
{												\
	if (event == CA_EVENT_TX_START)								\
		lt_sender_tx_start(sk);								\
	ON_EVENT(sk, event);									\
}												\
												\
LT_TX_START_PROGRAM(prefix)									\
												\
SEC("struct_ops")										\
__u32 BPF_PROG(lt_##prefix##_ssthresh, struct sock *sk)						\
{												\
	return lt_sender_ssthresh(sk);								\
}												\
												\
SEC("struct_ops")										\
__u32 BPF_PROG(lt_##prefix##_undo_cwnd, struct sock *sk)					\
{												\
	return lt_sender_undo(sk);								\
}												\
												\
SEC(LT_OPS_SECTION)										\
struct tcp_congestion_ops lt_##prefix = {							\
	.init = (void *)lt_##prefix##_init_socket,						\
	.cong_control = (void *)lt_##prefix##_cong_control,					\
	.set_state = (void *)lt_##prefix##_set_state,						\
	.cwnd_event = (void *)lt_##prefix##_cwnd_event,						\
	LT_TX_START(prefix)									\
	.ssthresh = (void *)lt_##prefix##_ssthresh,						\
	.undo_cwnd = (void *)lt_##prefix##_undo_cwnd,						\
	.flags = (control_flags),								\
	.name = "lt_" #prefix,									\
}

/* A control. A file that uses it has defined lt_on_ack. IS_USED(sk): the socket keeps the control.
 * DELACK_TIMEOUT(sk): the receiver's delayed-ACK timer seems to have released this ACK.
 * cong_control takes the socket alone, so that it loads whatever the kernel's further arguments. */
#define LT_CONTROL(prefix, control_flags, IS_USED, ON_EVENT, DELACK_TIMEOUT)			\
SEC("struct_ops")										\
void BPF_PROG(lt_##prefix##_init_socket, struct sock *sk)					\
{												\
	if (IS_USED(sk))									\
		lt_sender_init(sk);								\
}												\
												\
SEC("struct_ops")										\
void BPF_PROG(lt_##prefix##_cong_control, struct sock *sk)					\
{												\
	if (IS_USED(sk))									\
		lt_sender_ack(sk, DELACK_TIMEOUT(sk));						\
}												\
												\
LT_CALLBACKS(prefix, control_flags, ON_EVENT)

#endif
