/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What a control learns: facts about one ACK, and events. As AckSample and CongestionEvent in
 * crates/congestion/src/cc/api.rs. */
#ifndef LOWTIDE_ACK_H
#define LOWTIDE_ACK_H

#include "types.h"

struct lt_ack {
	lt_u32 snd_una;		/* after this ACK, sequence number */
	lt_u32 snd_nxt;		/* sequence number */
	lt_u32 acked;		/* bytes newly acknowledged cumulatively */
	lt_u32 marked;		/* of these, bytes that count as marked */
	_Bool ece;		/* the ACK reports congestion */
	_Bool may_reduce;	/* no cut yet in this window of data */
	_Bool may_grow;		/* cwnd was the limit, and no recovery is in progress */
	_Bool after_rto;	/* a retransmission timeout is being repaired */
	_Bool delack_timeout;	/* the receiver's delayed-ACK timer seems to have released it */
};

enum lt_event {
	LT_LOSS,	/* fast retransmit; with flight and already_reduced */
	LT_RECOVERED,	/* fast recovery is over; with flight */
	LT_RTO,		/* the first timeout for this data; with flight */
	LT_RTO_AGAIN,	/* a further timeout for the same data */
	LT_IDLE,	/* sending resumes after an idle time of at least one RTO */
	LT_UNDO,	/* the last loss reaction was spurious */
};

#endif
