/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The part of FreeBSD 15's kernel that cc_lt_dctcp.c uses, declared for a build in user space.
 * Names, values and meanings are FreeBSD's; the functions are written from cc(9) and the RFCs, and
 * were compared with FreeBSD's. */
#ifndef LOWTIDE_DECLARED_CC_H
#define LOWTIDE_DECLARED_CC_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef uint32_t tcp_seq;

struct tcpcb {
	tcp_seq snd_una, snd_nxt, snd_max, snd_recover, snd_recover_prev;
	uint32_t snd_cwnd, snd_ssthresh, snd_wnd, snd_cwnd_prev, snd_ssthresh_prev, t_bytes_acked;
	uint32_t t_maxseg, t_flags, t_flags2;
	int t_rxtshift, t_dupacks, snd_limited, snd_scale;
	struct {
		int sacked_bytes, sack_bytes_rexmit, delivered_data;
		int prr_delivered, prr_out, recover_fs;
	} sackhint;
};

#define TF_ACKNOW 0x00000001
#define TF_NOOPT 0x00000008
#define TF_RCVD_TSTMP 0x00000100
#define TF_SACK_PERMIT 0x00000200
#define TF_PREVVALID 0x00002000
#define TF_FASTRECOVERY 0x00100000
#define TF_WASFRECOVERY 0x00200000
#define TF_CONGRECOVERY 0x20000000
#define TF_WASCRECOVERY 0x40000000
#define TF2_ECN_PERMIT 0x020
#define TF2_ECN_SND_CWR 0x040
#define TF2_ECN_SND_ECE 0x080
#define TF2_ACE_PERMIT 0x100
#define TF_ALLRECOVERY (TF_FASTRECOVERY | TF_CONGRECOVERY)
#define IN_FASTRECOVERY(flags) ((flags) & TF_FASTRECOVERY)
#define IN_CONGRECOVERY(flags) ((flags) & TF_CONGRECOVERY)
#define IN_RECOVERY(flags) ((flags) & TF_ALLRECOVERY)
#define ENTER_CONGRECOVERY(flags) ((flags) |= TF_CONGRECOVERY)
#define ENTER_RECOVERY(flags) ((flags) |= TF_ALLRECOVERY)
#define EXIT_CONGRECOVERY(flags) ((flags) &= ~TF_CONGRECOVERY)
#define EXIT_RECOVERY(flags) ((flags) &= ~TF_ALLRECOVERY)

typedef enum {
	CC_ACK = 1, CC_DUPACK = 2, CC_ECN = 0x100, CC_RTO = 0x200, CC_RTO_ERR = 0x400,
	CC_NDUPACK = 0x800,
} ccsignal_t;

#define CCF_ABC_SENTAWND 0x01
#define CCF_CWND_LIMITED 0x02
#define CCF_ACKNOW 0x08
#define CCF_IPHDR_CE 0x10
#define CCF_TCPHDR_CWR 0x20

struct cc_var {
	void *cc_data;
	int bytes_this_ack;
	tcp_seq curack;
	uint32_t flags;
	struct tcpcb *tp;
	uint16_t nsegs;
};
#define CCV(ccv, what) ((ccv)->tp->what)

struct cc_algo {
	char name[16];
	size_t (*cc_data_sz)(void);
	int (*cb_init)(struct cc_var *, void *);
	void (*cb_destroy)(struct cc_var *);
	void (*conn_init)(struct cc_var *);
	void (*ack_received)(struct cc_var *, ccsignal_t);
	void (*cong_signal)(struct cc_var *, ccsignal_t);
	void (*post_recovery)(struct cc_var *);
	void (*after_idle)(struct cc_var *);
	void (*ecnpkt_handler)(struct cc_var *);
};

/* With its options on every segment, the stack sends this much payload. */
static inline uint32_t tcp_fixed_maxseg(const struct tcpcb *tp)
{
	return tp->t_maxseg - ((tp->t_flags & (TF_NOOPT | TF_RCVD_TSTMP)) == TF_RCVD_TSTMP ? 12 : 0);
}

