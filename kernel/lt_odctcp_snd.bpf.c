/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* One-sided DCTCP, the sending half, for receivers of classic ECN (ODCTCP section 5.1). Twin of
 * crates/congestion/src/cc/dctcp.rs with the decoder feedback/one_sided.rs.
 *
 * It does not set TCP_CONG_NEEDS_ECN: a SYN with ECT(0) in the IP header makes a Linux listener
 * without such a control refuse ECN. The connecting end requests classic ECN
 * (net.ipv4.tcp_ecn = 1) or AccECN (3). With classic ECN all bytes that an ACK with ECE
 * acknowledges count as marked, and CWR after each cut ends the receiver's latch. Without
 * negotiated ECN it is NewReno. */
#include "sender.bpf.h"
#include "callbacks.bpf.h"

LT_RULE _Bool lt_on_ack(struct lt_dctcp *d, const struct lt_dctcp_params *p,
			const struct lt_ack *ack)
{
	return lt_dctcp_ack(d, p, ack);
}

LT_CONTROL(odctcp_snd, 0, lt_needs_no_ecn, lt_no_receiver, lt_no_delack_timeout);
