/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* TDCTCP: DCTCP that grows by up to two segments per round trip and resets alpha after a
 * delayed-ACK timeout (TDCTCP section IV-A and IV-B). The same integer rules as
 * crates/congestion/src/cc/tdctcp.rs; a test compares both. */
#ifndef LOWTIDE_TDCTCP_H
#define LOWTIDE_TDCTCP_H

#include "dctcp.h"

/* mss (1 + 1 / (1 + alpha / 2)), rounded down (algorithm 1, line 3). */
LT_RULE lt_u32 lt_tdctcp_increase(lt_u32 mss, lt_u32 alpha)
{
	lt_u64 one = 1ull << 21;

	return mss + (lt_u32)((lt_u64)mss * one / (one + alpha));
}

LT_RULE _Bool lt_tdctcp_ack(struct lt_dctcp *d, const struct lt_dctcp_params *p,
			    const struct lt_ack *ack)
{
	lt_observe(d, p, ack);
	/* The ACK that the timer released belongs to the window before the reset (section IV-B). */
	if (ack->delack_timeout) {
		d->alpha = 0;
		d->restart = 1;
	} else if (ack->ece && ack->may_reduce) {
		lt_dctcp_cut(d);
		return 1;
	}
	/* Algorithm 1 grows only on ACKs without ECE. */
	if (!ack->ece)
		lt_grow(&d->window, ack, lt_tdctcp_increase(d->window.mss, d->alpha));
	return 0;
}

#endif
