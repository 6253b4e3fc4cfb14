// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// FPDUs and DDP segments for tests, built from the figures of RFC 5040, 5041, 5044 and 7306 without
// the code under test. Every field can hold any value, since many tests need a wrong one.
#pragma once

#include "bytes.hh"

namespace wire {

// CRC32C one bit at a time (RFC 3720 12.1), with the final inversion.
inline u32 crc32c(const Bytes &data)
{
	u32 crc = ~0u;

	for (u8 octet : data) {
		crc ^= octet;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
	}
	return ~crc;
}

// RFC 5044 4.4 shows the CRC's least significant octet first.
inline Bytes crc32c_field(const Bytes &covered)
{
	const u32 crc = crc32c(covered);

	return {u8(crc), u8(crc >> 8), u8(crc >> 16), u8(crc >> 24)};
}

// Without CRCs their field holds zeros, which a receiver that checks would refuse.
inline bool with_crcs = true;

inline Bytes crc_field(const Bytes &covered)
{
	return with_crcs ? crc32c_field(covered) : Bytes(4);
}

// RFC 5044 figure 2, with any ULPDU_Length. The CRC is right for the octets that there are.
inline Bytes fpdu_that_says(size_t length, const Bytes &ulpdu, u8 pad = 0)
{
	Bytes out = be16(length) + ulpdu;

	while (out.size() % 4)
		out.push_back(pad);
	return out + crc_field(out);
}

inline Bytes fpdu(const Bytes &ulpdu, u8 pad = 0)
{
	return fpdu_that_says(ulpdu.size(), ulpdu, pad);
}

// RFC 5041 figures 4 and 5 with RFC 5040 figure 3 in them.
constexpr u8 last = 0x40;
constexpr u8 more_tagged = 0x81, more_untagged = 0x01; // L is not set

struct Tagged {
	u8 ddp = 0xc1; // T, L, DV 1
	u8 rdmap = 0x40;
	u32 stag = 0;
	u64 to = 0;
	Bytes data = {};

	Bytes header() const { return Bytes{ddp, rdmap} + be32(stag) + be64(to); }
	operator Bytes() const { return header() + data; }
};

struct Untagged {
	u8 ddp = 0x41; // L, DV 1
	u8 rdmap = 0x43;
	u32 inv_stag = 0, qn = 0, msn = 1, mo = 0;
	Bytes data = {};

	Bytes header() const
	{
		return Bytes{ddp, rdmap} + be32(inv_stag) + be32(qn) + be32(msn) + be32(mo);
	}
	operator Bytes() const { return header() + data; }
};

// RFC 5040 figure 6.
struct ReadRequest {
	u32 sink_stag = 0x5151;
	u64 sink_to = 0x1000;
	u32 length = 0, source_stag = 0;
	u64 source_to = 0;

	operator Bytes() const
	{
		return be32(sink_stag) + be64(sink_to) + be32(length) + be32(source_stag) +
		       be64(source_to);
	}
};

constexpr u8 op_write = 0x40, op_read_request = 0x41, op_read_response = 0x42, op_send = 0x43,
	     op_send_inv = 0x44, op_send_se = 0x45, op_send_se_inv = 0x46, op_terminate = 0x47,
	     op_immediate = 0x48, op_immediate_se = 0x49, op_atomic_request = 0x4a,
	     op_atomic_response = 0x4b; // RFC 7306 figure 2

inline Untagged read_request(const ReadRequest &request, u32 msn = 1)
{
	return {.rdmap = op_read_request, .qn = 1, .msn = msn, .data = request};
}

// RFC 7306 figure 7.
inline Untagged immediate(u64 data, u32 msn = 1)
{
	return {.rdmap = op_immediate, .msn = msn, .data = be64(data)};
}

constexpr u32 fetch_add = 0, swap_always = 1, cmp_swap = 2; // RFC 7306 figure 5

// RFC 7306 figure 4.
struct AtomicRequest {
	u32 code = fetch_add, id = 0x1234567, stag = 0;
	u64 to = 0, data = 1, mask = 0, compare = 0, compare_mask = ~0ull;

	operator Bytes() const
	{
		return be32(code) + be32(id) + be32(stag) + be64(to) + be64(data) + be64(mask) +
		       be64(compare) + be64(compare_mask);
	}
};

inline Untagged atomic_request(const AtomicRequest &request, u32 msn = 1)
{
	return {.rdmap = op_atomic_request, .qn = 1, .msn = msn, .data = request};
}

// RFC 7306 figure 6.
inline Untagged atomic_response(u32 id, u64 original, u32 msn = 1)
{
	return {.rdmap = op_atomic_response,
		.qn = 3,
		.msn = msn,
		.data = be32(id) + be64(original)};
}

inline Untagged terminate(const Bytes &data)
{
	return {.rdmap = op_terminate, .qn = 2, .data = data};
}

} // namespace wire
