// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What a receiver checks of a Request or Reply frame (RFC 5044 7.1, RFC 6581 9 and 10), and its
// timeouts.
#include "case.hh"

namespace hostile {
namespace {

Bytes plain_enhanced(u8 ab, u8 cd, u16 ird = 4, u16 ord = 4)
{
	return be16(static_cast<u16>(ab << 8 | ird)) + be16(static_cast<u16>(cd << 8 | ord));
}

constexpr u8 a = 0x80, b = 0x40, c = 0x80, d = 0x40; // control flags, each in its octet

// What 7.1.1 says of both frames; `good` is a valid one.
std::vector<Startup> rows_of_both(const Frame &good, const char *wrong_key)
{
	std::vector<Startup> rows;
	auto row = [&](const std::string &name, auto change, Then then = Then::closed) {
		Frame frame = good;

		change(frame);
		rows.push_back({name, frame.octets(), then});
	};

	for (size_t i = 0; i < 16; i++) {
		Bytes octets = good.octets();

		octets[i] ^= 0x20;
		rows.push_back({"RFC 5044 7.1.2, 5: the key matches: octet " + std::to_string(i),
				octets, Then::closed});
	}
	row("RFC 5044 7.1.2, 8: initiator does not meet initiator, nor responder responder",
	    [&](Frame &f) { f.key = wrong_key; });
	for (u8 rev : {0, 3, 255})
		row("RFC 5044 7.1.1: the revision can be dealt with: " + std::to_string(rev),
		    [=](Frame &f) { f.rev = rev; });
	for (int length : {513, 1024, 65535})
		row("RFC 5044 7.1.1: PD_Length is 512 at most: " + std::to_string(length),
		    [=](Frame &f) { f.pd_length = length; });
	row("RFC 5044 7.1.2, 9: private data fits the buffer: 512 octets",
	    [](Frame &f) { f.data = f.data + Bytes(508); });
	row("RFC 5044 7.1.2, 9: private data fits the buffer: 256 octets",
	    [](Frame &f) { f.data = f.data + Bytes(256); });
	for (size_t length : {0, 1, 3})
		row("RFC 6581 9: with S there are four octets of enhanced data: " +
			    std::to_string(length),
		    [=](Frame &f) { f.data = f.data.slice(0, length); });
	for (size_t length : {0, 1, 16, 19, 20, 23})
		rows.push_back({"RFC 5044 7.1.2, 10: startup does not wait forever: " +
					std::to_string(length) + " octets and no more",
				good.octets().slice(0, length), Then::times_out});
	row(
		"RFC 5044 7.1.1: PD_Length matches the private data: it is 8 octets short",
		[](Frame &f) { f.pd_length = 12; }, Then::times_out);
	for (Then then : {Then::fin, Then::reset})
		for (size_t length : {0, 1, 16, 19, 20, 23})
			rows.push_back({std::string("RFC 5044 8, 1: the connection is lost by ") +
						(then == Then::fin ? "FIN" : "RST") + " after " +
						std::to_string(length) + " octets of the frame",
					good.octets().slice(0, length), then});
	return rows;
}

// RFC 5044 4.3: the first FPDU comes behind a marker of zero, which its CRC covers.
Bytes marked(const Bytes &fpdu)
{
	Bytes out = be32(0) + fpdu.slice(0, fpdu.size() - 4);

	return out + crc_field(out);
}

// A Terminate before anything is agreed on has a CRC, which its receiver may ignore.
Bytes early(const Bytes &fpdu)
{
	Bytes body = fpdu.slice(0, fpdu.size() - 4);

	return body + crc32c_field(body);
}

} // namespace

std::vector<Startup> request_rows()
{
	std::vector<Startup> rows = rows_of_both({}, reply_key);
	Bytes most = payload(251);
	auto enhanced = [](const char *name, Bytes ours, Bytes theirs) {
		return Startup{name, Frame{.data = ours}.octets(), Then::replies,
			       Frame{.key = reply_key, .data = theirs}.octets()};
	};
	auto unenhanced = [](const char *name, u8 flags, u8 rev, u8 flags_back) {
		return Startup{name, Frame{.flags = flags, .rev = rev, .data = {}}.octets(),
			       Then::replies,
			       Frame{.key = reply_key, .flags = flags_back, .rev = rev, .data = {}}
				       .octets()};
	};

	rows.insert(
		rows.end(),
		{{"RFC 5044 7.1.1: private data is handed over as it came",
		  Frame{.data = plain_enhanced(0, 0) + most}.octets(), Then::replies,
		  Frame{.key = reply_key}.octets(), hex(most)},
		 unenhanced("RFC 6581 10: a plain Request has a plain Reply", 0x40, 1, 0x40),
		 unenhanced("RFC 5044 7.1.1: R and the reserved bits of a Request are not checked",
			    0x7f, 1, 0x40 | (terms.flags(0) & 0x08)),
		 unenhanced(
			 "RFC 6581 6: without S there is no enhanced data, whatever the revision",
			 0x40, 2, 0x40),
		 unenhanced("RFC 5044 7.1.1: CRCs are on if either end wants them", 0x00, 1,
			    terms.flags(0) & 0x40),
		 enhanced("RFC 6581 9.1: the responder's IRD covers our ORD, its ORD is not above "
			  "our IRD",
			  plain_enhanced(0, 0, 2, 6), plain_enhanced(0, 0, 6, 2)),
		 enhanced("RFC 6581 9.1: 0x3FFF is answered by 0x3FFF",
			  plain_enhanced(0x3f, 0x3f, 0xff, 0xff),
			  plain_enhanced(0x3f, 0x3f, 0xff, 0xff)),
		 enhanced("RFC 6581 9.2: without A, the flags B, C and D are ignored",
			  plain_enhanced(b, c | d), plain_enhanced(0, 0)),
		 enhanced("RFC 6581 9.2: with A, types that both know are offered",
			  plain_enhanced(a, c), plain_enhanced(a, c)),
		 enhanced("RFC 6581 9.2: all three types", plain_enhanced(a | b, c | d),
			  plain_enhanced(a | b, c | d)),
		 enhanced("RFC 6581 9.2: an initiator that asks for none is offered one",
			  plain_enhanced(a, 0), plain_enhanced(a | b, c | d)),
		 {"RFC 5044 7.1.1: markers that we require are not asked of us",
		  Frame{.flags = terms.flags(0x90)}.octets(), Then::replies,
		  Frame{.key = reply_key}.octets()}});
	return rows;
}

std::vector<Startup> reply_rows()
{
	Frame good = {.key = reply_key, .data = plain_enhanced(a, c)};
	std::vector<Startup> rows = rows_of_both(good, request_key);
	auto reply = [](const char *name, Bytes data, Then then, Bytes answer = {}) {
		return Startup{name, Frame{.key = reply_key, .data = data}.octets(), then, answer};
	};

	rows.insert(
		rows.end(),
		{reply("RFC 6581 9.2: a zero-length Send, if that is what the responder can take",
		       plain_enhanced(a | b, 0), Then::replies, fpdu(Untagged{})),
		 reply("RFC 6581 9.1: a responder's ORD that needs too much is refused",
		       plain_enhanced(a, c | 0x3f, 4, 0xfe), Then::terminates,
		       early(fpdu(terminate(mpa(6))))),
		 reply("RFC 6581 9.2: without a common RTR type there is no connection",
		       plain_enhanced(a, 0), Then::terminates, early(fpdu(terminate(mpa(7))))),
		 reply("RFC 6581 9.2: A is answered by A", plain_enhanced(0, 0), Then::terminates,
		       early(fpdu(terminate(mpa(7))))),
		 {"RFC 5044 7.1.2, 3: a rejected connection is no connection",
		  Frame{.key = reply_key,
			.flags = terms.flags(0x30),
			.data = good.data + Bytes{0x6e, 0x6f}}
			  .octets(),
		  Then::rejected,
		  {},
		  "6e6f"},
		 {"RFC 5044 7.1.2, 7: the first octets are a marker, if we require them",
		  Frame{.key = reply_key, .flags = terms.flags(0x90), .data = good.data}.octets(),
		  Then::replies, marked(fpdu(Tagged{.stag = 1}))},
		 {"RFC 5044 7.1.2, 7: so they are if there is no connection",
		  Frame{.key = reply_key, .flags = terms.flags(0x90), .data = plain_enhanced(a, 0)}
			  .octets(),
		  Then::terminates, early(marked(fpdu(terminate(mpa(7)))))}});
	return rows;
}

} // namespace hostile
