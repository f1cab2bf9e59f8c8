/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The part of cc(9) and of struct tcpcb that cc_lt_dctcp.c uses, declared for a build in user
 * space. Names and meanings are those of the manual page cc(9) of FreeBSD 14. */
#ifndef LOWTIDE_DECLARED_CC_H
#define LOWTIDE_DECLARED_CC_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef uint32_t tcp_seq;

struct tcpcb {
	tcp_seq snd_una, snd_max;
	uint32_t snd_cwnd, snd_ssthresh, t_maxseg, t_flags, t_flags2;
};

struct cc_var {
	void *cc_data;
	int bytes_this_ack;
	tcp_seq curack;
	uint32_t flags;
	struct tcpcb *tp;
};

struct cc_algo {
	char name[16];
	size_t (*cc_data_sz)(void);
	int (*cb_init)(struct cc_var *, void *);
	void (*cb_destroy)(struct cc_var *);
	void (*conn_init)(struct cc_var *);
	void (*ack_received)(struct cc_var *, uint16_t);
	void (*cong_signal)(struct cc_var *, uint32_t);
	void (*post_recovery)(struct cc_var *);
	void (*after_idle)(struct cc_var *);
};

#define CCV(ccv, what) ((ccv)->tp->what)

/* Values are of no meaning here; the module uses the names. */
#define CC_ACK 1
#define CC_DUPACK 2
#define CC_ECN 1
#define CC_RTO 2
#define CC_RTO_ERR 4
#define CC_NDUPACK 8
#define CCF_CWND_LIMITED 4
#define TF_FASTRECOVERY 1
#define TF2_ECN_SND_CWR 1
#define IN_FASTRECOVERY(flags) ((flags) & TF_FASTRECOVERY)

#define M_CC_MEM 0
#define M_NOWAIT 0
#define M_ZERO 0
#define malloc(size, type, flags) calloc(1, size)
#define free(pointer, type) (free)(pointer)

#define DECLARE_CC_MODULE(name, algo) extern struct cc_algo *const declared_##name
#define MODULE_VERSION(name, version) extern int version_of_##name

#endif
