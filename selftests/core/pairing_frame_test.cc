// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The frames that pair two QPs (Documentation/ib.rst, "Startup"): octets, round trips, and what a
// peer may get wrong.
#include "../shared/wire.hh"
#include "api/core.h"
#include "api/core_pairing_words.h"

using wire::be16;
using wire::be32;
using wire::be64;
using wire::Bytes;
using wire::hex;

namespace {

const Bytes request_key = hex("4d504120494420526571204672616d65");
const Bytes reply_key = hex("4d504120494420526570204672616d65");
const Bytes magic = hex("73726e69632d6962");
const Bytes source_gid = hex("fe80 0000 0000 0000 0202 03ff fe04 0506");
const Bytes destination_gid = hex("0000 0000 0000 0000 0000 ffff c000 0201");

core_pair_frame sample()
{
	core_pair_frame frame{};

	frame.incarnation = 0x1112131415161718;
	frame.peer_incarnation = 0x2122232425262728;
	frame.attempt = 0x31323334;
	frame.peer_attempt = 0x41424344;
	std::copy(source_gid.begin(), source_gid.end(), frame.from.gid);
	std::copy(destination_gid.begin(), destination_gid.end(), frame.to.gid);
	frame.from.qpn = 0x515253;
	frame.to.qpn = 0x616263;
	frame.sent = 0x71727374;
	frame.delivered = 0x81828384;
	frame.features = 0x91929394;
	frame.needs = 0x10020010;
	frame.ird = 0xffff;
	frame.ord = 0x0102;
	return frame;
}

Bytes built(const core_pair_frame &frame)
{
	Bytes out(CORE_PAIR_FRAME, 0xee);

	core_pair_build(&frame, out.data());
	return out;
}

// The octets of the private data of sample(), but for version and reason.
Bytes sample_data(const Bytes &version_and_reason)
{
	return magic + version_and_reason + be16(0) + be32(0x91929394) + be32(0x10020010) +
	       source_gid + destination_gid + be32(0x515253) + be32(0x616263) + be16(0xffff) +
	       be16(0x0102) + be32(0x71727374) + be32(0x81828384) + be32(0x31323334) +
	       be32(0x41424344) + be64(0x1112131415161718) + be64(0x2122232425262728);
}

core_pair_reason parsed(const Bytes &octets, bool reply, core_pair_frame &out)
{
	core_mpa_frame header{};

	EXPECT_EQ(core_mpa_parse(octets.data(), reply, &header), CORE_MPA_OK);
	EXPECT_EQ(octets.size(), size_t{CORE_MPA_HEADER} + header.private_len);
	const Bytes data(octets.begin() + CORE_MPA_HEADER, octets.end()); // its own allocation

	return core_pair_parse(&header, data.data(), &out);
}

core_pair_reason parsed(const Bytes &octets, bool reply = false)
{
	core_pair_frame ignored;

	return parsed(octets, reply, ignored);
}

Bytes request_with(size_t octet, u8 value)
{
	Bytes out = built(sample());

	out[octet] = value;
	return out;
}

Bytes cut_to(Bytes octets, size_t private_len)
{
	octets.resize(CORE_MPA_HEADER + private_len);
	octets[18] = static_cast<u8>(private_len >> 8);
	octets[19] = static_cast<u8>(private_len);
	return octets;
}

constexpr size_t at_flags = 16, at_revision = 17;
constexpr size_t at_magic = 20, at_version = 28, at_reason = 29, at_qpn = 72;

} // namespace

TEST(PairingFrame, RequestOctets)
{
	core_pair_frame frame = sample();

	EXPECT_EQ(built(frame), request_key + hex("00 02 0060") + sample_data(hex("01 00")));
	frame.crc = 1;
	EXPECT_EQ(built(frame), request_key + hex("40 02 0060") + sample_data(hex("01 00")));
}

TEST(PairingFrame, ReplyOctets)
{
	core_pair_frame frame = sample();

	frame.reply = 1;
	EXPECT_EQ(built(frame), reply_key + hex("00 02 0060") + sample_data(hex("01 00")));
	frame.reason = CORE_PAIR_BUSY;
	EXPECT_EQ(built(frame), reply_key + hex("20 02 0060") + sample_data(hex("01 03")));
}

