/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Output ports of a switch in the kernel's own path: step marking (DCTCP section 3.1) on the
 * clsact egress of a device that `tbf` or `fq` shapes. crates/kernel/src/bpf/bottleneck.rs loads
 * it and reads the counters.
 *
 * A virtual clock of the line says when each packet departs: at max(now, end of the last one) plus
 * its time on the line. So the queue in packets and bytes is known at each arrival, whatever holds
 * the packets. A token bucket of more than a packet is ahead of an ideal line by `lead`; the
 * clock has the same lead. A timer that is later than this costs the bucket capacity, of which the
 * packets tell when they come to their host: the clock loses it too, so that its queue is the real
 * one. With `fq` packets carry their departure time, and a late timer costs nothing.
 *
 * A packet is a segment: hosts send without segmentation offload. */
#include "kernel.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Values of include/uapi/linux/bpf.h, pkt_cls.h and if_ether.h. */
#define BPF_MAP_TYPE_HASH 1
#define TC_ACT_OK 0
#define TC_ACT_SHOT 2
#define ETH_P_IP_BE 0x0008
#define ETH_HLEN 14

/* struct __sk_buff of include/uapi/linux/bpf.h, as far as it is used. */
struct __sk_buff {
	__u32 len;
	__u32 before_protocol[3];
	__u32 protocol;
	__u32 before_data[14];
	__u32 data;
	__u32 data_end;
	__u32 before_tstamp[17];
	__u64 tstamp;
	__u32 wire_len;
	__u32 gso_segs;
};

_Static_assert(__builtin_offsetof(struct __sk_buff, protocol) == 16, "as in bpf.h");
_Static_assert(__builtin_offsetof(struct __sk_buff, data) == 76, "as in bpf.h");
_Static_assert(__builtin_offsetof(struct __sk_buff, tstamp) == 152, "as in bpf.h");

struct bpf_spin_lock {
	__u32 val;
};

/* Places of a queue: a power of two, one more than its longest. */
#define LT_PLACES 4096
#define LT_MASK (LT_PLACES - 1)

/* Lateness of deliveries: bins of 4.096 us. */
#define LT_LATE_BINS 1024
#define LT_LATE_SHIFT 12

/* The place behind the last packet never departs. */
#define LT_NEVER (1ull << 63)

#define LT_COUNT_IN_SERVICE 1	/* K and the buffer include the packet on the line */
#define LT_DROP_NOT_ECT 2	/* above K, packets that are not ECN-capable are dropped */
#define LT_DEPARTURE_TIMES 4	/* `fq` holds packets until skb->tstamp */

struct lt_place {
	__u64 departs;		/* less the capacity lost until then */
	__u32 bytes;
	__u32 wait;		/* ns by which the shaper releases it before it departs */
};

struct lt_level {
	__u64 ns;
	__u64 arrivals;
};

/* Times are nanoseconds of CLOCK_MONOTONIC. Layout: as in crates/kernel/src/bottleneck.rs. */
struct lt_port {
	struct bpf_spin_lock lock;
	/* Configuration. */
	__u32 flags;
	__u32 overhead;		/* bytes of framing per packet */
	__u32 k_packets;	/* mark above it; all ones: no limit, as for the next three */
	__u32 buffer_packets;
	__u32 unused;
	__u64 k_bytes;
	__u64 buffer_bytes;
	__u64 byte_time;	/* 2^-20 ns per byte */
	__u64 lead;		/* ns by which the shaper may be ahead of an ideal line */
	__u64 early;		/* ns before its departure at which the shaper releases a packet */
	__u64 delay;		/* ns of propagation, with departure times only */
	/* State. */
	__u32 head;		/* packets that departed */
	__u32 tail;		/* packets that entered */
	__u64 bytes;		/* IP bytes in the system */
	__u64 free_at;		/* end of the last packet on an ideal line */
	__u64 part;		/* fraction of free_at, 2^-20 ns */
	__u64 since;		/* levels are counted up to here */
	__u64 lost;		/* ns of capacity that the shaper lost */
	/* Counters. */
	__u64 entered_bytes;
	__u64 marks;
	__u64 overflow_drops;
	__u64 aqm_drops;
	__u64 max_bytes;
	__u64 unsplit;		/* packets of several segments */
	__u64 delivered;
	struct lt_level levels[LT_PLACES];	/* by packets in the system */
	struct lt_place places[LT_PLACES];
	__u64 late[LT_LATE_BINS];
};

/* Ports by the IPv4 address of their host, in network byte order. */
struct {
	int (*type)[BPF_MAP_TYPE_HASH];
	int (*max_entries)[64];
	__be32 *key;
	struct lt_port *value;
} lt_ports SEC(".maps");

/* Returns the port to the packet's destination, and the packet's ECN field. */
static __always_inline struct lt_port *lt_port_of(struct __sk_buff *skb, __u32 *ecn)
{
	__u8 *ip = (__u8 *)(unsigned long)skb->data + ETH_HLEN;
	__be32 to;

	if (skb->protocol != ETH_P_IP_BE || ip + 20 > (__u8 *)(unsigned long)skb->data_end)
		return 0;
	*ecn = ip[1] & 3;
	__builtin_memcpy(&to, ip + 16, sizeof(to));
	return bpf_map_lookup_elem(&lt_ports, &to);
}

