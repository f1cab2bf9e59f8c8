/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* One-sided DCTCP, both halves (ODCTCP section 5). Twin of the scheme `odctcp`. */
#include "receiver.bpf.h"
#include "callbacks.bpf.h"

LT_RULE _Bool lt_on_ack(struct lt_dctcp *d, const struct lt_dctcp_params *p,
			const struct lt_ack *ack)
{
	return lt_dctcp_ack(d, p, ack);
}

LT_CONTROL(odctcp, TCP_CONG_NEEDS_ECN, lt_keeps_ecn, lt_echo_delaying_cwr, lt_no_delack_timeout);
