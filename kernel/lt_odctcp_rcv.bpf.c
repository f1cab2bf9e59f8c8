/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* One-sided DCTCP, the receiving half, for senders of classic ECN (ODCTCP section 5.2). Twin of
 * crates/congestion/src/ack/odctcp.rs; what this end sends is NewReno with classic ECN.
 *
 * For the listener: TCP_CONG_NEEDS_ECN there accepts ECN and reports the ECN field of arriving
 * data. At a connecting end it would make the SYN ECN-capable, which a plain listener refuses. */
#include "receiver.bpf.h"
#include "callbacks.bpf.h"

LT_RULE _Bool lt_on_ack(struct lt_dctcp *d, const struct lt_dctcp_params *p,
			const struct lt_ack *ack)
{
	return lt_halve_ack(d, p, ack);
}

LT_CONTROL(odctcp_rcv, TCP_CONG_NEEDS_ECN, lt_keeps_ecn, lt_echo_delaying_cwr,
	   lt_no_delack_timeout);
