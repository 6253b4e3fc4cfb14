// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// MPA on transmit for a receiver that wants markers (RFC 5044 4.3): every step ends at the next
// marker.
#include "mpa/fpdu_builder.hh"

namespace srnic {
namespace {

bool at(const core_fpdu &fpdu, Stage stage) { return fpdu.stage == static_cast<u8>(stage); }

// Octets left of the current stage; the field is never empty.
u32 left_of_stage(const core_fpdu &fpdu)
{
	if (at(fpdu, Stage::head))
		return u32{fpdu.head_len} - fpdu.done;
	if (at(fpdu, Stage::payload))
		return fpdu.payload;
	if (at(fpdu, Stage::pad))
		return u32{fpdu.head_len} + fpdu.pad - fpdu.done;
	return crc_field_len;
}

// 4.4: the CRC covers markers, in their place.
core_tx_step marker_step(core_fpdu &fpdu)
{
	core_markers_build(&fpdu.markers, fpdu.marker);
	sum_up(fpdu, fpdu.marker, sizeof(fpdu.marker));
	return bytes_step(fpdu.marker, sizeof(fpdu.marker), false);
}

// No marker splits the field: FPDUs and markers are multiples of four octets.
core_tx_step field_step(core_fpdu &fpdu)
{
	u8 *field = fpdu.bytes + fpdu.head_len + fpdu.pad;

	put_crc_field(fpdu, field);
	core_markers_pass(&fpdu.markers, crc_field_len);
	core_markers_end_fpdu(&fpdu.markers);
	return bytes_step(field, crc_field_len, true);
}

core_tx_step take_payload(core_fpdu &fpdu, u32 n)
{
	u32 offset = fpdu.offset;

	fpdu.offset += n;
	fpdu.payload -= n;
	return payload_step(offset, n);
}

core_tx_step take_own(core_fpdu &fpdu, u32 n)
{
	const u8 *from = fpdu.bytes + fpdu.done;

	fpdu.done = static_cast<u8>(fpdu.done + n);
	sum_up(fpdu, from, n);
	return bytes_step(from, n, false);
}

} // namespace

// A marker between pad and CRC field belongs to this FPDU, one after the field to the next (4.4).
[[gnu::noinline]] core_tx_step next_between_markers(core_fpdu &fpdu)
{
	u32 n;

	while (!left_of_stage(fpdu))
		fpdu.stage++;
	if (!fpdu.markers.left)
		return marker_step(fpdu);
	if (at(fpdu, Stage::field))
		return field_step(fpdu);
	n = min(left_of_stage(fpdu), u32{fpdu.markers.left});
	core_markers_pass(&fpdu.markers, n);
	return at(fpdu, Stage::payload) ? take_payload(fpdu, n) : take_own(fpdu, n);
}

} // namespace srnic

using namespace srnic;

void core_fpdu_init(struct core_fpdu *fpdu, bool crc, bool markers)
{
	*fpdu = {};
	fpdu->crc = crc;
	core_markers_start(&fpdu->markers, markers);
}

struct core_tx_step core_fpdu_next(struct core_fpdu *fpdu) { return next_step(*fpdu); }

void core_fpdu_copied(struct core_fpdu *fpdu, const void *octets, u32 n)
{
	sum_up(*fpdu, octets, n);
}

void core_fpdu_abandon(struct core_fpdu *fpdu) { abandon_fpdu(*fpdu); }
