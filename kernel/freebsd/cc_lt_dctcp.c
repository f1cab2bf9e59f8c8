/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * DCTCP (RFC 8257) as a module of FreeBSD's modular congestion control, cc(9): sender and receiver.
 * one_sided = 1 is for peers with standard ECN (ODCTCP chapter 5): all bytes under their latched
 * echo count, and the ACK of a segment with CWR is delayed as usual. The stack sends CWR.
 *
 * The module has DCTCP's part only: alpha with the arithmetic of ../rules, the cut by alpha, the
 * reaction to loss, the echo of a receiver. Growth, the end of fast recovery and the restart after
 * an idle time are NewReno's (newreno_cc_*). The stack writes the window too (PRR, limited
 * transmit, undo of a timeout), so no copy of it is kept.
 *
 * FreeBSD 14 and later. Not run on FreeBSD: README.md says how it was compiled and compared.
 */
#ifdef LOWTIDE_HOST
#include "declared/cc.h"
#else
#include <sys/param.h>
#include <sys/systm.h>
#include <sys/kernel.h>
#include <sys/malloc.h>
#include <sys/module.h>
#include <sys/socket.h>
#include <sys/socketvar.h>
#include <sys/sysctl.h>
#include <net/route.h>
#include <net/route/nhop.h>
#include <net/vnet.h>
#include <netinet/in.h>
#include <netinet/in_pcb.h>
#include <netinet/tcp.h>
#include <netinet/tcp_seq.h>
#include <netinet/tcp_var.h>
#include <netinet/cc/cc.h>
#include <netinet/cc/cc_module.h>
#endif

#include "../rules/dctcp.h"

/* The signals were macros and plain integers before they became an enumeration. */
#ifdef CC_ECN
typedef uint16_t lt_ack_type;
typedef uint32_t lt_signal;
#else
typedef ccsignal_t lt_ack_type, lt_signal;
#endif

/* The connection of a cc_var; the name of the pointer differs between versions. */
#define LT_TP(ccv) __containerof(&CCV(ccv, snd_una), struct tcpcb, snd_una)