TEST(PairingFrame, ComesBackAsItWas)
{
	std::mt19937_64 random(7);

	for (int i = 0; i < 2000; i++) {
		core_pair_frame frame = sample(), back;

		frame.incarnation = random() | 1;
		frame.peer_incarnation = random();
		frame.attempt = static_cast<u32>(random() | 1);
		frame.from.qpn = random() & 0xffffff;
		frame.sent = static_cast<u32>(random());
		frame.ird = static_cast<u16>(random());
		frame.crc = random() & 1;
		frame.reply = random() & 1;
		frame.reason = frame.reply ? static_cast<u8>(random() % 4) : 0;
		ASSERT_EQ(parsed(built(frame), frame.reply, back), CORE_PAIR_OK);
		ASSERT_EQ(built(back), built(frame));
	}
}

// The header of MPA: revision 2, no markers, no enhanced data.
TEST(PairingFrame, RefusesOtherMpaFrames)
{
	EXPECT_EQ(parsed(request_with(at_revision, 1)), CORE_PAIR_MALFORMED);
	EXPECT_EQ(parsed(request_with(at_flags, 0x80)), CORE_PAIR_MALFORMED);
	EXPECT_EQ(parsed(request_with(at_flags, 0x10)), CORE_PAIR_MALFORMED);
	EXPECT_EQ(parsed(request_with(at_flags, 0x0f)), CORE_PAIR_OK); // reserved
	EXPECT_EQ(parsed(request_with(at_flags, 0x20)), CORE_PAIR_OK); // R counts in a Reply
}

TEST(PairingFrame, RefusesAPeerWithoutTheMagic)
{
	for (size_t i = at_magic; i < at_version; i++)
		EXPECT_EQ(parsed(request_with(i, 0x20)), CORE_PAIR_MALFORMED);
	EXPECT_EQ(parsed(request_key + hex("40 02 0000")), CORE_PAIR_MALFORMED);
}

// What a later release adds behind them is ignored.
TEST(PairingFrame, TakesPrivateDataThatAreLongerAndNoneThatAreShorter)
{
	const Bytes request = built(sample());

	for (size_t len = 0; len < CORE_PAIR_DATA; len++)
		EXPECT_EQ(parsed(cut_to(request, len)), CORE_PAIR_MALFORMED) << len;
	for (size_t len : {96, 97, 512})
		EXPECT_EQ(parsed(cut_to(request, len)), CORE_PAIR_OK) << len;
}

TEST(PairingFrame, ReservedBitsAreNotChecked)
{
	core_pair_frame frame;

	EXPECT_EQ(parsed(request_with(30, 0xff)), CORE_PAIR_OK);
	EXPECT_EQ(parsed(request_with(at_qpn, 0xff), false, frame), CORE_PAIR_OK);
	EXPECT_EQ(frame.from.qpn, 0x515253u);
}

// A reason and the R bit come together, and only in a Reply.
TEST(PairingFrame, OnlyARefusalHasAReason)
{
	core_pair_frame frame = sample();

	EXPECT_EQ(parsed(request_with(at_reason, CORE_PAIR_BUSY)), CORE_PAIR_MALFORMED);
	frame.reply = 1;
	Bytes reply = built(frame);

	reply[at_reason] = CORE_PAIR_BUSY;
	EXPECT_EQ(parsed(reply, true), CORE_PAIR_MALFORMED);
	reply[at_flags] = 0x20;
	EXPECT_EQ(parsed(reply, true), CORE_PAIR_OK);
	reply[at_reason] = CORE_PAIR_OK;
	EXPECT_EQ(parsed(reply, true), CORE_PAIR_MALFORMED);
}

