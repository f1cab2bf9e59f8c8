/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The window that the controls share: slow start, additive increase, loss, timeout, idle, undo.
 * The same integer rules as crates/congestion/src/cc/window.rs, in bytes; a test compares both. */
#ifndef LOWTIDE_WINDOW_H
#define LOWTIDE_WINDOW_H

#include "ack.h"

#define LT_UNLIMITED 0xffffffffu	/* ssthresh before the first reaction */
#define LT_MAX_CWND 0x7fffffffu		/* windows stay below 2 GiB, so that sums do not wrap */

struct lt_window {
	lt_u32 cwnd;		/* bytes */
	lt_u32 ssthresh;	/* bytes */
	lt_u32 counted;		/* bytes acknowledged since the last increase */
	lt_u32 before_cut;	/* cwnd before the ECN cut of this window of data; 0: none */
	lt_u32 undo_cwnd;	/* state before the last loss reaction; 0: nothing to undo */
	lt_u32 undo_ssthresh;
	lt_u32 undo_before_cut;
	lt_u32 mss;		/* payload bytes of a full segment */
	lt_u32 initial;		/* initial window, bytes */
	lt_u32 floor;		/* minimum window after a reaction, bytes (RFC 5681 section 3.1) */
};

LT_RULE void lt_window_init(struct lt_window *w, lt_u32 mss, lt_u32 initial, lt_u32 floor)
{
	w->cwnd = initial;
	w->ssthresh = LT_UNLIMITED;
	w->counted = 0;
	w->before_cut = 0;
	w->undo_cwnd = 0;
	w->undo_ssthresh = 0;
	w->undo_before_cut = 0;
	w->mss = mss;
	w->initial = initial;
	w->floor = floor;
}

/* Slow start without a limit of bytes per ACK, as in Linux; after a timeout one segment per ACK
 * (RFC 3465 section 2.3). Returns the bytes that are left for congestion avoidance. */
LT_RULE lt_u32 lt_slow_start(struct lt_window *w, const struct lt_ack *ack)
{
	lt_u32 counted, room;

	if (w->cwnd >= w->ssthresh)
		return ack->acked;
	counted = ack->after_rto ? lt_min(ack->acked, w->mss) : ack->acked;
	room = w->ssthresh - w->cwnd;
	w->cwnd = lt_min(w->cwnd + lt_min(counted, room), LT_MAX_CWND);
	return counted > room ? counted - room : 0;
}

/* Grows by `increase` bytes once a window of data is acknowledged. */
LT_RULE void lt_additive_increase(struct lt_window *w, lt_u32 acked, lt_u32 increase)
{
	w->counted += acked;
	if (w->counted >= w->cwnd) {
		w->counted -= w->cwnd;
		w->cwnd = lt_min(w->cwnd + increase, LT_MAX_CWND);
	}
}

LT_RULE void lt_grow(struct lt_window *w, const struct lt_ack *ack, lt_u32 increase)
{
	if (ack->may_grow)
		lt_additive_increase(w, lt_slow_start(w, ack), increase);
}

LT_RULE void lt_lower_to(struct lt_window *w, lt_u32 target)
{
	w->ssthresh = target;
	w->cwnd = lt_min(w->cwnd, target);
	w->counted = 0;
}

/* Cuts for ECN to `target`, or to the floor. A window below the floor is not raised. An earlier
 * loss reaction can no longer be undone: the congestion was real. */
LT_RULE void lt_cut_to(struct lt_window *w, lt_u32 target)
{
	w->before_cut = w->cwnd;
	w->undo_cwnd = 0;
	lt_lower_to(w, lt_max(target, w->floor));
}

LT_RULE void lt_save(struct lt_window *w)
{
	w->undo_cwnd = w->cwnd;
	w->undo_ssthresh = w->ssthresh;
	w->undo_before_cut = w->before_cut;
}

/* `flight` is FlightSize in bytes. `already_reduced`: an ECN cut was made in this window of data,
 * and the two must not add up (RFC 3168 section 6.1.2). */
LT_RULE void lt_window_event(struct lt_window *w, enum lt_event event, lt_u32 flight,
			     _Bool already_reduced)
{
	lt_u32 from;

	switch (event) {
	case LT_LOSS:
		lt_save(w);
		from = w->before_cut && already_reduced ? w->before_cut : flight;
		w->before_cut = 0;
		lt_lower_to(w, lt_max(from / 2, w->floor));
		break;
	case LT_RECOVERED:
		/* RFC 6582 section 3.2 step 3 (1): no burst when little data is in flight. */
		w->cwnd = lt_min(w->cwnd, lt_max(flight, w->mss) + w->mss);
		break;
	case LT_RTO:
		lt_save(w);
		w->ssthresh = lt_max(flight / 2, w->floor);
		/* fall through */
	case LT_RTO_AGAIN:
		w->cwnd = w->mss;
		w->counted = 0;
		w->before_cut = 0;
		break;
	case LT_IDLE:
		w->cwnd = lt_min(w->cwnd, w->initial);
		w->counted = 0;
		w->before_cut = 0;
		w->undo_cwnd = 0;
		break;
	case LT_UNDO:
		if (w->undo_cwnd) {
			w->cwnd = lt_max(w->cwnd, w->undo_cwnd);
			w->ssthresh = lt_max(w->ssthresh, w->undo_ssthresh);
			w->before_cut = w->undo_before_cut;
			w->undo_cwnd = 0;
		}
		break;
	}
}

#endif
