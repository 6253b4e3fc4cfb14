/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The part of <linux/types.h> that the UAPI header needs, for the freestanding build of the core,
 * which uses no kernel header.
 */
#ifndef SRNIC_SHIM_LINUX_TYPES_H
#define SRNIC_SHIM_LINUX_TYPES_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef __u64 __attribute__((aligned(8))) __aligned_u64;

#endif
