/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The callbacks of the driven control: TWIN_OP(ssthresh) is lt_PREFIX_ssthresh. */
#define TWIN_JOIN2(prefix, op) lt_##prefix##_##op
#define TWIN_JOIN(prefix, op) TWIN_JOIN2(prefix, op)
#define TWIN_OP(op) TWIN_JOIN(TWIN_PREFIX, op)
