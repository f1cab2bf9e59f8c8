/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A small sender and receiver that call a cc(9) module in the order of FreeBSD 15's tcp_input.c,
 * tcp_timer.c, tcp_output.c and tcp_ecn.c, and change only what these change. Lines on standard
 * input, all numbers in bytes unless named otherwise:
 *
 *	init MSS SEGMENTS ISS WINDOW SACK SCALE	MSS with options; cwnd and SACK permitted (0, 1)
 *	set NAME VALUE			a sysctl of the module; prints "refused" for a wrong value
 *	app N				the application writes
 *	ack N ECE SACKED OLD		N more bytes, at most all; OLD: it echoes the time of data that
 *					was sent before a retransmission
 *	dup SACKED ECE			a duplicate ACK; the first segment is never SACKed
 *	old ECE				an ACK below snd_una
 *	rto MSS				the timer, if data is outstanding; MSS > 0: black-hole
 *					detection lowers t_maxseg
 *	idle				a pause longer than the RTO, if nothing is outstanding
 *	data ECN CWR			a segment arrives; ECN: 0 not ECT, 1 ECT, 3 CE
 *
 * After each line: snd_una snd_nxt snd_max cwnd ssthresh alpha (2^-20) fast-recovery
 * congestion-recovery CWR-sent ECE-due ACK-now; bytes and snd_max of the call for new data, or 0 0.
 *
 * Left out: one loss in a window of SACKed data is its first segment; ACKs come one by one; each
 * has a timestamp; the window of the peer is constant.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#ifndef LT_MODULE
#define LT_MODULE "cc_lt_dctcp.c"
#define LT_ALGO lt_dctcp_cc_algo
#define LT_ALPHA(data) (((struct lt_conn *)(data))->alpha)
#endif
#include LT_MODULE

static struct tcpcb tcb, *const tp = &tcb;
static struct cc_var cc = { .tp = &tcb };
static struct cc_algo *const algo = &LT_ALGO;
static tcp_seq app_end, resent_at;	/* end of written data; the hole that was sent again */
static bool cwr_sent;
static uint32_t counted, counted_max;	/* the call for new data of this line */

static bool before(tcp_seq a, tcp_seq b)
{
	return (int32_t)(a - b) < 0;
}

static int imax(int a, int b)
{
	return a > b ? a : b;
}

static int imin(int a, int b)
{
	return a < b ? a : b;
}

static void count_sent(uint32_t len)
{
	if (IN_RECOVERY(tp->t_flags))
		tp->sackhint.prr_out += (int)len;
}

/* tcp_output: the hole of SACK recovery, then from snd_nxt on. */
static void output(void)
{
	uint32_t mss = tcp_fixed_maxseg(tp);
	bool sack = (tp->t_flags & TF_SACK_PERMIT) && IN_FASTRECOVERY(tp->t_flags);
	int window = imin((int)tp->snd_wnd, (int)tp->snd_cwnd), len, room;

	/* Anything that is sent carries the ACK. */
	tp->t_flags &= ~TF_ACKNOW;
	if (sack && tp->sackhint.sacked_bytes > 0 && resent_at != tp->snd_una &&
	    window - tp->sackhint.sack_bytes_rexmit > 0) {
		resent_at = tp->snd_una;
		tp->sackhint.sack_bytes_rexmit += (int)mss;
		count_sent(mss);
	}
	for (;;) {
		len = (int)(app_end - tp->snd_nxt);
		room = window - (int)(tp->snd_nxt - tp->snd_una);
		if (sack && tp->sackhint.sack_bytes_rexmit > 0)
			room = window - imax(0, (int)(tp->snd_nxt - tp->snd_recover)) -
			    tp->sackhint.sack_bytes_rexmit;
		len = imin(imin(len, (int)mss), room);
		/* Silly window avoidance: a full segment, or the last one. */
		if (len <= 0 || (len < (int)mss && tp->snd_nxt + len != app_end))
			return;
		/* CWR goes out with new data only. */
		if (!before(tp->snd_nxt, tp->snd_max) && (tp->t_flags2 & TF2_ECN_SND_CWR)) {
			tp->t_flags2 &= ~TF2_ECN_SND_CWR;
			cwr_sent = true;
		}
		count_sent((uint32_t)len);
		tp->snd_nxt += (uint32_t)len;
		if (before(tp->snd_max, tp->snd_nxt))
			tp->snd_max = tp->snd_nxt;
	}
}

