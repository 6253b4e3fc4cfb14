// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Datagrams (Documentation/ib.rst, "Datagrams"; numbers are its rules): no octets are read beyond
// the header, what is taken has as many octets as it says, and survives being built.
#include "../shared/require.hh"
#include "host.hh"

#include <tuple>

namespace {

auto fields(const core_datagram &d)
{
	return std::make_tuple(d.to, d.from, d.qkey, d.payload, d.with_imm, d.solicited);
}

bool is_same(const core_datagram &a, const core_datagram &b)
{
	return fields(a) == fields(b) && !memcmp(a.imm, b.imm, sizeof(a.imm));
}

// The sanitizer sees what is read beyond the header.
bool parse(const Bytes &octets, core_datagram &out)
{
	const size_t there = std::min<size_t>(octets.size(), CORE_DATAGRAM_HEADER);
	auto header = std::make_unique<u8[]>(there);

	std::copy_n(octets.begin(), there, header.get());
	return core_datagram_parse(header.get(), static_cast<u32>(octets.size()), &out);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	core_datagram d{}, again{};
	u8 header[CORE_DATAGRAM_HEADER];

	if (!parse(Bytes(data, data + size), d))
		return 0;
	REQUIRE(d.payload == size - CORE_DATAGRAM_HEADER); // 82
	REQUIRE(d.to <= 0xffffff && d.from <= 0xffffff);   // 81
	core_datagram_build(&d, header);
	REQUIRE(core_datagram_parse(header, static_cast<u32>(size), &again));
	REQUIRE(is_same(d, again));
	return 0;
}
