/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* For a test only: a control that the verifier refuses, because it writes a field of the socket
 * that only the kernel may write. */
#include "sender.bpf.h"
#include "callbacks.bpf.h"

LT_RULE _Bool lt_on_ack(struct lt_dctcp *d, const struct lt_dctcp_params *p,
			const struct lt_ack *ack)
{
	return 0;
}

SEC("struct_ops")
void BPF_PROG(lt_broken_init_socket, struct sock *sk)
{
	lt_sender_init(sk);
}

SEC("struct_ops")
void BPF_PROG(lt_broken_cong_control, struct sock *sk)
{
	lt_tcp(sk)->snd_una = 0;
}

LT_CALLBACKS(broken, 0, lt_no_receiver);
