// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Octets as in the figures of RFC 5040, 5041, 5044 and 6581, built by hand: no code is shared with
// srnic. Every field can hold any value, since most cases need a wrong one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hostile {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Octets : std::vector<u8> {
	using std::vector<u8>::vector;

	Octets slice(size_t from, size_t len) const
	{
		size_t start = std::min(from, size()), end = std::min(start + len, size());

		return Octets(begin() + static_cast<long>(start), begin() + static_cast<long>(end));
	}
};

inline Octets operator+(Octets a, const Octets &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
}

inline Octets big(u64 value, unsigned octets)
{
	Octets out;

	while (octets--)
		out.push_back(static_cast<u8>(value >> (8 * octets)));
	return out;
}
inline Octets be16(u64 value) { return big(value, 2); }
inline Octets be32(u64 value) { return big(value, 4); }
inline Octets be64(u64 value) { return big(value, 8); }

inline u64 number(const Octets &octets, size_t at, size_t len)
{
	u64 value = 0;

	for (size_t i = at; i < at + len && i < octets.size(); i++)
		value = value << 8 | octets[i];
	return value;
}

// Payload in which no two adjacent octets are equal.
inline Octets filler(size_t len, unsigned seed = 1)
{
	Octets out(len);

	for (size_t i = 0; i < len; i++)
		out[i] = static_cast<u8>(i * 5 + i / 251 + seed * 97);
	return out;
}

std::string hex(const Octets &octets);

// ---- MPA (RFC 5044) ----

// What the administrators of both ends wish: CRCs, and FPDUs larger than TCP segments. The first
// is startup's flag C, the second a reserved bit.
struct Terms {
	bool crc = true, large = false;

	u8 flags(u8 others) const
	{
		return static_cast<u8>(others | (crc ? 0x40 : 0) | (large ? 0x08 : 0));
	}
};
inline Terms terms;

// 4.4: CRC32C bit by bit, complemented, least significant octet first, as in iSCSI.
Octets crc32c_of(const Octets &octets);
// Zeros if there are no CRCs: what a receiver that checks them would refuse.
Octets crc_of(const Octets &octets);

// 4.1. The pad may be nonzero.
Octets fpdu(const Octets &ulpdu, u8 pad = 0);
// One with a wrong length field; the CRC is right for the octets sent.
Octets fpdu_that_says(u16 length, const Octets &ulpdu);
// One bit is flipped.
Octets damaged(Octets fpdu, size_t octet, u8 bit = 0x01);

// Cuts a stream into its FPDUs. The last one may be incomplete, or have a wrong CRC: `good` is the
// number of intact ones.
struct Fpdus {
	std::vector<Octets> all;
	size_t good = 0;
};
Fpdus cut(const Octets &stream);

// 7.1.1, figure 8, and RFC 6581 9.
inline constexpr char request_key[] = "MPA ID Req Frame";
inline constexpr char reply_key[] = "MPA ID Rep Frame";

struct Frame {
	const char *key = request_key;
	u8 flags = terms.flags(0x10); // S
	u8 rev = 2;
	Octets data = {0x00, 0x04, 0x00, 0x04}; // enhanced data: A to D zero, IRD 4, ORD 4
	int pd_length = -1;			// -1: the real one

	Octets octets() const
	{
		return Octets(key, key + 16) + Octets{flags, rev} +
		       be16(pd_length < 0 ? data.size() : static_cast<u16>(pd_length)) + data;
	}
};

// ---- DDP segments (RFC 5041 4, RFC 5040 4) ----

enum : u8 {
	op_write = 0x40,
	op_read_request = 0x41,
	op_read_response = 0x42,
	op_send = 0x43,
	op_send_inv = 0x44,
	op_send_se = 0x45,
	op_send_se_inv = 0x46,
	op_terminate = 0x47,
	op_immediate = 0x48, // RFC 7306 figure 2
	op_immediate_se = 0x49,
	op_atomic_request = 0x4a,
	op_atomic_response = 0x4b,
};

