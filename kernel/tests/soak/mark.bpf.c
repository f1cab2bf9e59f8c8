/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* For soak.sh on kernels without red: marks one of 64 data packets at random. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

SEC("tc")
int mark(struct __sk_buff *skb)
{
	if (skb->len > 1000 && bpf_get_prandom_u32() % 64 == 0)
		bpf_skb_ecn_set_ce(skb);
	return TC_ACT_OK;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
