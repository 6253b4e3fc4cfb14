// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Wire octets for tests, built from the figures of the RFCs without the code under test.
#pragma once

#include "api/core.h"

namespace wire {

struct Bytes : std::vector<u8> {
	using std::vector<u8>::vector;
};

inline Bytes operator+(Bytes a, const Bytes &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
}

inline Bytes hex(const char *text)
{
	Bytes out;
	int high = -1;

	for (; *text; text++) {
		if (*text == ' ')
			continue;
		int digit = *text <= '9' ? *text - '0' : (*text | 0x20) - 'a' + 10;

		if (high < 0) {
			high = digit;
		} else {
			out.push_back(static_cast<u8>(high << 4 | digit));
			high = -1;
		}
	}
	return out;
}

inline Bytes big(u64 value, unsigned octets)
{
	Bytes out;

	while (octets--)
		out.push_back(static_cast<u8>(value >> (8 * octets)));
	return out;
}
inline Bytes be16(u64 value) { return big(value, 2); }
inline Bytes be32(u64 value) { return big(value, 4); }
inline Bytes be64(u64 value) { return big(value, 8); }

// Recognisable payload: no two adjacent octets are equal, and each seed gives another.
inline Bytes payload(size_t len, unsigned seed = 1)
{
	Bytes out(len);

	for (size_t i = 0; i < len; i++)
		out[i] = static_cast<u8>(i * 7 + (i >> 8) * 13 + seed * 101);
	return out;
}

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

// RFC 5044 figure 2. RFC 5044 4.4 shows the CRC's least significant octet first.
inline Bytes fpdu(const Bytes &ulpdu, u8 pad_octet = 0)
{
	Bytes out = be16(ulpdu.size()) + ulpdu;

	while (out.size() % 4)
		out.push_back(pad_octet);
	u32 crc = crc32c(out);
	return out + Bytes{u8(crc), u8(crc >> 8), u8(crc >> 16), u8(crc >> 24)};
}

// RFC 5041 figures 4 and 5 with RFC 5040 figure 3 in them.
constexpr u8 last = 0x40;

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
	u32 sink_stag = 0;
	u64 sink_to = 0;
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

// RFC 7306 figure 4.
struct AtomicRequest {
	u32 code = 0, id = 0, stag = 0;
	u64 to = 0, data = 0, mask = 0, compare = 0, compare_mask = ~0ull;

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