/* cc_cong_signal; `th_ack` is null for the timer. */
static void cong_signal(const tcp_seq *th_ack, ccsignal_t type)
{
	switch (type) {
	case CC_NDUPACK:
		if (!IN_FASTRECOVERY(tp->t_flags)) {
			tp->snd_recover = tp->snd_max;
			tp->t_flags2 |= TF2_ECN_SND_CWR;
		}
		break;
	case CC_ECN:
		if (!IN_CONGRECOVERY(tp->t_flags) || !before(*th_ack, tp->snd_recover)) {
			EXIT_CONGRECOVERY(tp->t_flags);
			tp->snd_recover = tp->snd_max + 1;
			tp->t_flags2 |= TF2_ECN_SND_CWR;
		}
		break;
	case CC_RTO:
		tp->t_dupacks = 0;
		tp->t_bytes_acked = 0;
		EXIT_RECOVERY(tp->t_flags);
		tp->t_flags2 |= TF2_ECN_SND_CWR;
		break;
	default:
		tp->snd_cwnd = tp->snd_cwnd_prev;
		tp->snd_ssthresh = tp->snd_ssthresh_prev;
		tp->snd_recover = tp->snd_recover_prev;
		if (tp->t_flags & TF_WASFRECOVERY)
			tp->t_flags |= TF_FASTRECOVERY;
		if (tp->t_flags & TF_WASCRECOVERY)
			ENTER_CONGRECOVERY(tp->t_flags);
		tp->snd_nxt = tp->snd_max;
		tp->t_flags &= ~TF_PREVVALID;
	}
	if (th_ack)
		cc.curack = *th_ack;
	algo->cong_signal(&cc, type);
}

/* cc_ack_received, before snd_una moves. */
static void ack_received(tcp_seq th_ack, ccsignal_t type)
{
	cc.nsegs = 1;
	cc.bytes_this_ack = (int)(th_ack - tp->snd_una);
	cc.flags &= ~CCF_CWND_LIMITED;
	if (tp->snd_cwnd <= tp->snd_wnd)
		cc.flags |= CCF_CWND_LIMITED;
	if (type == CC_ACK && tp->snd_cwnd > tp->snd_ssthresh) {
		tp->t_bytes_acked += (uint32_t)cc.bytes_this_ack;
		if (tp->t_bytes_acked >= tp->snd_cwnd) {
			tp->t_bytes_acked -= tp->snd_cwnd;
			cc.flags |= CCF_ABC_SENTAWND;
		}
	} else if (type == CC_ACK) {
		cc.flags &= ~CCF_ABC_SENTAWND;
		tp->t_bytes_acked = 0;
	}
	cc.curack = th_ack;
	if (type == CC_ACK) {
		counted = (uint32_t)cc.bytes_this_ack;
		counted_max = tp->snd_max;
	}
	algo->ack_received(&cc, type);
}

static void post_recovery(tcp_seq th_ack)
{
	cc.curack = th_ack;
	algo->post_recovery(&cc);
	EXIT_RECOVERY(tp->t_flags);
	tp->t_bytes_acked = 0;
	tp->sackhint.delivered_data = tp->sackhint.prr_delivered = tp->sackhint.prr_out = 0;
}

/* tcp_do_prr_ack (RFC 6937): the stack's window in both kinds of recovery. */
static void prr_ack(void)
{
	int mss = (int)tcp_fixed_maxseg(tp), pipe = tcp_compute_pipe(tp), limit, send;
	int delivered = tp->sackhint.delivered_data, ssthresh = (int)tp->snd_ssthresh;

	tp->sackhint.prr_delivered += delivered;
	limit = tp->sackhint.prr_delivered - tp->sackhint.prr_out;
	if (pipe >= ssthresh) {
		if (tp->sackhint.recover_fs == 0)
			tp->sackhint.recover_fs = imax(1, (int)(tp->snd_nxt - tp->snd_una));
		send = (int)(((int64_t)tp->sackhint.prr_delivered * ssthresh +
			tp->sackhint.recover_fs - 1) / tp->sackhint.recover_fs) -
		    tp->sackhint.prr_out + mss - 1;
	} else {
		if (delivered != 0)
			limit = imax(limit, delivered) + mss;
		send = imin(ssthresh - pipe, limit);
	}
	send = imax(send, 0) / mss * mss;
	if (IN_FASTRECOVERY(tp->t_flags))
		send += (int)(tp->snd_nxt - tp->snd_recover) + tp->sackhint.sack_bytes_rexmit;
	else
		send += pipe - delivered;
	tp->snd_cwnd = (uint32_t)imax(mss, send);
}

