/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The sending half of a control: turns callbacks of the kernel into lt_ack and lt_event, and the
 * window of the rules into snd_cwnd.
 *
 * The window lives in icsk_ca_priv, in bytes. cong_control, which returns nothing, writes snd_cwnd
 * and snd_ssthresh on every ACK that finds data outstanding, after the kernel's own reactions and
 * before it sends. So no value of another callback or of the kernel outlasts the next such ACK.
 *
 * Deviations: idle connections restart whatever net.ipv4.tcp_slow_start_after_idle says, from the
 * second packet on. The pacing ratios are the kernel's defaults, 200 and 120 %.
 *
 * A file that includes this defines lt_on_ack(dctcp, params, ack). */
#ifndef LOWTIDE_SENDER_BPF_H
#define LOWTIDE_SENDER_BPF_H

#include "kernel.bpf.h"
#include "rules/tdctcp.h"

/* Parameters, in a section of their own: the loader writes them before it loads the program. */
LT_PARAMS struct lt_dctcp_params lt_param = {
	.shift_g = 4,
	.initial_alpha = 1024,
	.idle_resets = 0,
	.floor = 2,
};

struct lt_sender {
	struct lt_dctcp dctcp;
	lt_u32 cut_end;		/* snd_nxt at the last ECN cut */
	lt_u32 cuts;		/* ECN cuts so far */
	lt_u32 marked_acks;	/* ACKs that reported CE so far */
	lt_u32 rcv_before;	/* receiver: rcv_nxt before the last segment */
	lt_u32 written;		/* snd_cwnd as written last */
	lt_u32 written_ssthresh;	/* snd_ssthresh as written last */
	lt_u32 leaps;		/* values of the kernel above the written ones; they were replaced */
	lt_u32 delivered_ce;	/* the kernel's count of marked segments at the last ACK */
	lt_u8 ca_state;		/* the kernel's state that was handled last */
	lt_u8 in_cut;		/* an ECN cut was made, and its window of data is not acknowledged */
	lt_u8 ce;		/* receiver: the last segment carried CE */
	lt_u8 ece;		/* the last ACK reported CE */
};

/* In window.cwnd of a socket that became `reno`; no window is as large. */
#define LT_FELL_BACK 0xfe11bac0u

_Static_assert(sizeof(struct lt_sender) <= 13 * sizeof(__u64), "fits the private memory");

