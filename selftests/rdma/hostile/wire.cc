// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "wire.hh"

#include <algorithm>

namespace hostile {

std::string hex(const Octets &octets)
{
	static constexpr char digits[] = "0123456789abcdef";
	std::string out;

	for (u8 octet : octets) {
		out += digits[octet >> 4];
		out += digits[octet & 15];
	}
	return out;
}

Octets crc32c_of(const Octets &octets)
{
	u32 crc = 0xffffffff;

	for (u8 octet : octets) {
		crc ^= octet;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
	}
	crc = ~crc;
	return {static_cast<u8>(crc), static_cast<u8>(crc >> 8), static_cast<u8>(crc >> 16),
		static_cast<u8>(crc >> 24)};
}

Octets crc_of(const Octets &octets) { return terms.crc ? crc32c_of(octets) : be32(0); }

static Octets framed(u16 length, const Octets &ulpdu, u8 pad)
{
	Octets out = be16(length) + ulpdu;

	while (out.size() % 4)
		out.push_back(pad);
	return out + crc_of(out);
}

Octets fpdu(const Octets &ulpdu, u8 pad)
{
	return framed(static_cast<u16>(ulpdu.size()), ulpdu, pad);
}
Octets fpdu_that_says(u16 length, const Octets &ulpdu) { return framed(length, ulpdu, 0); }

Octets damaged(Octets fpdu, size_t octet, u8 bit)
{
	fpdu.at(octet) ^= bit;
	return fpdu;
}

Fpdus cut(const Octets &stream)
{
	Fpdus out;

	for (size_t at = 0; at < stream.size();) {
		size_t body = (2 + number(stream, at, 2) + 3) / 4 * 4;
		Octets one = stream.slice(at, body + 4);

		if (one.size() == body + 4 && crc_of(one.slice(0, body)) == one.slice(body, 4))
			out.good++;
		at += one.size();
		out.all.push_back(std::move(one));
	}
	return out;
}

// Figures 7 and 8. After the control field: the length of the erroneous DDP segment (its
// ULPDU_Length), its DDP header (14 octets if its T bit is set, else 18) and the 28 octets of its
// RDMA Read Request.
Octets terminate(const Cause &cause, const Octets &culprit)
{
	size_t header = culprit.size() > 2 && culprit[2] & 0x80 ? 14 : 18;
	Octets payload = {static_cast<u8>(cause.layer << 4 | cause.type), cause.code, 0x00, 0x00};

	if (cause.includes != Includes::nothing) {
		payload[2] = 0xc0;
		payload = payload + culprit.slice(0, 2 + header);
	}
	if (cause.includes == Includes::read_request) {
		payload[2] = 0xe0;
		payload = payload + culprit.slice(2 + header, 28);
	}
	return fpdu(Untagged{.rdmap = op_terminate, .qn = 2, .msn = 1, .payload = payload});
}

} // namespace hostile
