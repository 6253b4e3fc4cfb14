// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The tables of attacks, and helpers to write them.
//
// In all rows the next MSN on every queue is 1 at first.
#pragma once

#include "attack.hh"

namespace attacks {

inline constexpr u32 nobody = 0xdeadbe00;   // an STag that was never given out
inline constexpr u64 nowhere = ~u64{0} - 3; // a TO that wraps with the fifth octet

inline Bytes send(size_t len, u32 msn = 1)
{
	return fpdu(Untagged{.msn = msn, .data = payload(len)});
}

// A RDMA Write into a region, from an offset on that may be negative.
inline Tagged write(const Region &region, u64 offset, size_t len)
{
	return {.stag = region.stag, .to = region.to + offset, .data = payload(len)};
}

inline Build write_to(const char *name, u64 offset, size_t len)
{
	return [=](const Scene &s) { return Attack{{fpdu(write(s[name], offset, len))}}; };
}

// The expected receives, in order.
inline std::vector<Change> in_receive(const Scene &s, const Bytes &octets,
				      const char *receive = "receive0")
{
	return {{s[receive].to, octets}};
}

inline Build delivered(const Untagged &segment, u8 pad = 0)
{
	return [=](const Scene &s) {
		return Attack{{fpdu(segment, pad)}, the_last, in_receive(s, segment.data)};
	};
}

inline Untagged with(Untagged segment, auto change)
{
	change(segment);
	return segment;
}

inline Bytes to_both(const Scene &s, u8 ddp, u8 rdmap = op_write)
{
	Tagged segment = write(s["both"], 0, 8);

	segment.ddp = ddp;
	segment.rdmap = rdmap;
	return fpdu(segment);
}

inline Build to_both(u8 ddp, u8 rdmap = op_write)
{
	return [=](const Scene &s) { return Attack{{to_both(s, ddp, rdmap)}}; };
}

inline Build to_both_lands(u8 ddp, u8 rdmap = op_write)
{
	return [=](const Scene &s) {
		return Attack{{to_both(s, ddp, rdmap)}, the_last, {{s["both"].to, payload(8)}}};
	};
}

inline Build two_segments(Untagged second)
{
	return [=](const Scene &s) {
		return Attack{
			{fpdu(Untagged{.ddp = more_untagged, .data = payload(32)}), fpdu(second)},
			1,
			{},
			{{s["receive0"].to, 64}}};
	};
}

std::vector<Row> framing_rows(), first_rows();			// framing.cc
std::vector<Row> tagged_rows(), untagged_rows();		// ddp.cc
std::vector<Row> control_rows(), terminate_rows();		// rdmap.cc
std::vector<Row> read_request_rows(), read_response_rows();	// reads.cc
std::vector<Row> atomic_request_rows(), atomic_response_rows(); // atomics.cc

// All of them, in the order of the layers.
std::vector<Row> all_rows();

} // namespace attacks
