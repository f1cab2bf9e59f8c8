/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * DCTCP as a module of FreeBSD's modular congestion control, cc(9), with the rules of ../rules.
 *
 * Untested on FreeBSD: it is compiled in user space against the declarations of `declared/`, and
 * a test drives it with the same events as the BPF and the Rust control. For a build as a module,
 * see README.md.
 *
 * The receiving half of FreeBSD's own cc_dctcp (ecnpkt_handler) is not here: this control is the
 * sender of one-sided DCTCP, for receivers of classic ECN.
 */
#ifdef LOWTIDE_HOST
#include "declared/cc.h"
#else
#include <sys/param.h>
#include <sys/kernel.h>
#include <sys/malloc.h>
#include <sys/module.h>
#include <sys/socket.h>
#include <sys/socketvar.h>
#include <netinet/in.h>
#include <netinet/in_pcb.h>
#include <netinet/tcp_seq.h>
#include <netinet/tcp_var.h>
#include <netinet/cc/cc.h>
#include <netinet/cc/cc_module.h>
#endif

#include "../rules/dctcp.h"

/* Parameters of all connections. */
static struct lt_dctcp_params lt_param = {
	.shift_g = 4,
	.initial_alpha = 1024,
	.idle_resets = 0,
	.floor = 2,
};

struct lt_conn {
	struct lt_dctcp dctcp;
	lt_u32 cut_end;		/* snd_max at the last ECN cut */
	int in_cut;		/* an ECN cut was made, and its window of data is not acknowledged */
	int ece;		/* the segment that is being processed has ECE */
	int rto;		/* a retransmission timeout is being repaired */
};

static void
lt_write_window(struct cc_var *ccv, struct lt_conn *c)
{
	CCV(ccv, snd_cwnd) = c->dctcp.window.cwnd;
	CCV(ccv, snd_ssthresh) = c->dctcp.window.ssthresh;
}

static size_t
lt_data_sz(void)
{
	return (sizeof(struct lt_conn));
}

static int
lt_cb_init(struct cc_var *ccv, void *ptr)
{
	struct lt_conn *c = ptr;

	if (c == NULL) {
		c = malloc(sizeof(*c), M_CC_MEM, M_NOWAIT | M_ZERO);
		if (c == NULL)
			return (ENOMEM);
	}
	ccv->cc_data = c;
	return (0);
}

static void
lt_cb_destroy(struct cc_var *ccv)
{
	free(ccv->cc_data, M_CC_MEM);
}

static void
lt_conn_init(struct cc_var *ccv)
{
	struct lt_conn *c = ccv->cc_data;

	lt_dctcp_init(&c->dctcp, &lt_param, CCV(ccv, t_maxseg), CCV(ccv, snd_cwnd),
	    CCV(ccv, snd_una));
	c->cut_end = CCV(ccv, snd_una);
	c->in_cut = c->ece = c->rto = 0;
}

/* Called for each ACK of new data, after cong_signal for its ECE. */
static void
lt_ack_received(struct cc_var *ccv, uint16_t type)
{
	struct lt_conn *c = ccv->cc_data;
	struct lt_ack ack = { 0 };

	if (type != CC_ACK)
		return;
	ack.snd_una = ccv->curack;
	ack.snd_nxt = CCV(ccv, snd_max);
	ack.acked = ccv->bytes_this_ack;
	ack.ece = c->ece;
	ack.marked = ack.ece ? ack.acked : 0;
	ack.may_reduce = !c->in_cut || lt_before(c->cut_end, ccv->curack);
	ack.after_rto = c->rto;
	ack.may_grow = (ccv->flags & CCF_CWND_LIMITED) != 0 && !IN_FASTRECOVERY(CCV(ccv, t_flags));
	if (ack.may_reduce)
		c->in_cut = 0;
	c->ece = 0;
	if (lt_dctcp_ack(&c->dctcp, &lt_param, &ack)) {
		c->in_cut = 1;
		c->cut_end = CCV(ccv, snd_max);
		/* CWR on the next new data. */
		CCV(ccv, t_flags2) |= TF2_ECN_SND_CWR;
	}
	lt_write_window(ccv, c);
}

static void
lt_cong_signal(struct cc_var *ccv, uint32_t type)
{
	struct lt_conn *c = ccv->cc_data;
	lt_u32 flight = CCV(ccv, snd_max) - CCV(ccv, snd_una);

	switch (type) {
	case CC_ECN:
		/* The ACK's bytes are known in ack_received. */
		c->ece = 1;
		return;
	case CC_NDUPACK:
		if (IN_FASTRECOVERY(CCV(ccv, t_flags)))
			return;
		lt_dctcp_event(&c->dctcp, &lt_param, LT_LOSS, flight,
		    c->in_cut && lt_before(CCV(ccv, snd_una), c->cut_end));
		break;
	case CC_RTO:
		lt_dctcp_event(&c->dctcp, &lt_param, c->rto ? LT_RTO_AGAIN : LT_RTO, flight, 0);
		c->rto = 1;
		break;
	case CC_RTO_ERR:
		lt_dctcp_event(&c->dctcp, &lt_param, LT_UNDO, 0, 0);
		c->rto = 0;
		break;
	default:
		return;
	}
	lt_write_window(ccv, c);
}

static void
lt_post_recovery(struct cc_var *ccv)
{
	struct lt_conn *c = ccv->cc_data;

	lt_dctcp_event(&c->dctcp, &lt_param, LT_RECOVERED,
	    CCV(ccv, snd_max) - ccv->curack, 0);
	c->rto = 0;
	lt_write_window(ccv, c);
}

static void
lt_after_idle(struct cc_var *ccv)
{
	struct lt_conn *c = ccv->cc_data;

	lt_dctcp_event(&c->dctcp, &lt_param, LT_IDLE, 0, 0);
	lt_write_window(ccv, c);
}

struct cc_algo lt_dctcp_cc_algo = {
	.name = "lt_dctcp",
	.cc_data_sz = lt_data_sz,
	.cb_init = lt_cb_init,
	.cb_destroy = lt_cb_destroy,
	.conn_init = lt_conn_init,
	.ack_received = lt_ack_received,
	.cong_signal = lt_cong_signal,
	.post_recovery = lt_post_recovery,
	.after_idle = lt_after_idle,
};

DECLARE_CC_MODULE(lt_dctcp, &lt_dctcp_cc_algo);
MODULE_VERSION(lt_dctcp, 1);
