// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// MPA framing (RFC 5044 section 4): the CRC field, and the positions of markers.
#include "mpa/framing.hh"

using namespace srnic;

void core_crc_field(u32 crc, u8 out[4])
{
	store(out, crc_to_field(crc));
}

void core_markers_start(struct core_markers *markers, bool on) { *markers = {on, 0, 0}; }

void core_markers_end_fpdu(struct core_markers *markers) { markers->back = 0; }

void core_markers_pass(struct core_markers *markers, u32 n)
{
	markers->left = static_cast<u16>(markers->left - n);
	markers->back += n;
}

// RFC 5044 4.3: a marker between two FPDUs is zero, and precedes the second.
void core_markers_build(struct core_markers *markers, u8 out[CORE_MARKER_LEN])
{
	store(out, Marker{{}, be<u16>::from_host(static_cast<u16>(markers->back))});
	markers->left = marker_gap;
	if (markers->back)
		markers->back += CORE_MARKER_LEN;
}

// A marker right after the last octet does not count.
u32 core_markers_len(const struct core_markers *markers, u32 len)
{
	if (!markers->on || len <= markers->left)
		return len;
	return len + CORE_MARKER_LEN * (1 + (len - markers->left - 1) / marker_gap);
}