/* A parameter of each network stack, net.inet.tcp.cc.lt_dctcp.NAME, from 0 to MAX. */
#define LT_PARAMETER(name, initial, max, text)						\
VNET_DEFINE_STATIC(uint32_t, lt_dctcp_##name) = initial;				\
SYSCTL_PROC(_net_inet_tcp_cc_lt_dctcp, OID_AUTO, name,					\
    CTLFLAG_VNET | CTLTYPE_UINT | CTLFLAG_RW | CTLFLAG_MPSAFE,				\
    &VNET_NAME(lt_dctcp_##name), max, lt_sysctl, "IU", text)
#define V_LT(name) VNET(lt_dctcp_##name)

static int
lt_sysctl(SYSCTL_HANDLER_ARGS)
{
	uint32_t value = *(uint32_t *)arg1;
	int error = sysctl_handle_int(oidp, &value, 0, req);

	if (error != 0 || req->newptr == NULL)
		return (error);
	if (value > arg2)
		return (EINVAL);
	*(uint32_t *)arg1 = value;
	return (0);
}

SYSCTL_DECL(_net_inet_tcp_cc_lt_dctcp);
SYSCTL_NODE(_net_inet_tcp_cc, OID_AUTO, lt_dctcp, CTLFLAG_RW | CTLFLAG_MPSAFE, NULL,
    "lowtide's DCTCP");
LT_PARAMETER(alpha, 1024, 1024, "alpha of a new connection, in 1/1024");
LT_PARAMETER(shift_g, 4, 10, "gain of alpha as a power of two, g = 2^-shift_g");
LT_PARAMETER(slowstart, 0, 1, "a first sign of congestion that is a mark sets alpha to one");
LT_PARAMETER(idle_resets, 1, 1, "an idle time of one RTO resets alpha");
LT_PARAMETER(one_sided, 0, 1, "the peers have standard ECN");

struct lt_conn {
	uint32_t alpha;		/* in 2^-20 */
	tcp_seq window_end;	/* an ACK beyond it ends the observation window */
	uint32_t acked;		/* bytes of this observation window */
	uint32_t marked;	/* of these, bytes acknowledged with ECE */
	tcp_seq ece_ack;	/* ACK number of the last segment with ECE */
	uint32_t before_cut;	/* cwnd before the last cut for ECN, bytes */
	int ece;		/* the segment ece_ack is not counted yet */
	int last_ece;		/* the last ACK of new data had ECE */
	int rto;		/* after a timeout the next ACK begins an observation window */
	int congested;		/* a mark, a loss or a timeout occurred */
	int ce;			/* receiver: the last segment had CE */
};

static size_t
lt_data_sz(void)
{
	return (sizeof(struct lt_conn));
}

static int
lt_cb_init(struct cc_var *ccv, void *ptr)
{
	struct lt_conn *c = ptr;

	INP_WLOCK_ASSERT(tptoinpcb(LT_TP(ccv)));
	if (c == NULL) {
		c = malloc(sizeof(*c), M_CC_MEM, M_NOWAIT);
		if (c == NULL)
			return (ENOMEM);
	}
	*c = (struct lt_conn){ .alpha = V_LT(alpha) << 10 };
	ccv->cc_data = c;
	return (0);
}

static void
lt_cb_destroy(struct cc_var *ccv)
{
	free(ccv->cc_data, M_CC_MEM);
}

static void
lt_begin_window(struct cc_var *ccv)
{
	struct lt_conn *c = ccv->cc_data;

	c->window_end = CCV(ccv, snd_max);
	c->acked = c->marked = c->rto = 0;
}

/* RFC 8257 section 3.3, as lt_observe: an ACK up to exactly WindowEnd does not end the window. */
static void
lt_count(struct cc_var *ccv)
{
	struct lt_conn *c = ccv->cc_data;
	uint32_t bytes = ccv->bytes_this_ack, mss = tcp_fixed_maxseg(LT_TP(ccv)), marked;
	/* The ECE of a duplicate or of an old ACK counts no bytes. */
	int ece = c->ece && c->ece_ack == ccv->curack;

	marked = ece ? bytes : 0;
	/* A segment that waited for its ACK when CE changed is acknowledged with the new echo. */
	if (ece != c->last_ece && bytes > mss && !V_LT(one_sided))
		marked = ece ? bytes - mss : mss;
	c->last_ece = ece;
	c->ece = 0;
	if (c->rto)
		lt_begin_window(ccv);
	c->acked += bytes;
	c->marked += marked;
	if (lt_before(c->window_end, ccv->curack)) {
		c->alpha = lt_alpha(c->alpha, V_LT(shift_g), c->marked, c->acked);
		lt_begin_window(ccv);
	}
}

/* The stack has signalled the ECE of this segment before, so a cut precedes the estimate. */
static void
lt_ack_received(struct cc_var *ccv, lt_ack_type type)
{
	uint32_t reduced = CCV(ccv, t_flags) & TF_CONGRECOVERY;

	/* Marks measure congestion, growth goes on (ODCTCP section 4.2.1). Fast recovery stops it. */
	CCV(ccv, t_flags) &= ~reduced;
	newreno_cc_ack_received(ccv, type);
	CCV(ccv, t_flags) |= reduced;
	if (type == CC_ACK)
		lt_count(ccv);
}

static void
lt_cong_signal(struct cc_var *ccv, lt_signal type)
{
	struct lt_conn *c = ccv->cc_data;
	uint32_t mss = tcp_fixed_maxseg(LT_TP(ccv));
	uint32_t cwnd = CCV(ccv, snd_cwnd), flight = CCV(ccv, snd_max) - CCV(ccv, snd_una);

	switch (type) {
	case CC_ECN:
		c->ece = 1;
		c->ece_ack = ccv->curack;
		if (IN_CONGRECOVERY(CCV(ccv, t_flags)))
			return;
		if (V_LT(slowstart) && !c->congested) {
			c->alpha = LT_ONE;
			lt_begin_window(ccv);
		}
		c->before_cut = cwnd;
		cwnd -= (uint32_t)(((uint64_t)cwnd * c->alpha) >> 21);
		CCV(ccv, snd_ssthresh) = lt_max(cwnd, 2 * mss);
		CCV(ccv, snd_cwnd) = lt_min(CCV(ccv, snd_cwnd), CCV(ccv, snd_ssthresh));
		ENTER_CONGRECOVERY(CCV(ccv, t_flags));
		break;
	case CC_NDUPACK:
		if (IN_FASTRECOVERY(CCV(ccv, t_flags)))
			return;
		/* Without the data of limited transmit (RFC 5681 section 3.2). */
		flight = lt_min(flight, cwnd);
		/* A cut and a loss in one window of data do not add up (RFC 3168 section 6.1.2). */
		if (IN_CONGRECOVERY(CCV(ccv, t_flags)) && c->before_cut != 0)
			flight = c->before_cut;
		CCV(ccv, snd_ssthresh) = lt_max(flight / 2, 2 * mss);
		ENTER_RECOVERY(CCV(ccv, t_flags));
		break;
	case CC_RTO:
		/* RFC 5681 section 3.1: a further timeout for the same data keeps ssthresh. */
		if (CCV(ccv, t_rxtshift) <= 1)
			CCV(ccv, snd_ssthresh) = lt_max(flight / 2, 2 * mss);
		CCV(ccv, snd_cwnd) = mss;
		EXIT_RECOVERY(CCV(ccv, t_flags));
		c->rto = 1;
		break;
	default:
		/* CC_RTO_ERR: the stack has restored its window already. */
		return;
	}
	c->congested = 1;
}

static void
lt_after_idle(struct cc_var *ccv)
{
	struct lt_conn *c = ccv->cc_data;

	if (V_LT(idle_resets)) {
		c->alpha = V_LT(alpha) << 10;
		c->congested = 0;
		lt_begin_window(ccv);
	}
	newreno_cc_after_idle(ccv);
}

/*
 * Called for each arriving segment after the echo of RFC 3168, which it replaces. Pure ACKs are
 * not ECT and look like data without a mark: the stack does not pass the length.
 */
static void
lt_ecnpkt_handler(struct cc_var *ccv)
{
	struct lt_conn *c = ccv->cc_data;
	int ce = (ccv->flags & CCF_IPHDR_CE) != 0, cwr = (ccv->flags & CCF_TCPHDR_CWR) != 0;
	int now = cwr || ce != c->ce;

	/* With AccECN the stack echoes a counter, and CWR is a bit of it. */
	if (CCV(ccv, t_flags2) & TF2_ACE_PERMIT)
		return;
	c->ce = ce;
	CCV(ccv, t_flags2) &= ~TF2_ECN_SND_ECE;
	if (ce)
		CCV(ccv, t_flags2) |= TF2_ECN_SND_ECE;
	if (cwr && V_LT(one_sided)) {
		/* ODCTCP section 5.2.2; the stack has asked for this ACK too. */
		CCV(ccv, t_flags) &= ~TF_ACKNOW;
		now = 0;
	}
	ccv->flags &= ~CCF_ACKNOW;
	if (now)
		ccv->flags |= CCF_ACKNOW;
}

struct cc_algo lt_dctcp_cc_algo = {
	.name = "lt_dctcp",
	.cc_data_sz = lt_data_sz,
	.cb_init = lt_cb_init,
	.cb_destroy = lt_cb_destroy,
	.conn_init = lt_begin_window,
	.ack_received = lt_ack_received,
	.cong_signal = lt_cong_signal,
	.post_recovery = newreno_cc_post_recovery,
	.after_idle = lt_after_idle,
	.ecnpkt_handler = lt_ecnpkt_handler,
};

DECLARE_CC_MODULE(lt_dctcp, &lt_dctcp_cc_algo);
MODULE_VERSION(lt_dctcp, 1);
