// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The startup frames of QPs that are connected by hand (Documentation/ib.rst rules 40 to 50), built
// without the code under test, and what else a plain TCP program needs to take part in a startup.
// Every field can hold any value, since most rows need a wrong one.
#pragma once

#include <arpa/inet.h>

#include "../hostile/wire.hh"

namespace byhand {

using namespace wire;

inline constexpr unsigned port = 4791;
inline constexpr u8 flag_crc = 0x40, flag_reject = 0x20;
inline constexpr size_t frame_size = 20 + 96;
inline constexpr u32 feature_extended = 1; // ib.rst rule 46: Flush and Atomic Write

// Why a Reply refuses: ib.rst, "Reasons".
enum Reason : u8 {
	accepts,
	not_ready,
	other_pair,
	busy,
	counts,
	stale,
	crossing,
	version,
	features,
	shutting_down,
	malformed
};

struct Frame {
	const char *key = hostile::request_key;
	u8 flags = with_crcs ? flag_crc : 0, revision = 2;
	int says = -1; // the length of the private data; -1: the real one
	Bytes magic = {'s', 'r', 'n', 'i', 'c', '-', 'i', 'b'};
	u8 version = 1, reason = accepts;
	u16 zero = 0;
	u32 features = 0, needs = 0;
	Bytes source_gid = Bytes(16), destination_gid = Bytes(16);
	u32 source_qpn = 0, destination_qpn = 0;
	u16 ird = 8, ord = 8;
	u32 sent = 0, delivered = 0;
	u32 source_attempt = 1, destination_attempt = 0;
	u64 source_incarnation = 0x1122334455667788, destination_incarnation = 0;
	size_t length = 96; // of the private data; behind the 96th are ones

	Bytes data() const
	{
		return magic + Bytes{version, reason} + be16(zero) + be32(features) + be32(needs) +
		       source_gid + destination_gid + be32(source_qpn) + be32(destination_qpn) +
		       be16(ird) + be16(ord) + be32(sent) + be32(delivered) + be32(source_attempt) +
		       be32(destination_attempt) + be64(source_incarnation) +
		       be64(destination_incarnation);
	}

	Bytes octets() const
	{
		Bytes all = data();

		all.resize(length, 0xff);
		return Bytes(key, key + 16) + Bytes{flags, revision} +
		       be16(says < 0 ? length : static_cast<size_t>(says)) + all;
	}
};

// What has come: a whole frame of 96 octets of private data.
inline Frame frame_of(const Bytes &octets)
{
	const auto word = [&](size_t at, size_t len) {
		return hostile::number(octets, 20 + at, len);
	};
	const auto word32 = [&](size_t at) { return static_cast<u32>(word(at, 4)); };

	return {.flags = octets.at(16),
		.revision = octets.at(17),
		.says = static_cast<int>(hostile::number(octets, 18, 2)),
		.magic = octets.slice(20, 8),
		.version = octets.at(28),
		.reason = octets.at(29),
		.zero = static_cast<u16>(word(10, 2)),
		.features = word32(12),
		.needs = word32(16),
		.source_gid = octets.slice(40, 16),
		.destination_gid = octets.slice(56, 16),
		.source_qpn = word32(52),
		.destination_qpn = word32(56),
		.ird = static_cast<u16>(word(60, 2)),
		.ord = static_cast<u16>(word(62, 2)),
		.sent = word32(64),
		.delivered = word32(68),
		.source_attempt = word32(72),
		.destination_attempt = word32(76),
		.source_incarnation = word(80, 8),
		.destination_incarnation = word(88, 8)};
}

// Makes the frame a Reply to this Request: it names that attempt, and its counts mirror the
// initiator's. Its ends stay as they are.
inline Frame reply_to(const Frame &request, Frame reply)
{
	reply.key = hostile::reply_key;
	reply.destination_incarnation = request.source_incarnation;
	reply.destination_attempt = request.source_attempt;
	reply.sent = request.delivered;
	reply.delivered = request.sent;
	return reply;
}

inline Bytes gid_of(const std::string &address)
{
	const std::string as6 = (address.find(':') == std::string::npos ? "::ffff:" : "") + address;
	Bytes gid(16);

	if (inet_pton(AF_INET6, as6.c_str(), gid.data()) != 1)
		throw std::runtime_error("bad address " + address);
	return gid;
}

} // namespace byhand