/* Lets packets depart until `now`, and counts the time at each length. */
static __always_inline void lt_advance(struct lt_port *p, __u64 now)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < LT_PLACES; i++) {
		struct lt_place *first = &p->places[p->head & LT_MASK];
		__u64 departs = first->departs + p->lost;

		if (departs > now)
			break;
		if (departs < p->since)
			departs = p->since;
		p->levels[(p->tail - p->head) & LT_MASK].ns += departs - p->since;
		p->since = departs;
		p->bytes -= first->bytes;
		p->head++;
	}
	p->levels[(p->tail - p->head) & LT_MASK].ns += now - p->since;
	p->since = now;
}

/* Returns the time at which a packet departs that enters now. */
static __always_inline __u64 lt_departure(struct lt_port *p, __u64 now, __u64 bytes)
{
	__u64 time;

	if (p->free_at < now) {
		p->free_at = now;
		p->part = 0;
	}
	time = (bytes + p->overhead) * p->byte_time + p->part;
	p->free_at += time >> 20;
	p->part = time & ((1 << 20) - 1);
	time = p->free_at - p->lead;
	return time > now ? time : now;
}

SEC("tc")
int lt_switch_port(struct __sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns(), bytes = skb->len - ETH_HLEN, found_bytes, departs = 0;
	__u32 ecn = 0, queue, found, segments = skb->gso_segs, flags;
	struct lt_port *p = lt_port_of(skb, &ecn);
	_Bool full, mark;
	__u64 delay;

	if (!p)
		return TC_ACT_OK;
	bpf_spin_lock(&p->lock);
	/* Another processor may have read the clock later and come earlier. */
	if (now < p->since)
		now = p->since;
	lt_advance(p, now);
	queue = p->tail - p->head;
	found = queue;
	found_bytes = p->bytes;
	flags = p->flags;
	if (queue && !(flags & LT_COUNT_IN_SERVICE)) {
		found--;
		found_bytes -= p->places[p->head & LT_MASK].bytes;
	}
	p->levels[queue & LT_MASK].arrivals++;
	full = found >= p->buffer_packets || found_bytes + bytes > p->buffer_bytes ||
	       queue >= LT_MASK;
	mark = found > p->k_packets || found_bytes > p->k_bytes;
	if (full) {
		p->overflow_drops++;
	} else if (mark && !ecn && (flags & LT_DROP_NOT_ECT)) {
		p->aqm_drops++;
		full = 1;
	} else {
		struct lt_place *last = &p->places[p->tail & LT_MASK];

		mark = mark && ecn;
		p->marks += mark;
		departs = lt_departure(p, now, bytes);
		last->departs = departs - p->lost;
		last->bytes = bytes;
		last->wait = departs - now < p->early ? departs - now : p->early;
		p->tail++;
		p->places[p->tail & LT_MASK].departs = LT_NEVER;
		p->bytes += bytes;
		p->entered_bytes += bytes;
		p->unsplit += segments > 1;
		if (queue || (flags & LT_COUNT_IN_SERVICE))
			found_bytes += bytes;
		if (found_bytes > p->max_bytes)
			p->max_bytes = found_bytes;
	}
	delay = p->delay;
	bpf_spin_unlock(&p->lock);
	if (full)
		return TC_ACT_SHOT;
	if (flags & LT_DEPARTURE_TIMES)
		skb->tstamp = departs + delay;
	if (mark)
		bpf_skb_ecn_set_ce(skb);
	return TC_ACT_OK;
}

/* Tells the clock when a packet that the shaper held was released: capacity is lost beyond `lead`.
 * A packet that comes too early shows that only the way from the shaper was slow before. */
static __always_inline void lt_follow(struct lt_port *p, __u64 due, __u64 now)
{
	__s64 loss = 0;

	if (now < due)
		loss = now - due;
	else if (now - due > p->lead)
		loss = now - due - p->lead;
	p->lost += loss;
	p->free_at += loss;
}

/* At the host's end of the line. */
SEC("tc")
int lt_delivery(struct __sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns(), due, late;
	struct lt_place *place;
	__u32 ecn, number;
	struct lt_port *p = lt_port_of(skb, &ecn);

	if (!p)
		return TC_ACT_OK;
	bpf_spin_lock(&p->lock);
	number = p->delivered++;
	place = &p->places[number & LT_MASK];
	/* A place that was used again has a later packet. */
	if (p->tail - number - 1 < LT_MASK) {
		due = place->departs + p->lost - place->wait + p->delay;
		late = now > due ? (now - due) >> LT_LATE_SHIFT : 0;
		late = late < LT_LATE_BINS ? late : LT_LATE_BINS - 1;
		/* The compiler drops the mask if it sees the line above; the verifier needs it. */
		barrier_var(late);
		p->late[late & (LT_LATE_BINS - 1)]++;
		if (!(p->flags & LT_DEPARTURE_TIMES) && place->wait == p->early)
			lt_follow(p, due, now);
	}
	bpf_spin_unlock(&p->lock);
	return TC_ACT_OK;
}
