/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Selects a congestion control for the sockets of a cgroup: at an active connect, before the SYN
 * is made, and on listeners, whose connections inherit it. At ESTABLISHED it would be too late for
 * the ECN flags of SYN and SYN-ACK. Sockets that exist already are untouched. */
#include "kernel.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Layout: as in crates/kernel/src/bpf/select.rs. */
struct lt_selection {
	char control[16];
	__u32 delack_max_us;	/* maximum delay of ACKs; 0: as the host's */
};

SEC(".rodata.params") const volatile struct lt_selection lt_selected = {};

struct bpf_sock_ops {
	__u32 op;
};

#define BPF_SOCK_OPS_TCP_CONNECT_CB 3
#define BPF_SOCK_OPS_TCP_LISTEN_CB 11
#define TCP_BPF_DELACK_MAX 1003

SEC("sockops")
int lt_select(struct bpf_sock_ops *ctx)
{
	char control[16];
	__u32 delack = lt_selected.delack_max_us;
	int i;

	if (ctx->op != BPF_SOCK_OPS_TCP_CONNECT_CB && ctx->op != BPF_SOCK_OPS_TCP_LISTEN_CB)
		return 1;
	for (i = 0; i < 16; i++)
		control[i] = lt_selected.control[i];
	bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, control, sizeof(control));
	if (delack)
		bpf_setsockopt(ctx, SOL_TCP, TCP_BPF_DELACK_MAX, &delack, sizeof(delack));
	return 1;
}
