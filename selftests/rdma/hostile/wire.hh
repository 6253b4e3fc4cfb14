// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The shared segments, MPA startup frames (RFC 5044 7.1, RFC 6581), and helpers that look at what
// comes back. No code is shared with srnic. Every field can hold any value, since most cases need a
// wrong one.
#pragma once

#include "../../shared/terminate.hh"

#include <string>

namespace hostile {

using namespace wire;

inline u64 number(const Bytes &octets, size_t at, size_t len)
{
	u64 value = 0;

	for (size_t i = at; i < at + len && i < octets.size(); i++)
		value = value << 8 | octets[i];
	return value;
}

std::string hex(const Bytes &octets);

// What the administrators of both ends wish besides CRCs (with_crcs): FPDUs larger than TCP
// segments. CRCs are startup's flag C, large FPDUs a reserved bit.
struct Terms {
	bool large = false;

	u8 flags(u8 others) const
	{
		return static_cast<u8>(others | (with_crcs ? 0x40 : 0) | (large ? 0x08 : 0));
	}
};
inline Terms terms;

// Cuts a stream into its FPDUs. The last one may be incomplete, or have a wrong CRC: `good` is the
// number of intact ones.
struct Fpdus {
	std::vector<Bytes> all;
	size_t good = 0;
};
Fpdus cut(const Bytes &stream);

// 7.1.1, figure 8, and RFC 6581 9.
inline constexpr char request_key[] = "MPA ID Req Frame";
inline constexpr char reply_key[] = "MPA ID Rep Frame";

struct Frame {
	const char *key = request_key;
	u8 flags = terms.flags(0x10); // S
	u8 rev = 2;
	Bytes data = {0x00, 0x04, 0x00, 0x04}; // enhanced data: A to D zero, IRD 4, ORD 4
	int pd_length = -1;		       // -1: the real one

	Bytes octets() const
	{
		return Bytes(key, key + 16) + Bytes{flags, rev} +
		       be16(pd_length < 0 ? data.size() : static_cast<u16>(pd_length)) + data;
	}
};

} // namespace hostile