/* tcp_newreno_partial_ack, without SACK. */
static void partial_ack(tcp_seq th_ack)
{
	uint32_t mss = tcp_fixed_maxseg(tp), cwnd = tp->snd_cwnd, acked = th_ack - tp->snd_una;
	tcp_seq next = tp->snd_nxt;

	tp->snd_nxt = th_ack;
	tp->snd_cwnd = mss + acked;
	tp->t_flags |= TF_ACKNOW;
	output();
	tp->snd_cwnd = (cwnd > acked ? cwnd - acked : 0) + mss;
	if (before(tp->snd_nxt, next))
		tp->snd_nxt = next;
}

/* The third duplicate, or more than two segments of SACKed data. */
static void enter_recovery(tcp_seq th_ack)
{
	uint32_t mss = tcp_fixed_maxseg(tp);
	tcp_seq next = tp->snd_nxt;

	tp->t_dupacks = 3;
	if (IN_FASTRECOVERY(tp->t_flags)) {
		tp->t_dupacks = 0;
		return;
	}
	cong_signal(&th_ack, CC_NDUPACK);
	ack_received(th_ack, CC_DUPACK);
	tp->sackhint.prr_delivered = (int)mss;
	tp->sackhint.recover_fs = imax(1, (int)(tp->snd_nxt - tp->snd_una));
	tp->snd_cwnd = mss;
	if (tp->t_flags & TF_SACK_PERMIT) {
		output();
		return;
	}
	tp->snd_nxt = th_ack;
	output();
	tp->snd_cwnd = tp->snd_ssthresh + mss * (uint32_t)(tp->t_dupacks - tp->snd_limited);
	if (before(tp->snd_nxt, next))
		tp->snd_nxt = next;
}

static void duplicate(bool sacks)
{
	uint32_t mss = tcp_fixed_maxseg(tp), cwnd = tp->snd_cwnd;
	tcp_seq th_ack = tp->snd_una, max = tp->snd_max;
	bool sack = tp->t_flags & TF_SACK_PERMIT;

	/* Nothing outstanding: no timer runs. With SACK an ACK without news is no duplicate. */
	if (tp->snd_max == tp->snd_una || (sack && !sacks))
		return;
	if (++tp->t_dupacks > 3 || IN_FASTRECOVERY(tp->t_flags)) {
		ack_received(th_ack, CC_DUPACK);
		if (sack && IN_FASTRECOVERY(tp->t_flags))
			prr_ack();
		else
			tp->snd_cwnd += mss;
		output();
	} else if (tp->t_dupacks == 3 || tp->sackhint.sacked_bytes > 2 * (int)mss) {
		enter_recovery(th_ack);
	} else {
		/* Limited transmit (RFC 3042). */
		ack_received(th_ack, CC_DUPACK);
		cwnd = tp->snd_cwnd;
		if (tp->t_dupacks == 1)
			tp->snd_limited = 0;
		if (tp->snd_nxt == tp->snd_max && tp->t_rxtshift == 0)
			tp->snd_cwnd = tp->snd_nxt - tp->snd_una;
		tp->snd_cwnd += (uint32_t)(tp->t_dupacks - tp->snd_limited) * mss;
		output();
		tp->snd_limited += tp->snd_max != max;
		tp->snd_cwnd = cwnd;
	}
}

