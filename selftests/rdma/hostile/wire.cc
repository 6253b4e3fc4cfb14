// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "wire.hh"

namespace hostile {

std::string hex(const Bytes &octets)
{
	static constexpr char digits[] = "0123456789abcdef";
	std::string out;

	for (u8 octet : octets) {
		out += digits[octet >> 4];
		out += digits[octet & 15];
	}
	return out;
}

Fpdus cut(const Bytes &stream)
{
	Fpdus out;

	for (size_t at = 0; at < stream.size();) {
		size_t body = (2 + number(stream, at, 2) + 3) / 4 * 4;
		Bytes one = stream.slice(at, body + 4);

		if (one.size() == body + 4 && crc_field(one.slice(0, body)) == one.slice(body, 4))
			out.good++;
		at += one.size();
		out.all.push_back(std::move(one));
	}
	return out;
}

} // namespace hostile
