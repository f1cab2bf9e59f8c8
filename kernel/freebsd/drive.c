/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Drives the cc(9) module with the lines of ../host/drive.c, and prints the same state. */
#include <stdio.h>
#include <string.h>

#include "cc_lt_dctcp.c"

int main(void)
{
	static struct tcpcb tp;
	static struct cc_var ccv = { .tp = &tp };
	struct cc_algo *cc = &lt_dctcp_cc_algo;
	struct lt_conn *c;
	char verb[16];
	unsigned state = 0, a, b, d, e, f, g, h;

	if (cc->cb_init(&ccv, NULL))
		return 1;
	c = ccv.cc_data;
	while (scanf("%15s", verb) == 1) {
		tp.t_flags2 = 0;
		if (!strcmp(verb, "init") &&
		    scanf("%u %u %u %u %u %u %u", &a, &b, &d, &e, &f, &g, &h) == 7) {
			tp.t_maxseg = a;
			tp.snd_cwnd = a * b;
			tp.snd_ssthresh = LT_UNLIMITED;
			tp.snd_una = tp.snd_max = ccv.curack = d;
			lt_param = (struct lt_dctcp_params){ e, f, g, h };
			cc->conn_init(&ccv);
		} else if (!strcmp(verb, "state") && scanf("%u %u %u", &a, &b, &d) == 3) {
			tp.snd_una = ccv.curack = b;
			tp.snd_max = d;
			if (a == 4) {
				cc->cong_signal(&ccv, CC_RTO);
				tp.t_flags &= ~TF_FASTRECOVERY;
			} else if (a == 3) {
				cc->cong_signal(&ccv, CC_NDUPACK);
				tp.t_flags |= TF_FASTRECOVERY;
			} else if (state == 3) {
				tp.t_flags &= ~TF_FASTRECOVERY;
				cc->post_recovery(&ccv);
			} else {
				c->rto = 0;
			}
			state = a;
		} else if (!strcmp(verb, "ack") &&
			   scanf("%u %u %u %u %u %u", &a, &b, &d, &e, &f, &g) == 6) {
			ccv.bytes_this_ack = b - ccv.curack;
			tp.snd_una = ccv.curack = b;
			tp.snd_max = d;
			ccv.flags = f ? CCF_CWND_LIMITED : 0;
			if (e)
				cc->cong_signal(&ccv, CC_ECN);
			cc->ack_received(&ccv, CC_ACK);
		} else if (!strcmp(verb, "idle")) {
			cc->after_idle(&ccv);
		} else if (!strcmp(verb, "undo")) {
			/* Without a repair in progress it leaves the flag. */
			h = c->rto;
			cc->cong_signal(&ccv, CC_RTO_ERR);
			c->rto = h;
		} else {
			fprintf(stderr, "unknown line: %s\n", verb);
			return 1;
		}
		printf("%u %u %u %u %u\n", tp.snd_cwnd, tp.snd_ssthresh, c->dctcp.alpha,
		       lt_max(tp.snd_cwnd / tp.t_maxseg, 1), !!(tp.t_flags2 & TF2_ECN_SND_CWR));
		fflush(stdout);
	}
	return 0;
}
