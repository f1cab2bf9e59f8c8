/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* DCTCP: alpha, the smoothed share of marked bytes, and a cut by alpha / 2 (RFC 8257 section 3.3).
 * The same integer rules as crates/congestion/src/cc/dctcp.rs with its default parameters
 * (arithmetic q20, estimate first, loss from the flight); a test compares both. */
#ifndef LOWTIDE_DCTCP_H
#define LOWTIDE_DCTCP_H

#include "window.h"

#define LT_ONE (1u << 20)	/* alpha of one */

struct lt_dctcp {
	struct lt_window window;
	lt_u32 alpha;		/* in 2^-20 */
	lt_u32 window_end;	/* an ACK beyond this sequence number ends the observation window */
	lt_u32 una;		/* snd_una of the last ACK */
	lt_u32 restart;		/* the next ACK begins an observation window */
	lt_u32 acked;		/* bytes of this observation window: less than two TCP windows */
	lt_u32 marked;		/* of these, marked bytes */
};

struct lt_dctcp_params {
	lt_u32 shift_g;		/* g = 2^-shift_g, 0 to 10 */
	lt_u32 initial_alpha;	/* in 1/1024, 0 to 1024 */
	lt_u32 idle_resets;	/* an idle time of one RTO resets alpha (ODCTCP section 4.2.3) */
	lt_u32 floor;		/* minimum window after a reaction, segments */
};

LT_RULE lt_u32 lt_alpha(lt_u32 alpha, lt_u32 shift_g, lt_u64 marked, lt_u64 total)
{
	lt_u64 part = marked < total ? marked : total;
	lt_u32 share = (lt_u32)((part << 20) / (total ? total : 1));
	lt_u32 distance = share < alpha ? alpha - share : share - alpha;
	lt_u32 g = lt_min(shift_g, 10);
	lt_u32 step = (distance + (1u << g) - 1) >> g;

	return share < alpha ? alpha - step : alpha + step;
}

LT_RULE void lt_begin_round(struct lt_dctcp *d, lt_u32 window_end)
{
	d->window_end = window_end;
	d->acked = 0;
	d->marked = 0;
	d->restart = 0;
}

LT_RULE void lt_dctcp_init(struct lt_dctcp *d, const struct lt_dctcp_params *p, lt_u32 mss,
			   lt_u32 initial, lt_u32 snd_una)
{
	lt_window_init(&d->window, mss, initial, p->floor * mss);
	d->alpha = lt_min(p->initial_alpha, 1024) << 10;
	d->una = snd_una;
	lt_begin_round(d, snd_una);
}

LT_RULE void lt_observe(struct lt_dctcp *d, const struct lt_dctcp_params *p,
			const struct lt_ack *ack)
{
	if (d->restart)
		lt_begin_round(d, ack->snd_nxt);
	d->acked += ack->acked;
	d->marked += ack->marked;
	d->una = ack->snd_una;
	/* RFC 8257 section 3.3: an ACK up to exactly WindowEnd does not end the window. */
	if (lt_before(d->window_end, ack->snd_una)) {
		d->alpha = lt_alpha(d->alpha, p->shift_g, d->marked, d->acked);
		lt_begin_round(d, ack->snd_nxt);
	}
}

LT_RULE void lt_dctcp_cut(struct lt_dctcp *d)
{
	lt_u32 cwnd = d->window.cwnd;

	lt_cut_to(&d->window, cwnd - (lt_u32)(((lt_u64)cwnd * lt_min(d->alpha, LT_ONE)) >> 21));
}

/* Returns whether it cut: the caller then sends CWR. */
LT_RULE _Bool lt_dctcp_ack(struct lt_dctcp *d, const struct lt_dctcp_params *p,
			   const struct lt_ack *ack)
{
	lt_observe(d, p, ack);
	if (ack->ece && ack->may_reduce) {
		lt_dctcp_cut(d);
		return 1;
	}
	lt_grow(&d->window, ack, d->window.mss);
	return 0;
}

/* NewReno with classic ECN: the first mark of a window of data halves it (RFC 3168 section 6.1.2). */
LT_RULE _Bool lt_halve_ack(struct lt_dctcp *d, const struct lt_dctcp_params *p,
			   const struct lt_ack *ack)
{
	lt_observe(d, p, ack);
	if (ack->ece && ack->may_reduce) {
		lt_cut_to(&d->window, d->window.cwnd / 2);
		return 1;
	}
	if (!ack->ece)
		lt_grow(&d->window, ack, d->window.mss);
	return 0;
}

LT_RULE void lt_dctcp_event(struct lt_dctcp *d, const struct lt_dctcp_params *p,
			    enum lt_event event, lt_u32 flight, _Bool already_reduced)
{
	if (event == LT_RTO || event == LT_RTO_AGAIN)
		d->restart = 1;
	if (event == LT_IDLE && p->idle_resets) {
		d->alpha = lt_min(p->initial_alpha, 1024) << 10;
		lt_begin_round(d, d->una);
	}
	lt_window_event(&d->window, event, flight, already_reduced);
}

#endif
