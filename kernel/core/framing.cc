// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// MPA framing (RFC 5044 section 4): what a sender writes.
#include "framing.hh"

using namespace srnic;

void srnic_crc_field(u32 crc, u8 out[4])
{
	for (u32 i = 0; i < crc_field_len; i++)
		out[i] = static_cast<u8>(~crc >> (8 * i));
}
