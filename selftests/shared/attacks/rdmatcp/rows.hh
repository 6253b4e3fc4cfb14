// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Attacks of a peer that speaks RDMA/TCP (draft-williams-rdmatcp-00, Documentation/rdmatcp.rst).
// Each row of a table breaks one rule, or none. The unit tests make them on the core, the hostile
// peer on the module.
#pragma once

#include "../../rdmatcp.hh"
#include "../attack.hh"

namespace rdmatcp_attacks {

using namespace rdmatcp_wire;
using attacks::Region, attacks::receive_size;

// What the attacker knows once it is connected.
struct Scene {
	const std::map<std::string, Region> &regions;
	u64 connection = 0;
	u32 first = 0;		// the number of our next message
	std::vector<u32> reads; // the numbers of the victim's Read Requests

	Segment segment(u8 type, u32 ahead = 0) const
	{
		return {.type = type, .number = first + ahead, .connection = connection};
	}
	Segment send(size_t len, u32 ahead = 0) const
	{
		Segment out = segment(send_type, ahead);

		out.data = payload(len);
		return out;
	}
	Segment buffer(u8 type, const char *name, u64 offset, u32 len) const
	{
		const Region &region = regions.at(name);
		Segment out = segment(type);

		out.id = region.stag;
		out.offset = static_cast<u32>(region.to + offset);
		out.rdma_length = len;
		out.control = control(upper_flag, be32((region.to + offset) >> 32));
		return out;
	}
	Segment write(const char *name, u64 offset, u32 len) const
	{
		Segment out = buffer(write_type, name, offset, len);

		out.data = payload(len);
		return out;
	}
	Segment read(const char *name, u64 offset, u32 len) const
	{
		return buffer(read_request_type, name, offset, len);
	}
	Segment response(size_t read_index, size_t len) const
	{
		Segment out = segment(read_response_type);

		out.number = reads.at(read_index);
		out.data = payload(len);
		return out;
	}
};

struct Row {
	std::string name;
	const char *check; // that fails; nullptr: none does
	std::function<Bytes(const Scene &)> make;
	std::vector<u32> reads = {}; // of the victim, these long
	unsigned delivered = 0;	     // receives that complete
	unsigned refused = 0;	     // in error
	size_t lands = 0;	     // octets at the start of region "both"
	size_t touches = 0;	     // octets there, of receive0 and of the sink that may change
};

template <class Change> auto changed(Segment segment, Change change)
{
	change(segment);
	return segment;
}

// A Send with one change.
template <class Change> auto a_send(size_t len, Change change)
{
	return [=](const Scene &s) -> Bytes { return changed(s.send(len), change); };
}

template <class Change> auto a_write(const char *name, u64 offset, u32 len, Change change)
{
	return [=](const Scene &s) -> Bytes { return changed(s.write(name, offset, len), change); };
}

inline constexpr auto nothing = [](Segment &) {};

std::vector<Row> header_rows(), send_rows(); // sends.cc
std::vector<Row> write_rows(), read_rows();  // buffers.cc
std::vector<Row> all_rows();

} // namespace rdmatcp_attacks
