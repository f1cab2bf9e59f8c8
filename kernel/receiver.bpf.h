/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The receiving half of DCTCP (RFC 8257 section 3.2): ECE tells the CE state of the last segment,
 * and a change of the state is acknowledged at once, with the old echo for the data before it.
 * With AccECN the kernel counts CE and acknowledges a change itself: this half does nothing.
 *
 * The kernel reports the ECN field of arriving data only to controls with TCP_CONG_NEEDS_ECN. */
#ifndef LOWTIDE_RECEIVER_BPF_H
#define LOWTIDE_RECEIVER_BPF_H

#include "sender.bpf.h"

/* Returns whether the connection has ECN, or may still negotiate it. Without ECN it becomes `reno`:
 * TCP_CONG_NEEDS_ECN would go on sending ECN-capable packets that nobody echoes. A cgroup selects a
 * control in SYN-SENT, so the first ACK asks again. */
LT_RULE _Bool lt_keeps_ecn(struct sock *sk)
{
	char reno[] = "reno";

	if (lt_is_ready(lt_state(sk)) || lt_ecn_mode(lt_tcp(sk)) ||
	    sk->__sk_common.skc_state == TCP_SYN_SENT)
		return 1;
	bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, reno, sizeof(reno));
	/* reno has no private memory: `lowtide kernel stats` finds the socket by this value. */
	lt_state(sk)->dctcp.window.cwnd = LT_FELL_BACK;
	return 0;
}

LT_RULE void lt_echo(struct tcp_sock *tp, lt_u8 ce)
{
	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/* `delay_cwr`: a segment with CWR is acknowledged as usual (ODCTCP section 5.2.2). */
LT_RULE void lt_receiver_event(struct sock *sk, enum tcp_ca_event event, _Bool delay_cwr)
{
	struct tcp_sock *tp = lt_tcp(sk);
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct lt_sender *s = lt_state(sk);
	lt_u8 ce = event == CA_EVENT_ECN_IS_CE;

	if ((event != CA_EVENT_ECN_IS_CE && event != CA_EVENT_ECN_NO_CE) ||
	    lt_ecn_mode(tp) != TCP_ECN_MODE_RFC3168)
		return;
	if (!lt_is_ready(s))
		lt_sender_begin(sk, 0);
	if (s->ce != ce) {
		/* The kernel ends the echo when CWR arrives, before it reports the segment. */
		_Bool cwr = s->ce && !(tp->ecn_flags & TCP_ECN_DEMAND_CWR);

		if (delay_cwr && cwr) {
			icsk->icsk_ack.pending &= ~ICSK_ACK_NOW;
		} else {
			if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
				lt_echo(tp, s->ce);
				bpf_tcp_send_ack(tp, s->rcv_before);
			}
			icsk->icsk_ack.pending |= ICSK_ACK_NOW;
		}
	}
	s->rcv_before = tp->rcv_nxt;
	s->ce = ce;
	lt_echo(tp, ce);
}

/* Receiving halves, for LT_CONTROL. */
LT_RULE void lt_echo_at_once(struct sock *sk, enum tcp_ca_event event)
{
	lt_receiver_event(sk, event, 0);
}

LT_RULE void lt_echo_delaying_cwr(struct sock *sk, enum tcp_ca_event event)
{
	lt_receiver_event(sk, event, 1);
}

#endif
