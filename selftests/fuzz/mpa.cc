// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// MPA startup: with any frame from the peer, either end's decision is within its own limits; the
// core can parse what it builds.
#include "host.hh"

namespace {

// In a block of its exact size, so that the sanitizer sees reads past its end.
std::unique_ptr<u8[]> exact(const Bytes &octets, size_t size)
{
	auto out = std::make_unique<u8[]>(size);

	std::copy_n(octets.begin(), std::min(size, octets.size()), out.get());
	return out;
}

bool parse(Input &input, bool reply, core_mpa_frame &frame)
{
	static const char *const keys[] = {"MPA ID Req Frame", "MPA ID Rep Frame"};
	Bytes octets(CORE_MPA_HEADER);

	if (input.octet() % 8 == 0) {
		octets = input.take(CORE_MPA_HEADER);
		octets.resize(CORE_MPA_HEADER);
	} else {
		memcpy(octets.data(), keys[reply], 16);
		octets[16] = input.octet();
		octets[17] = input.octet() % 4;
		octets[18] = input.octet() % 4;
		octets[19] = input.octet();
	}
	memset(&frame, 0xee, sizeof(frame));
	if (core_mpa_parse(exact(octets, CORE_MPA_HEADER).get(), reply, &frame) != CORE_MPA_OK)
		return false;
	REQUIRE(memcmp(octets.data(), keys[reply], 16) == 0);
	REQUIRE(frame.private_len <= CORE_MPA_MAX_PRIVATE &&
		(frame.revision == 1 || frame.revision == 2));
	REQUIRE(frame.reply == reply && (reply || !frame.reject));
	if (frame.enhanced) {
		REQUIRE(frame.private_len >= CORE_MPA_ENHANCED);
		core_mpa_parse_enhanced(exact(input.take(4), CORE_MPA_ENHANCED).get(), &frame);
		REQUIRE(frame.ird <= CORE_MPA_AUTO && frame.ord <= CORE_MPA_AUTO &&
			frame.rtr <= CORE_RTR_ALL);
		REQUIRE(frame.p2p || !frame.rtr);
	}
	return true;
}

void require_round_trip(const core_mpa_frame &frame)
{
	auto octets = std::make_unique<u8[]>(CORE_MPA_HEADER + CORE_MPA_ENHANCED);
	core_mpa_frame again{};
	u32 len = core_mpa_build(&frame, octets.get());

	REQUIRE(len == (frame.enhanced ? 24u : 20u));
	REQUIRE(core_mpa_parse(octets.get(), frame.reply, &again) == CORE_MPA_OK);
	if (frame.enhanced)
		core_mpa_parse_enhanced(octets.get() + CORE_MPA_HEADER, &again);
	REQUIRE(again.ird == frame.ird && again.ord == frame.ord && again.p2p == frame.p2p &&
		again.rtr == frame.rtr);
	REQUIRE(again.private_len == frame.private_len && again.crc == frame.crc &&
		again.reject == frame.reject && again.large == frame.large);
}

core_startup_local make_local(Input &input)
{
	core_startup_local local{};
	u8 flags = input.octet();

	local.ird = static_cast<u16>(input.number(2) % CORE_MPA_AUTO);
	local.ord = static_cast<u16>(input.number(2) % CORE_MPA_AUTO);
	local.max_ird = static_cast<u16>(input.number(2) % CORE_MPA_AUTO);
	local.crc = flags & 1;
	local.markers = flags >> 1 & 1;
	local.revision = 1 + (flags >> 2 & 1);
	local.p2p = flags >> 3 & 1;
	local.rtr = flags >> 4 & CORE_RTR_ALL;
	local.large_fpdus = flags >> 7;
	return local;
}

void require_within(const core_startup_agreed &agreed, const core_startup_local &local,
		    const core_mpa_frame &peer)
{
	REQUIRE(agreed.ird <= local.max_ird || agreed.ird <= local.ird);
	REQUIRE(agreed.ord <= local.ord);
	REQUIRE(agreed.crc == (local.crc || peer.crc));
	REQUIRE(agreed.long_segments == (local.large_fpdus && peer.large));
	REQUIRE((agreed.rtr & ~local.rtr) == 0);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	Input input{data, size};
	core_startup_local local = make_local(input), other = make_local(input);
	core_mpa_frame request{}, reply{}, hostile{};
	core_startup_agreed agreed{}, concluded{};
	u16 private_len =
		static_cast<u16>(input.number(2) % (CORE_MPA_MAX_PRIVATE - CORE_MPA_ENHANCED + 1));

	core_mpa_request(&local, private_len, &request);
	require_round_trip(request);
	// Two ends of our own.
	core_mpa_respond(&request, &other, false, private_len, &reply, &agreed);
	require_round_trip(reply);
	require_within(agreed, other, request);
	core_mpa_conclude(&request, &reply, &local, &concluded);
	require_within(concluded, local, reply);
	REQUIRE(agreed.crc == concluded.crc);
	REQUIRE(agreed.long_segments == concluded.long_segments);
	if (request.enhanced && !concluded.error && !agreed.error) {
		REQUIRE(concluded.ord <= agreed.ird && agreed.ord <= concluded.ird);
		REQUIRE(!request.p2p || __builtin_popcount(concluded.rtr) == 1);
		REQUIRE((concluded.rtr & ~agreed.rtr) == 0);
	}
	// A peer that sends anything.
	if (parse(input, false, hostile)) {
		core_mpa_respond(&hostile, &local, input.octet() & 1, private_len, &reply, &agreed);
		require_round_trip(reply);
		require_within(agreed, local, hostile);
	}
	if (parse(input, true, hostile)) {
		core_mpa_conclude(&request, &hostile, &local, &concluded);
		if (!hostile.reject && !concluded.error) {
			REQUIRE(concluded.ord <= local.ord);
			REQUIRE(!hostile.enhanced || hostile.ird == CORE_MPA_AUTO ||
				concluded.ord <= hostile.ird);
			REQUIRE(!hostile.enhanced || hostile.ord == CORE_MPA_AUTO ||
				hostile.ord <= concluded.ird);
		}
	}
	return 0;
}
