// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// CRC32C (RFC 5044 4.4: iSCSI's polynomial, 0x1edc6f41), for hosts without a faster one.
#include "sliced_crc.hh"

u32 core_crc32c_table(u32 crc, const void *data, u64 len)
{
	return srnic::SlicedCrc<0x82f63b78>::add(crc, static_cast<const u8 *>(data), len);
}
