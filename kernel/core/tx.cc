// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Transmit: turns one DDP message into FPDUs, layer by layer: RDMAP's control octet (RFC 5040 4.1),
// DDP's segmentation and headers (RFC 5041 4 and 5.2), MPA's length and pad (RFC 5044 4.1).
#include "mpa/framing.hh"
#include "rdmap/rdmap.hh"

namespace srnic {
namespace {

static_assert(CORE_FPDU_MAX_HEADER == fpdu_header_len + sizeof(UntaggedHeader));

Cut cut_of(const core_tx_msg &msg, u32 mulpdu)
{
	return next_segment(msg.length, msg.sent, mulpdu, is_tagged(msg.opcode));
}

TaggedHeader tagged_header(const core_tx_msg &msg, bool last)
{
	return {DdpControl::make(true, last), RdmapControl::make(msg.opcode).octet,
		be<u32>::from_host(msg.stag), be<u64>::from_host(msg.to + msg.sent)};
}

// RFC 5040 4.1: the Invalidate STag field is zero but in the messages that invalidate.
UntaggedHeader untagged_header(const core_tx_msg &msg, bool last)
{
	return {DdpControl::make(false, last),
		RdmapControl::make(msg.opcode).octet,
		be<u32>::from_host(is_invalidate(msg.opcode) ? msg.inv_stag : 0),
		be<u32>::from_host(static_cast<u32>(queue_of(msg.opcode))),
		be<u32>::from_host(msg.msn),
		be<u32>::from_host(msg.sent)};
}

} // namespace
} // namespace srnic

using namespace srnic;

struct core_tx_seg core_tx_next(struct core_tx_msg *msg, u32 mulpdu, u8 out[CORE_FPDU_MAX_HEADER])
{
	bool tagged = is_tagged(msg->opcode);
	Cut cut = cut_of(*msg, mulpdu);
	u32 header_len = ddp_header_len(tagged), ulpdu_len = header_len + cut.payload;
	core_tx_seg seg{fpdu_header_len + header_len, msg->sent, cut.payload,
			fpdu_pad(ulpdu_len)};

	store(out, FpduHeader{be<u16>::from_host(static_cast<u16>(ulpdu_len))});
	if (tagged)
		store(out + fpdu_header_len, tagged_header(*msg, cut.last));
	else
		store(out + fpdu_header_len, untagged_header(*msg, cut.last));
	msg->sent += cut.payload;
	msg->done = cut.last;
	return seg;
}

u32 core_tx_next_len(const struct core_tx_msg *msg, u32 mulpdu)
{
	return fpdu_len(ddp_header_len(is_tagged(msg->opcode)) + cut_of(*msg, mulpdu).payload);
}
