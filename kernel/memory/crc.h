/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CRC32C of the framing (RFC 5044 4.4): selects the implementation of core_host_crc32c().
 */
#ifndef SRNIC_CRC_H
#define SRNIC_CRC_H

#include <linux/sizes.h>
#include <linux/types.h>

/*
 * Measures and selects the faster implementation, at module load. -EIO if one of them is wrong,
 * -ENOMEM.
 */
int srnic_crc_init(void);

/*
 * Copies of so many octets together are worth the saving of a process's registers, which it gets
 * back when it returns to its program.
 */
#define SRNIC_CRC_MANY	SZ_16K

/*
 * Copies, and adds what is copied to *crc: in the same pass, if the selected implementation can do
 * that. into_own: nobody else changes the copy meanwhile; else nobody changes the source. The other
 * one is read, or written, once. many: it is a part of SRNIC_CRC_MANY octets or more. Any context.
 */
void srnic_crc32c_copy(u32 *crc, void *to, const void *from, u32 len, bool into_own, bool many);

#endif
