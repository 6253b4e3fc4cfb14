/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CRC32C of the framing (RFC 5044 4.4): which implementation core_host_crc32c() (core/srnic_core.h)
 * uses.
 */
#ifndef SRNIC_CRC_H
#define SRNIC_CRC_H

/*
 * Measures and chooses, once, at module load. -EIO if an implementation computes something else
 * than CRC32C.
 */
int srnic_crc_init(void);

#endif
