/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Integer types and sequence numbers of the rules. No kernel types: the rules compile anywhere. */
#ifndef LOWTIDE_TYPES_H
#define LOWTIDE_TYPES_H

typedef unsigned char lt_u8;
typedef unsigned int lt_u32;
typedef unsigned long long lt_u64;

#define LT_RULE static __attribute__((always_inline)) inline

/* Sequence numbers wrap: a precedes b if b is less than 2^31 ahead (RFC 9293 section 3.4). */
LT_RULE _Bool lt_before(lt_u32 a, lt_u32 b)
{
	return (int)(a - b) < 0;
}

LT_RULE lt_u32 lt_min(lt_u32 a, lt_u32 b)
{
	return a < b ? a : b;
}

LT_RULE lt_u32 lt_max(lt_u32 a, lt_u32 b)
{
	return a > b ? a : b;
}

#endif