struct Tagged { // RFC 5041 figure 4
	u8 ddp = 0xc1;
	u8 rdmap = op_write;
	u32 stag = 0;
	u64 to = 0;
	Octets payload = {};

	Octets octets() const { return Octets{ddp, rdmap} + be32(stag) + be64(to) + payload; }
};

struct Untagged { // RFC 5041 figure 5
	u8 ddp = 0x41;
	u8 rdmap = op_send;
	u32 invalidate = 0;
	u32 qn = 0;
	u32 msn = 1;
	u32 mo = 0;
	Octets payload = {};

	Octets octets() const
	{
		return Octets{ddp, rdmap} + be32(invalidate) + be32(qn) + be32(msn) + be32(mo) +
		       payload;
	}
};

struct ReadRequest { // RFC 5040 figure 6
	u32 sink_stag = 0x5151;
	u64 sink_to = 0x1000;
	u32 length = 0;
	u32 source_stag = 0;
	u64 source_to = 0;

	Octets octets() const
	{
		return be32(sink_stag) + be64(sink_to) + be32(length) + be32(source_stag) +
		       be64(source_to);
	}
	Untagged segment(u32 msn = 1) const
	{
		return {.rdmap = op_read_request, .qn = 1, .msn = msn, .payload = octets()};
	}
};

enum : u8 { fetch_add = 0, swap_always = 1, cmp_swap = 2 }; // RFC 7306 figure 5

struct AtomicRequest { // RFC 7306 figure 4
	u32 code = fetch_add;
	u32 id = 0x1234567;
	u32 stag = 0;
	u64 to = 0;
	u64 data = 1, mask = 0;
	u64 compare = 0, compare_mask = ~u64{0};

	Octets octets() const
	{
		return be32(code) + be32(id) + be32(stag) + be64(to) + be64(data) + be64(mask) +
		       be64(compare) + be64(compare_mask);
	}
	Untagged segment(u32 msn = 1) const
	{
		return {.rdmap = op_atomic_request, .qn = 1, .msn = msn, .payload = octets()};
	}
};

// RFC 7306 figure 6.
inline Untagged atomic_response(u32 id, u64 original, u32 msn = 1)
{
	return {.rdmap = op_atomic_response,
		.qn = 3,
		.msn = msn,
		.payload = be32(id) + be64(original)};
}

template <class Segment>
requires requires(const Segment &s) { s.octets(); }
Octets fpdu(const Segment &segment, u8 pad = 0) { return fpdu(segment.octets(), pad); }

// ---- Terminate (RFC 5040 4.8) ----

enum class Includes { nothing, ddp_header, read_request }; // figure 10: M and D, or M, D and R

struct Cause {
	u8 layer, type, code;
	Includes includes;

	bool operator==(const Cause &) const = default;
};

inline constexpr Cause lost = {2, 0, 1, Includes::nothing};    // RFC 5044 8
inline constexpr Cause bad_crc = {2, 0, 2, Includes::nothing}; // RFC 5044 8
inline constexpr Cause bad_framing = {2, 0, 3, Includes::nothing};
constexpr Cause mpa(u8 code) { return {2, 0, code, Includes::nothing}; }	 // RFC 6581 8
constexpr Cause tagged(u8 code) { return {1, 1, code, Includes::ddp_header}; }	 // RFC 5041 7.2
constexpr Cause untagged(u8 code) { return {1, 2, code, Includes::ddp_header}; } // RFC 5041 7.2
constexpr Cause invalidation(u8 code) { return {0, 1, code, Includes::ddp_header}; }
constexpr Cause atomic(u8 code) { return {0, 1, code, Includes::ddp_header}; } // RFC 7306 8.1, 2
constexpr Cause protection(u8 code) { return {0, 1, code, Includes::read_request}; }
constexpr Cause operation(u8 code) { return {0, 2, code, Includes::ddp_header}; }

// The whole FPDU of such a Terminate, for the erroneous FPDU.
Octets terminate(const Cause &cause, const Octets &culprit = {});

} // namespace hostile