/* tcp_do_segment for a pure ACK. */
static void segment(tcp_seq th_ack, bool ece, int sacked, bool old_echo)
{
	int acked = (int)(th_ack - tp->snd_una), mss = (int)tcp_fixed_maxseg(tp), had;

	if (ece)
		cong_signal(&th_ack, CC_ECN);
	if (tp->t_rxtshift == 1 && (tp->t_flags & TF_PREVVALID) && old_echo)
		cong_signal(&th_ack, CC_RTO_ERR);
	if (acked < 0)
		return;
	had = imax(0, (int)(tp->snd_max - th_ack) - mss - tp->sackhint.sacked_bytes);
	sacked = tp->t_flags & TF_SACK_PERMIT ? imin(sacked, had) : 0;
	if (acked > 0 && !IN_RECOVERY(tp->t_flags) && sacked == 0 &&
	    tp->sackhint.sacked_bytes == 0) {
		/* Header prediction. */
		tp->t_rxtshift = 0;
		ack_received(th_ack, CC_ACK);
		tp->snd_una = th_ack;
		tp->t_dupacks = 0;
		if (before(tp->snd_nxt, tp->snd_una))
			tp->snd_nxt = tp->snd_una;
		output();
		return;
	}
	/* The scoreboard: an ACK of new data fills the first hole, the rest of it was SACKed. */
	had = tp->sackhint.sacked_bytes;
	if (acked > 0) {
		tp->sackhint.sacked_bytes =
		    imin(imax(0, had - imax(0, acked - mss)), (int)(tp->snd_max - th_ack));
		tp->sackhint.sack_bytes_rexmit = 0;
	}
	tp->sackhint.delivered_data = acked - (had - tp->sackhint.sacked_bytes) + sacked;
	tp->sackhint.sacked_bytes += sacked;
	if (acked == 0) {
		duplicate(sacked > 0);
		return;
	}
	tp->t_dupacks = 0;
	if (sacked > 0 && tp->t_rxtshift == 0 && tp->snd_nxt == tp->snd_max) {
		tp->t_dupacks++;
		if (!IN_FASTRECOVERY(tp->t_flags) && tp->sackhint.sacked_bytes > 2 * mss)
			enter_recovery(th_ack);
	}
	if (before(th_ack, tp->snd_recover)) {
		if (IN_FASTRECOVERY(tp->t_flags) && !(tp->t_flags & TF_SACK_PERMIT)) {
			partial_ack(th_ack);
		} else if (IN_RECOVERY(tp->t_flags)) {
			if (!IN_FASTRECOVERY(tp->t_flags))
				tp->sackhint.delivered_data = acked;
			prr_ack();
			output();
		}
	}
	tp->t_rxtshift = 0;
	ack_received(th_ack, CC_ACK);
	tp->snd_una = th_ack;
	if (IN_RECOVERY(tp->t_flags) && !before(th_ack, tp->snd_recover))
		post_recovery(th_ack);
	if ((tp->t_flags & TF_SACK_PERMIT) && before(tp->snd_recover, tp->snd_una))
		tp->snd_recover = tp->snd_una;
	if (before(tp->snd_nxt, tp->snd_una))
		tp->snd_nxt = tp->snd_una;
	output();
}

/* tcp_timer_rexmt. */
static void timeout(uint32_t maxseg)
{
	if (++tp->t_rxtshift == 1) {
		/* What the stack's undo restores. */
		tp->snd_cwnd_prev = tp->snd_cwnd;
		tp->snd_ssthresh_prev = tp->snd_ssthresh;
		tp->snd_recover_prev = tp->snd_recover;
		tp->t_flags &= ~(TF_WASFRECOVERY | TF_WASCRECOVERY);
		if (IN_FASTRECOVERY(tp->t_flags))
			tp->t_flags |= TF_WASFRECOVERY;
		if (IN_CONGRECOVERY(tp->t_flags))
			tp->t_flags |= TF_WASCRECOVERY;
		tp->t_flags |= TF_PREVVALID;
	} else {
		tp->t_flags &= ~TF_PREVVALID;
	}
	tp->sackhint.sacked_bytes = tp->sackhint.sack_bytes_rexmit = 0;
	if (maxseg != 0) {
		tp->t_maxseg = maxseg;
		algo->conn_init(&cc);
	}
	tp->snd_nxt = tp->snd_una;
	tp->snd_recover = tp->snd_max;
	cong_signal(NULL, CC_RTO);
	output();
}

