/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The parts of the kernel's types that the controls use. CO-RE: only names and types matter here;
 * libbpf takes the offsets from the running kernel's BTF. */
#ifndef LOWTIDE_KERNEL_BPF_H
#define LOWTIDE_KERNEL_BPF_H

#ifdef LOWTIDE_HOST
#include "host/kernel.h"
#else

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u64 __be64;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define LT_CORE __attribute__((preserve_access_index))

struct in6_addr {
	__u8 in6_u[16];
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} LT_CORE;

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
} LT_CORE;

struct tcp_congestion_ops;

struct inet_connection_sock {
	const struct tcp_congestion_ops *icsk_ca_ops;
	__u32 icsk_rto;
	__u8 icsk_ca_state : 5;
	struct {
		__u8 pending;
	} icsk_ack;
	__u64 icsk_ca_priv[13];
} LT_CORE;

struct minmax_sample {
	__u32 v;
} LT_CORE;

struct minmax {
	struct minmax_sample s[3];
} LT_CORE;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 mss_cache;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 delivered;
	__u32 delivered_ce;
	__u32 data_segs_out;
	__u8 is_cwnd_limited : 1;
	__u32 max_packets_out;
	__u8 ecn_flags;
	__u32 rcv_nxt;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 srtt_us;
	__u32 packets_out;
	__u32 lsndtime;
	struct {
		__u32 rtt_us;
	} rack;
	struct minmax rtt_min;
} LT_CORE;

enum tcp_ca_event {
	CA_EVENT_TX_START = 0,
	CA_EVENT_CWND_RESTART = 1,
	CA_EVENT_COMPLETE_CWR = 2,
	CA_EVENT_LOSS = 3,
	CA_EVENT_ECN_NO_CE = 4,
	CA_EVENT_ECN_IS_CE = 5,
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} LT_CORE;

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
} LT_CORE;

/* The members that libbpf fills, by name, in the kernel's struct. The loader changes the first two:
 * crates/kernel/src/bpf/objects.rs has their offsets. */
struct tcp_congestion_ops {
	__u32 flags;
#ifndef LT_NO_TX_START
	void (*cwnd_event_tx_start)(struct sock *);	/* not in every kernel */
#endif
	__u32 (*ssthresh)(struct sock *);
	void (*set_state)(struct sock *, __u8);
	void (*cwnd_event)(struct sock *, enum tcp_ca_event);
	/* Kernels differ in the further arguments. */
	void (*cong_control)(struct sock *);
	__u32 (*undo_cwnd)(struct sock *);
	char name[16];
	void (*init)(struct sock *);
} LT_CORE;

#define LT_PARAMS SEC(".rodata.params") const volatile
#define LT_READ_BITFIELD(s, field) BPF_CORE_READ_BITFIELD(s, field)

#endif

/* Values of the kernel's interfaces, as in include/net/tcp.h and include/linux/tcp.h. */
#define TCP_SYN_SENT 2
#define TCP_CA_Open 0
#define TCP_CA_CWR 2
#define TCP_CA_Recovery 3
#define TCP_CA_Loss 4
#define TCP_ECN_MODE_RFC3168 1	/* ecn_flags: classic ECN; both modes: negotiation is pending */
#define TCP_ECN_QUEUE_CWR 2	/* ecn_flags: the next new data carries CWR */
#define TCP_ECN_DEMAND_CWR 4	/* ecn_flags: ACKs carry ECE */
#define TCP_ECN_MODE_ACCECN 16	/* ecn_flags: AccECN; unused by kernels without it */
#define TCP_ECN_MODE_ANY (TCP_ECN_MODE_RFC3168 | TCP_ECN_MODE_ACCECN)
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_INIT_CWND 10
#define ICSK_ACK_TIMER 2	/* icsk_ack.pending: a delayed ACK waits for its timer */
#define ICSK_ACK_NOW 0x10	/* icsk_ack.pending: send an ACK at once */
#define TCP_CONG_NEEDS_ECN 2
#define SOL_TCP 6
#define TCP_CONGESTION 13

#endif