/* RFC 6675 section 4. */
static inline int tcp_compute_pipe(const struct tcpcb *tp)
{
	return (int)(tp->snd_max - tp->snd_una) + tp->sackhint.sack_bytes_rexmit -
	    tp->sackhint.sacked_bytes;
}

#ifndef LOWTIDE_NEWRENO
#define FBSD_MIN(a, b) ((a) < (b) ? (a) : (b))
#define FBSD_MAX(a, b) ((a) > (b) ? (a) : (b))

/* Appropriate byte counting (RFC 3465) with L = 2; after a timeout L = 1. */
static void newreno_cc_ack_received(struct cc_var *ccv, ccsignal_t type)
{
	struct tcpcb *tp = ccv->tp;
	uint32_t grow, limit = tp->t_maxseg;

	if (type != CC_ACK || IN_RECOVERY(tp->t_flags) || !(ccv->flags & CCF_CWND_LIMITED))
		return;
	if (tp->snd_cwnd <= tp->snd_ssthresh) {
		if (tp->snd_nxt == tp->snd_max)
			limit *= 2u * ccv->nsegs;
		grow = FBSD_MIN((uint32_t)ccv->bytes_this_ack, limit);
	} else {
		grow = ccv->flags & CCF_ABC_SENTAWND ? limit : 0;
		ccv->flags &= ~CCF_ABC_SENTAWND;
	}
	tp->snd_cwnd = FBSD_MIN(tp->snd_cwnd + grow, 65535u << tp->snd_scale);
}

/* RFC 6582 section 3.2 step 3 (1). */
static void newreno_cc_post_recovery(struct cc_var *ccv)
{
	struct tcpcb *tp = ccv->tp;
	int pipe = tcp_compute_pipe(tp), mss = (int)tp->t_maxseg;

	if (IN_FASTRECOVERY(tp->t_flags))
		tp->snd_cwnd = pipe < (int)tp->snd_ssthresh ? (uint32_t)(FBSD_MAX(pipe, mss) + mss)
							    : tp->snd_ssthresh;
}

/* RFC 5681 section 4.1 with the initial window of RFC 6928; ssthresh by RFC 2861 section 2. */
static void newreno_cc_after_idle(struct cc_var *ccv)
{
	struct tcpcb *tp = ccv->tp;
	uint32_t mss = tcp_fixed_maxseg(tp), initial = FBSD_MAX(2 * mss, 14600u);

	initial = FBSD_MIN(10 * mss, initial);
	tp->snd_ssthresh = FBSD_MAX(tp->snd_ssthresh, tp->snd_cwnd - tp->snd_cwnd / 4);
	tp->snd_cwnd = FBSD_MIN(initial, tp->snd_cwnd);
}
#endif

#define M_CC_MEM 0
#define M_NOWAIT 0
#define malloc(size, type, flags) (malloc)(size)
#define free(pointer, type) (free)(pointer)
#define INP_WLOCK_ASSERT(inp)
#define __containerof(pointer, type, member) \
	((type *)((char *)(pointer) - offsetof(type, member)))
#define DECLARE_CC_MODULE(name, algo) extern struct cc_algo *const declared_##name
#define MODULE_VERSION(name, version) extern int version_of_##name

/* A driver sets parameters as sysctl(8) does, through the list of them. */
#define VNET(name) name
#define VNET_NAME(name) name
#define VNET_DEFINE_STATIC(type, name) static type name

struct sysctl_req {
	uint32_t *newptr;
};
#define SYSCTL_HANDLER_ARGS void *arg1, intmax_t arg2, struct sysctl_req *req
#define SYSCTL_DECL(name) extern int declared##name
#define SYSCTL_NODE(parent, number, name, access, handler, text) extern int node_##name
#define SYSCTL_PROC(parent, number, name, access, pointer, max, handler, kind, text) \
	static int set_##name(uint32_t value) \
	{ \
		return (handler)(pointer, max, &(struct sysctl_req){ &value }); \
	} \
	extern int declared_##name
#define sysctl_handle_int(oidp, value, zero, req) (*(value) = *(req)->newptr, 0)

#endif