TEST(PairingFrame, WhoAsksOrAcceptsSaysItsIncarnationAndAttempt)
{
	for (u8 reply : {0, 1}) {
		core_pair_frame frame = sample();

		frame.reply = reply;
		frame.incarnation = 0;
		EXPECT_EQ(parsed(built(frame), reply), CORE_PAIR_MALFORMED);
		frame = sample();
		frame.reply = reply;
		frame.attempt = 0;
		EXPECT_EQ(parsed(built(frame), reply), CORE_PAIR_MALFORMED);
	}
}

// Another version is refused, and its refusal is understood: only the first octets have their place
// in all versions.
TEST(PairingFrame, AnotherVersionIsRefusedInBothDirections)
{
	core_pair_frame frame{};

	EXPECT_EQ(parsed(request_with(at_version, 2)), CORE_PAIR_VERSION_UNKNOWN);
	EXPECT_EQ(
		parsed(reply_key + hex("20 02 0014") + magic + hex("0207 0000") + be32(5) + be32(1),
		       true, frame),
		CORE_PAIR_OK);
	EXPECT_EQ(frame.reason, CORE_PAIR_VERSION_UNKNOWN);
	EXPECT_EQ(frame.features, 5u);
	EXPECT_EQ(frame.incarnation, 0u);
}

TEST(PairingFrame, OfARequestInAnotherVersionTheFirstOctetsCount)
{
	const Bytes request = request_with(at_version, 2);
	core_pair_frame nobody = sample();

	EXPECT_EQ(parsed(cut_to(request, 20)), CORE_PAIR_VERSION_UNKNOWN);
	EXPECT_EQ(parsed(cut_to(request, 19)), CORE_PAIR_MALFORMED);
	nobody.incarnation = nobody.attempt = 0;
	Bytes empty = built(nobody);

	empty[at_version] = 2;
	EXPECT_EQ(parsed(empty), CORE_PAIR_VERSION_UNKNOWN);
}

TEST(PairingFrame, AnAcceptanceInAnotherVersionIsUseless)
{
	core_pair_frame frame = sample();

	frame.reply = 1;
	Bytes reply = built(frame);

	reply[at_version] = 2;
	EXPECT_EQ(parsed(reply, true), CORE_PAIR_VERSION_UNKNOWN);
}

// An end without a QP refuses by what it could read of the Request.
TEST(PairingFrame, ARefusalForNoQpSaysNothingOfThisHost)
{
	const core_pair_frame request = sample();
	core_pair_frame reply;

	core_pair_refuse(&request, CORE_PAIR_NOT_READY, &reply);
	EXPECT_EQ(reply.from.qpn, request.to.qpn);
	EXPECT_EQ(reply.to.qpn, request.from.qpn);
	EXPECT_EQ(reply.incarnation | reply.attempt | reply.sent | reply.delivered, 0u);
	EXPECT_EQ(parsed(built(reply), true), CORE_PAIR_OK);
}

// Whatever comes, only the octets of the frame are read (the sanitizers look).
TEST(PairingFrame, AnyOctetsAreParsedOrRefused)
{
	std::mt19937 random(3);

	for (int i = 0; i < 20000; i++) {
		Bytes octets = cut_to(built(sample()), random() % (CORE_MPA_MAX_PRIVATE + 1));

		for (int flips = random() % 4; flips; flips--) {
			const size_t at = random() % octets.size();

			if (at >= at_flags && (at < 18 || at >= 20))
				octets[at] = static_cast<u8>(random());
		}
		if (octets[at_revision] - 1u <= 1 && !(octets[at_flags] & 0x10))
			parsed(octets);
	}
}

TEST(PairingWords, EveryReasonHasItsOwn)
{
	std::map<std::string, u32> words;

	EXPECT_EQ(std::size(core_pair_table), size_t{CORE_PAIR_REASONS} + 1);
	for (u32 i = 0; i < CORE_PAIR_REASONS; i++)
		words[core_pair_in_words(i)] = i;
	EXPECT_EQ(words.size(), size_t{CORE_PAIR_REASONS});
	EXPECT_STREQ(core_pair_in_words(CORE_PAIR_REASONS), "unknown reason");
	EXPECT_STREQ(core_pair_in_words(255), "unknown reason");
}
