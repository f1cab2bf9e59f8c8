/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* DCTCP at both ends (RFC 8257). Twin of crates/congestion/src/cc/dctcp.rs and ack/dctcp.rs.
 *
 * TCP_CONG_NEEDS_ECN makes SYN and ACKs ECN-capable and reports the ECN field of arriving data. A
 * connection whose peer refused ECN would go on sending ECN-capable packets that nobody echoes, so
 * it becomes `reno` in init. */
#include "receiver.bpf.h"
#include "callbacks.bpf.h"

LT_RULE _Bool lt_on_ack(struct lt_dctcp *d, const struct lt_dctcp_params *p,
			const struct lt_ack *ack)
{
	return lt_dctcp_ack(d, p, ack);
}

LT_CONTROL(dctcp, TCP_CONG_NEEDS_ECN, lt_keeps_ecn, lt_echo_at_once, lt_no_delack_timeout);