LT_RULE struct tcp_sock *lt_tcp(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

/* In SYN-SENT, where a cgroup selects a control, neither the window nor ECN is known. The state is
 * then all zero until the first ACK. */
LT_RULE _Bool lt_is_ready(const struct lt_sender *s)
{
	return s->dctcp.window.mss != 0;
}

LT_RULE struct lt_sender *lt_state(struct sock *sk)
{
	return (struct lt_sender *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

LT_RULE lt_u8 lt_ecn_mode(struct tcp_sock *tp)
{
	return tp->ecn_flags & TCP_ECN_MODE_ANY;
}

LT_RULE struct lt_dctcp_params lt_params(void)
{
	struct lt_dctcp_params p = {
		.shift_g = lt_param.shift_g,
		.initial_alpha = lt_param.initial_alpha,
		.idle_resets = lt_param.idle_resets,
		.floor = lt_param.floor,
	};

	return p;
}

LT_RULE lt_u32 lt_packets(const struct lt_window *w, lt_u32 bytes)
{
	lt_u32 mss = w->mss ? w->mss : 1;

	return lt_max(bytes / mss, 1);
}

/* The kernel sends at most snd_cwnd segments; its segment size may have changed. */
LT_RULE void lt_write_window(struct tcp_sock *tp, struct lt_sender *s)
{
	struct lt_window *w = &s->dctcp.window;

	s->written = lt_packets(w, w->cwnd);
	s->written_ssthresh = w->ssthresh == LT_UNLIMITED ? TCP_INFINITE_SSTHRESH :
							    lt_packets(w, w->ssthresh);
	tp->snd_cwnd = s->written;
	tp->snd_ssthresh = s->written_ssthresh;
}

/* The kernel may lower what was written last, after a timeout. It raises it only with a value of a
 * callback (undo, which writes) or with one of its own: that is counted, and replaced below. */
LT_RULE void lt_count_leap(struct tcp_sock *tp, struct lt_sender *s)
{
	if (tp->snd_cwnd > s->written ||
	    (tp->snd_ssthresh > s->written_ssthresh && tp->snd_ssthresh > s->written))
		s->leaps++;
}

/* As tcp_update_pacing_rate of the kernel, which does not run for controls with cong_control: its
 * value also bounds the size of TSO packets. */
LT_RULE void lt_write_pacing_rate(struct sock *sk, struct tcp_sock *tp)
{
	lt_u64 rate = (lt_u64)tp->mss_cache * (1000000 / 100 << 3);

	rate *= tp->snd_cwnd < tp->snd_ssthresh / 2 ? 200 : 120;
	rate *= lt_max(tp->snd_cwnd, tp->packets_out);
	if (tp->srtt_us)
		rate /= tp->srtt_us;
	sk->sk_pacing_rate = rate < sk->sk_max_pacing_rate ? rate : sk->sk_max_pacing_rate;
}

/* `switched`: the socket has sent data under another control. Its window and ssthresh remain; the
 * restart window is the kernel's default initial window, not the window of this moment. */
LT_RULE void lt_sender_begin(struct sock *sk, _Bool switched)
{
	struct tcp_sock *tp = lt_tcp(sk);
	struct lt_sender *s = lt_state(sk);
	struct lt_dctcp_params p = lt_params();
	struct lt_window *w = &s->dctcp.window;
	lt_u32 mss = lt_max(tp->mss_cache, 1);

	if (sk->__sk_common.skc_state == TCP_SYN_SENT)
		return;
	lt_dctcp_init(&s->dctcp, &p, mss, lt_min(tp->snd_cwnd, 0xffff) * mss, tp->snd_una);
	s->ca_state = TCP_CA_Open;
	if (switched) {
		w->initial = lt_min(w->initial, TCP_INIT_CWND * mss);
		if (tp->snd_ssthresh <= 0xffff)
			w->ssthresh = tp->snd_ssthresh * mss;
		/* The other control has reacted. */
		s->ca_state = LT_READ_BITFIELD((struct inet_connection_sock *)sk, icsk_ca_state);
	}
	s->cut_end = tp->snd_una;
	s->cuts = 0;
	s->marked_acks = 0;
	s->rcv_before = tp->rcv_nxt;
	s->leaps = 0;
	s->delivered_ce = tp->delivered_ce;
	s->in_cut = 0;
	s->ce = 0;
	s->ece = 0;
	lt_write_window(tp, s);
}

LT_RULE void lt_sender_init(struct sock *sk)
{
	lt_sender_begin(sk, lt_tcp(sk)->data_segs_out != 0);
}

LT_RULE lt_u32 lt_flight(struct tcp_sock *tp)
{
	return tp->snd_nxt - tp->snd_una;
}

/* Handles a change of icsk_ca_state. cong_control calls it for a change that set_state did not
 * report; only that callback sees a repeated timeout. */
LT_RULE void lt_on_state(struct tcp_sock *tp, struct lt_sender *s, lt_u8 state, _Bool from_callback)
{
	struct lt_dctcp_params p = lt_params();
	lt_u8 before = s->ca_state;

	if (!lt_is_ready(s))
		return;
	s->ca_state = state;
	if (state == TCP_CA_Loss) {
		if (before != TCP_CA_Loss)
			lt_dctcp_event(&s->dctcp, &p, LT_RTO, lt_flight(tp), 0);
		else if (from_callback)
			lt_dctcp_event(&s->dctcp, &p, LT_RTO_AGAIN, lt_flight(tp), 0);
	} else if (state == TCP_CA_Recovery && before < TCP_CA_Recovery) {
		lt_dctcp_event(&s->dctcp, &p, LT_LOSS, lt_flight(tp),
			       s->in_cut && lt_before(tp->snd_una, s->cut_end));
	} else if (state < TCP_CA_Recovery && before == TCP_CA_Recovery) {
		lt_dctcp_event(&s->dctcp, &p, LT_RECOVERED, lt_flight(tp), 0);
	}
}

LT_RULE _Bool lt_on_ack(struct lt_dctcp *d, const struct lt_dctcp_params *p,
			const struct lt_ack *ack);

/* Marked segments that the kernel learned of since the last ACK. In both ECN modes its count grows
 * before cong_control runs; with classic ECN by the segments that an ACK with ECE delivers. */
LT_RULE lt_u32 lt_new_ce(struct sock *sk)
{
	return lt_tcp(sk)->delivered_ce - lt_state(sk)->delivered_ce;
}

LT_RULE void lt_sender_ack(struct sock *sk, _Bool delack_timeout)
{
	struct tcp_sock *tp = lt_tcp(sk);
	struct lt_sender *s = lt_state(sk);
	struct lt_dctcp_params p = lt_params();
	lt_u8 state = LT_READ_BITFIELD((struct inet_connection_sock *)sk, icsk_ca_state);
	struct lt_ack ack = {};
	lt_u32 ce;

	if (!lt_is_ready(s)) {
		lt_sender_begin(sk, 0);
		/* The SYN-ACK is still an ACK in SYN-SENT. */
		if (!lt_is_ready(s))
			return;
	}
	lt_count_leap(tp, s);
	if (state != s->ca_state)
		lt_on_state(tp, s, state, 0);
	if (s->dctcp.window.mss != tp->mss_cache && tp->mss_cache) {
		s->dctcp.window.mss = tp->mss_cache;
		s->dctcp.window.floor = p.floor * tp->mss_cache;
	}
	ack.snd_una = tp->snd_una;
	ack.snd_nxt = tp->snd_nxt;
	ack.acked = tp->snd_una - s->dctcp.una;
	ce = lt_new_ce(sk);
	s->delivered_ce = tp->delivered_ce;
	ack.ece = ce != 0;
	/* Classic ECN: all bytes of an ACK with ECE (RFC 8257 section 3.3). AccECN: segments. */
	if (ack.ece)
		ack.marked = lt_ecn_mode(tp) != TCP_ECN_MODE_ACCECN ? ack.acked :
			     lt_min(lt_min(ce, 0xffff) * s->dctcp.window.mss, ack.acked);
	/* RFC 8257 section 3.3: one cut per window of data, until snd_una passes cut_end. */
	ack.may_reduce = !s->in_cut || lt_before(s->cut_end, tp->snd_una);
	ack.after_rto = state == TCP_CA_Loss;
	ack.may_grow = state != TCP_CA_Recovery &&
		       (LT_READ_BITFIELD(tp, is_cwnd_limited) ||
			(tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out));
	ack.delack_timeout = delack_timeout;
	if (ack.may_reduce)
		s->in_cut = 0;
	s->ece = ack.ece;
	if (ack.ece)
		s->marked_acks++;
	if (lt_on_ack(&s->dctcp, &p, &ack)) {
		s->in_cut = 1;
		s->cut_end = tp->snd_nxt;
		s->cuts++;
		/* CWR on the next new data: a receiver of classic ECN latches ECE until it arrives.
		 * In AccECN the bit is part of the counter. */
		if (lt_ecn_mode(tp) == TCP_ECN_MODE_RFC3168)
			tp->ecn_flags |= TCP_ECN_QUEUE_CWR;
	}
	lt_write_window(tp, s);
	lt_write_pacing_rate(sk, tp);
}

/* Sending starts with nothing in flight. The kernel restarts idle connections only for controls
 * without cong_control (RFC 5681 section 4.1). */
LT_RULE void lt_sender_tx_start(struct sock *sk)
{
	struct tcp_sock *tp = lt_tcp(sk);
	struct lt_sender *s = lt_state(sk);
	struct lt_dctcp_params p = lt_params();
	lt_u32 idle;

	if (!lt_is_ready(s))
		return;
	idle = (lt_u32)bpf_jiffies64() - tp->lsndtime;
	if ((int)idle <= 0 || idle < ((struct inet_connection_sock *)sk)->icsk_rto)
		return;
	lt_dctcp_event(&s->dctcp, &p, LT_IDLE, 0, 0);
	lt_write_window(tp, s);
}

LT_RULE lt_u32 lt_sender_undo(struct sock *sk)
{
	struct lt_sender *s = lt_state(sk);
	struct lt_dctcp_params p = lt_params();

	if (!lt_is_ready(s))
		return lt_tcp(sk)->snd_cwnd;
	lt_dctcp_event(&s->dctcp, &p, LT_UNDO, 0, 0);
	/* The kernel takes the returned window, and restores its own ssthresh. */
	lt_write_window(lt_tcp(sk), s);
	return s->written;
}

/* For LT_CONTROL: the control works with and without ECN. */
LT_RULE _Bool lt_needs_no_ecn(struct sock *sk)
{
	(void)sk;
	return 1;
}

/* For LT_CONTROL: the control ignores the receiver's delayed-ACK timer. */
LT_RULE _Bool lt_no_delack_timeout(struct sock *sk)
{
	(void)sk;
	return 0;
}

/* For LT_CONTROL: the control has no receiving half, and the kernel echoes CE. */
LT_RULE void lt_no_receiver(struct sock *sk, enum tcp_ca_event event)
{
	(void)sk;
	(void)event;
}

/* The kernel asks for ssthresh when it enters CWR, recovery or loss. cong_control replaces the
 * value, on the same ACK or, after a timeout, on the next one. */
LT_RULE lt_u32 lt_sender_ssthresh(struct sock *sk)
{
	struct lt_window *w = &lt_state(sk)->dctcp.window;

	if (!lt_is_ready(lt_state(sk)))
		return lt_max(lt_tcp(sk)->snd_cwnd / 2, 2);
	return lt_packets(w, lt_max(lt_min(w->cwnd, w->ssthresh), w->floor));
}

#endif