/* tcp_ecn_input_segment with an arriving segment. */
static void arrive(unsigned ecn, bool cwr)
{
	if (cwr) {
		tp->t_flags2 &= ~TF2_ECN_SND_ECE;
		tp->t_flags |= TF_ACKNOW;
	}
	if (ecn == 3)
		tp->t_flags2 |= TF2_ECN_SND_ECE;
	cc.flags &= ~(CCF_IPHDR_CE | CCF_TCPHDR_CWR);
	cc.flags |= (ecn == 3 ? CCF_IPHDR_CE : 0) | (cwr ? CCF_TCPHDR_CWR : 0);
	algo->ecnpkt_handler(&cc);
	if (cc.flags & CCF_ACKNOW)
		tp->t_flags |= TF_ACKNOW;
}

static int set(const char *name, uint32_t value)
{
	static const struct {
		const char *name;
		int (*set)(uint32_t);
	} parameters[] = {
		{ "alpha", set_alpha }, { "shift_g", set_shift_g }, { "slowstart", set_slowstart },
		{ "idle_resets", set_idle_resets }, { "one_sided", set_one_sided },
	};

	for (size_t i = 0; i < sizeof(parameters) / sizeof(*parameters); i++)
		if (!strcmp(name, parameters[i].name))
			return parameters[i].set(value);
	return ENOENT;
}

int main(void)
{
	char verb[16], name[16];
	unsigned a, b, c, d, e, f;

	while (scanf("%15s", verb) == 1) {
		cwr_sent = false;
		counted = counted_max = 0;
		if (!strcmp(verb, "set") && scanf("%15s %u", name, &a) == 2) {
			puts(set(name, a) ? "refused" : "set");
			fflush(stdout);
			continue;
		} else if (!strcmp(verb, "init") &&
			   scanf("%u %u %u %u %u %u", &a, &b, &c, &d, &e, &f) == 6) {
			tp->t_maxseg = a;
			tp->t_flags = TF_RCVD_TSTMP | (e ? TF_SACK_PERMIT : 0);
			tp->t_flags2 = TF2_ECN_PERMIT;
			tp->snd_cwnd = tcp_fixed_maxseg(tp) * b;
			tp->snd_ssthresh = 65535u << 14;
			tp->snd_una = tp->snd_nxt = tp->snd_max = tp->snd_recover = c;
			tp->snd_wnd = d;
			tp->snd_scale = (int)f;
			app_end = c;
			resent_at = c - 1;
			if (algo->cb_init(&cc, NULL))
				return 1;
			algo->conn_init(&cc);
		} else if (!strcmp(verb, "app") && scanf("%u", &a) == 1) {
			app_end += a;
			output();
		} else if (!strcmp(verb, "ack") && scanf("%u %u %u %u", &a, &b, &c, &d) == 4) {
			segment(tp->snd_una + (uint32_t)imin((int)a, (int)(tp->snd_max - tp->snd_una)),
				b, (int)c, d);
		} else if (!strcmp(verb, "dup") && scanf("%u %u", &a, &b) == 2) {
			segment(tp->snd_una, b, (int)a, false);
		} else if (!strcmp(verb, "old") && scanf("%u", &a) == 1) {
			segment(tp->snd_una - 1, a, 0, false);
		} else if (!strcmp(verb, "rto") && scanf("%u", &a) == 1) {
			if (tp->snd_max != tp->snd_una)
				timeout(a);
		} else if (!strcmp(verb, "idle")) {
			/* Each call of tcp_output in an idle time finds it again. */
			if (tp->snd_max == tp->snd_una) {
				algo->after_idle(&cc);
				algo->after_idle(&cc);
			}
		} else if (!strcmp(verb, "data") && scanf("%u %u", &a, &b) == 2) {
			tp->t_flags &= ~TF_ACKNOW;
			arrive(a, b);
		} else {
			fprintf(stderr, "unknown line: %s\n", verb);
			return 1;
		}
		printf("%u %u %u %u %u %u %d %d %d %d %d %u %u\n", tp->snd_una, tp->snd_nxt, tp->snd_max,
		       tp->snd_cwnd, tp->snd_ssthresh, (unsigned)LT_ALPHA(cc.cc_data),
		       !!IN_FASTRECOVERY(tp->t_flags), !!IN_CONGRECOVERY(tp->t_flags), cwr_sent,
		       !!(tp->t_flags2 & TF2_ECN_SND_ECE), !!(tp->t_flags & TF_ACKNOW), counted,
		       counted_max);
		fflush(stdout);
	}
	algo->cb_destroy(&cc);
	return 0;
}
