/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* TDCTCP (Das and Sivalingam). Twin of crates/congestion/src/cc/tdctcp.rs; the receiving half is DCTCP's.
 *
 * The receiver's adaptive delayed-ACK timer (section IV-C) is not here: a congestion control may
 * not set that timer. TCP_BPF_DELACK_MAX of a sock_ops program bounds it per connection. */
#include "receiver.bpf.h"
#include "callbacks.bpf.h"

LT_RULE _Bool lt_on_ack(struct lt_dctcp *d, const struct lt_dctcp_params *p,
			const struct lt_ack *ack)
{
	return lt_tdctcp_ack(d, p, ack);
}

/* The rule of crates/tcp (AckSample::delack_suspected): the ACK covers fewer than two segments, has
 * the ECE of the ACK before, nothing is outstanding after it, and the round trip of the segment
 * that was sent last took a tick longer than the least one. */
#define LT_TICK_US 10000

LT_RULE _Bool lt_delack_timeout(struct sock *sk)
{
	struct tcp_sock *tp = lt_tcp(sk);
	struct lt_sender *s = lt_state(sk);
	lt_u32 acked = tp->snd_una - s->dctcp.una;

	return acked && acked < 2 * tp->mss_cache && s->ece == !!lt_new_ce(sk) &&
	       tp->snd_una == tp->snd_nxt && tp->rack.rtt_us >= tp->rtt_min.s[0].v + LT_TICK_US;
}

LT_CONTROL(tdctcp, TCP_CONG_NEEDS_ECN, lt_keeps_ecn, lt_echo_at_once, lt_delack_timeout);
