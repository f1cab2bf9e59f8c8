/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The kernel's interfaces for a build without a kernel: the same sources of the controls then run
 * as a program that a test drives (drive.c). */
#ifndef LOWTIDE_HOST_KERNEL_H
#define LOWTIDE_HOST_KERNEL_H

#include <stdint.h>

typedef uint8_t __u8;
typedef uint32_t __u32;
typedef uint64_t __u64;

struct sock {
	struct {
		__u8 skc_state;
	} __sk_common;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
};

struct inet_connection_sock {
	struct sock sk;
	__u32 icsk_rto;
	__u8 icsk_ca_state;
	struct {
		__u8 pending;
	} icsk_ack;
	__u64 icsk_ca_priv[13];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 mss_cache, snd_cwnd, snd_ssthresh, max_packets_out, rcv_nxt, snd_nxt, snd_una;
	__u32 srtt_us, packets_out, lsndtime, delivered, delivered_ce, data_segs_out;
	__u8 is_cwnd_limited, ecn_flags;
	struct {
		__u32 rtt_us;
	} rack;
	struct {
		struct {
			__u32 v;
		} s[3];
	} rtt_min;
};

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

struct tcp_congestion_ops {
	void *init, *ssthresh, *set_state, *cwnd_event, *cwnd_event_tx_start;
	void *cong_control, *undo_cwnd;
	char name[16];
	__u32 flags;
};

#define SEC(name)
#define BPF_PROG(name, args...) name(args)
#define LT_PARAMS
#define LT_READ_BITFIELD(s, field) ((s)->field)

/* Helpers and functions of the kernel; the driver defines them. */
__u64 bpf_jiffies64(void);
long bpf_setsockopt(void *sk, int level, int name, void *value, int len);
__u32 bpf_tcp_send_ack(struct tcp_sock *tp, __u32 rcv_nxt);

#endif
