// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Captures of streams with acknowledgements (Documentation/ib.rst), made without a network, for
// dissector.sh: startup frames of the core, and FPDUs laid out by hand.
//	ib PCAP WANT
// WANT has what a dissector has to say of each TCP stream of PCAP: a line for each message, with
// the number of the stream; "!" begins what is wrong with the message before it.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>

#include "../../shared/ib.hh"
#include "../../shared/terminate.hh"
#include "api/core.h"

using namespace wire;

namespace {

// ---- packets ----

constexpr u16 port = 4791; // ib.rst, rule 40
constexpr u16 other_port = 9999, decode_as_port = 9998; // dissector.sh
constexpr size_t all = ~size_t{0};

Bytes le16(u32 value) { return {u8(value), u8(value >> 8)}; }
Bytes le32(u32 value) { return le16(value & 0xffff) + le16(value >> 16); }

// Raw IPv4, without checksums.
class Capture {
    public:
	explicit Capture(const std::string &file) : out(file, std::ios::binary)
	{
		write(le32(0xa1b2c3d4) + le16(2) + le16(4) + le32(0) + le32(0) + le32(1 << 18) +
		      le32(101));
	}

	// A new TCP connection to the port.
	void connect(u16 to)
	{
		streams++;
		client = static_cast<u16>(20000 + streams);
		server = to;
		seq[0] = seq[1] = 1;
		packet(0, 0, 0x02, {}, all);
		packet(1, 0, 0x12, {}, all);
	}
	// So many octets of the segment were captured.
	void segment(bool from_server, const Bytes &data, size_t captured = all)
	{
		packet(from_server, seq[from_server], 0x18, data, captured);
		skip(from_server, data.size());
	}
	// A segment that was not captured.
	void skip(bool from_server, size_t octets) { seq[from_server] += static_cast<u32>(octets); }
	int stream() const { return streams; }

    private:
	void write(const Bytes &octets)
	{
		out.write(reinterpret_cast<const char *>(octets.data()),
			  static_cast<std::streamsize>(octets.size()));
	}
	void packet(bool from_server, u32 number, u8 flags, const Bytes &data, size_t captured)
	{
		const u32 addresses[] = {0x0a630001, 0x0a630002};
		const Bytes tcp = be16(from_server ? server : client) +
				  be16(from_server ? client : server) + be32(number) +
				  be32(flags == 0x02 ? 0 : seq[!from_server]) + Bytes{0x50, flags} +
				  be16(0xffff) + be32(0);
		const Bytes ip = hex("4500") + be16(40 + data.size()) + hex("0000 4000 4006 0000") +
				 be32(addresses[from_server]) + be32(addresses[!from_server]);
		const Bytes whole = ip + tcp + data;
		const size_t length = std::min(whole.size(), captured == all ? all : 40 + captured);

		write(le32(++packets) + le32(0) + le32(static_cast<u32>(length)) +
		      le32(static_cast<u32>(whole.size())) + whole.slice(0, length));
	}

	std::ofstream out;
	int streams = -1;
	u16 client = 0, server = 0;
	u32 seq[2] = {}, packets = 0;
};

class Test {
    public:
	Test(const char *pcap, const char *expected) : capture(pcap), wanted(expected) {}

	void connect(u16 to = port) { capture.connect(to); }
	// One segment, and what is to be said of it.
	void sends(bool from_server, const Bytes &data, std::initializer_list<const char *> what)
	{
		capture.segment(from_server, data);
		want(what);
	}
	void client(const Bytes &data, const char *what) { sends(false, data, {what}); }
	void server(const Bytes &data, const char *what) { sends(true, data, {what}); }
	void want(std::initializer_list<const char *> what)
	{
		for (const char *line : what)
			wanted << capture.stream() << " " << line << "\n";
	}

	Capture capture;

    private:
	std::ofstream wanted;
};

// ---- what the ends send ----

u32 features = CORE_PAIR_EXTENDED;

core_pair_frame request_frame()
{
	core_pair_frame frame{};

	frame.incarnation = 0x1112131415161718;
	frame.peer_incarnation = 0x2122232425262728;
	frame.attempt = 7;
	frame.peer_attempt = 5;
	std::memcpy(frame.from.gid, hex("0000 0000 0000 0000 0000 ffff 0a63 0001").data(), 16);
	std::memcpy(frame.to.gid, hex("fe80 0000 0000 0000 0202 03ff fe04 0506").data(), 16);
	frame.from.qpn = 0x51;
	frame.to.qpn = 0xabcdef;
	frame.sent = 100;
	frame.delivered = 0xffffffff;
	frame.ird = 16;
	frame.ord = CORE_PAIR_ANY_ORD;
	frame.crc = with_crcs;
	frame.features = features;
	return frame;
}

core_pair_frame reply_frame(u8 reason = CORE_PAIR_OK)
{
	core_pair_frame request = request_frame(), frame = request;

	frame.from = request.to;
	frame.to = request.from;
	frame.incarnation = request.peer_incarnation;
	frame.peer_incarnation = request.incarnation;
	frame.attempt = 6;
	frame.peer_attempt = request.attempt;
	frame.sent = request.delivered;
	frame.delivered = request.sent;
	frame.ird = frame.ord = 8;
	frame.reply = 1;
	frame.reason = reason;
	return frame;
}

Bytes built(const core_pair_frame &frame)
{
	Bytes out(CORE_PAIR_FRAME);

	core_pair_build(&frame, out.data());
	return out;
}

Bytes request() { return built(request_frame()); }
Bytes reply(u8 reason = CORE_PAIR_OK) { return built(reply_frame(reason)); }

// With so many octets of private data.
Bytes cut_to(Bytes octets, size_t private_len)
{
	octets.resize(CORE_MPA_HEADER + private_len);
	octets[18] = static_cast<u8>(private_len >> 8);
	octets[19] = static_cast<u8>(private_len);
	return octets;
}

constexpr const char *requested = "Request, QP 0x000051 to 0xabcdef, attempt 7";
constexpr const char *accepted = "Reply accepts, QP 0xabcdef to 0x000051, attempt 6";

void start(Test &test, u16 to = port)
{
	test.connect(to);
	test.client(request(), requested);
	test.server(reply(), accepted);
}

Bytes send(u32 msn, size_t len, u8 control = 0)
{
	return fpdu(
		Untagged{.rdmap = u8(op_send | control), .msn = msn, .data = payload(len, msn)});
}
Bytes write(u8 control, size_t len, u8 ddp = 0xc1, u64 to = 0x1000)
{
	return fpdu(Tagged{.ddp = ddp,
			   .rdmap = u8(op_write | control),
			   .stag = 0x1234,
			   .to = to,
			   .data = payload(len)});
}
Bytes read(u32 msn)
{
	return fpdu(read_request({.length = 9, .source_stag = 0x4321, .source_to = 0x2000}, msn));
}
Bytes acks(const Ack &what, u32 msn, u8 control = 0)
{
	return fpdu(ack(what, msn, op_ack | control));
}

// ---- cases ----

// Stream 0, whose fields dissector.sh compares: every message, and every syndrome.
void every_message(Test &test)
{
	start(test);
	test.client(acks({.delivered = 0xffffffff}, 1, ask), "Ack 4294967295, asks");
	test.server(acks({.delivered = 100}, 1), "Ack 100");
	test.client(send(1, 10), "Send 101");
	test.client(send(2, 0, ask), "Send 102, asks");
	test.client(fpdu(Untagged{.rdmap = op_send_inv, .inv_stag = 0xbeef, .msn = 3}),
		    "Send with Invalidate 103");
	test.client(fpdu(Untagged{.rdmap = op_send_se, .msn = 4}), "Send with Solicited Event 104");
	test.client(fpdu(Untagged{.rdmap = op_send_se_inv, .inv_stag = 0xbee5, .msn = 5}),
		    "Send with Solicited Event and Invalidate 105");
	test.client(fpdu(Untagged{.rdmap = op_send_imm, .inv_stag = 0x01020304, .msn = 6}),
		    "Send with Immediate Data 106");
	test.client(fpdu(Untagged{.rdmap = op_send_se_imm, .inv_stag = 0x05060708, .msn = 7}),
		    "Send with Immediate Data and Solicited Event 107");
	test.client(write(0, 8, more_tagged), "Write 108, goes on");
	test.client(write(ask, 3, 0xc1, 0x1008), "Write 108, asks");
	test.client(write(more | ask, 5), "Write 109, Immediate Data follow");
	test.client(fpdu(immediate(0x0a0b0c0d00000000, 8)), "Immediate Data 109");
	test.client(write(more, 0), "Write 110, Immediate Data follow");
	test.client(fpdu(Untagged{.rdmap = op_immediate_se | ask,
				  .msn = 9,
				  .data = be64(0x0a0b0c0e00000000)}),
		    "Immediate Data with Solicited Event 110, asks");
	test.client(read(1), "Read Request 111");
	test.client(fpdu(atomic_request({.stag = 0x77, .to = 0x3000, .data = 5}, 2)),
		    "Atomic Request 112, Fetch Add");
	test.client(
		fpdu(atomic_request(
			{.code = cmp_swap, .id = 9, .stag = 0x78, .mask = 0xf0, .compare = 6}, 3)),
		"Atomic Request 113, Compare and Swap");
	test.server(fpdu(Tagged{.ddp = more_tagged,
				.rdmap = op_read_response,
				.stag = 0x5151,
				.to = 0x1000,
				.data = payload(8)}),
		    "Read Response to 111, goes on");
	test.server(send(1, 4, ask), "Send 0, asks"); // number 2^32 - 1 was the last
	test.server(fpdu(Tagged{.rdmap = op_read_response,
				.stag = 0x5151,
				.to = 0x1008,
				.data = payload(1)}),
		    "Read Response to 111");
	test.server(fpdu(atomic_response(0x1234567, 12)), "Atomic Response to 112");
	test.server(fpdu(atomic_response(9, 17, 2)), "Atomic Response to 113");
	test.client(acks({}, 2), "Ack 0");
	test.server(acks({.delivered = 113, .syndrome = 1, .timer = 12}, 2),
		    "Ack 113, refuses 114: receiver not ready, 0.64 ms");
	test.server(acks({.delivered = 113, .syndrome = 1}, 3),
		    "Ack 113, refuses 114: receiver not ready, 655.36 ms");
	test.server(acks({.delivered = 113, .syndrome = 2}, 4),
		    "Ack 113, refuses 114: invalid request");
	test.server(acks({.delivered = 113, .syndrome = 3}, 5),
		    "Ack 113, refuses 114: remote access error");
	test.server(acks({.delivered = ~0u, .syndrome = 4}, 6),
		    "Ack 4294967295, refuses 0: remote operation error");
	test.client(fpdu(extended({.level = 1, .stag = 0x79, .tail = be64(0)})),
		    "Extended Request 114, Flush");
	test.client(fpdu(extended({.code = 2,
				   .type = 0,
				   .stag = 0x7a,
				   .to = 0x4000,
				   .tail = be64(0x0102030405060708)},
				  2, op_extended | ask)),
		    "Extended Request 115, Atomic Write, asks");
	test.client(fpdu(terminate(protection(2), read(4))),
		    "Terminate: remote protection: the STag does not allow this access");
	test.server(fpdu(terminate({0, 2, 0x10, Includes::nothing})),
		    "Terminate: remote operation: acknowledges what was not sent");
}

// What is wrong with an Ack, and with a header.
void broken_rules(Test &test)
{
	start(test);
	test.sends(true, acks({.delivered = 1, .syndrome = 1, .timer = 32}, 1),
		   {"Ack 1, refuses 2: receiver not ready", "!The timer is above 31 (rule 18)"});
	test.sends(true, acks({.delivered = 1, .syndrome = 5}, 2),
		   {"Ack 1, refuses 2: syndrome 5", "!The syndrome is not in the table (rule 17)"});
	test.sends(true, damaged(acks({.delivered = 2}, 3), 22), {"Ack 258", "!The CRC is wrong"});
	test.sends(true, fpdu(Untagged{.rdmap = op_ack, .qn = 4, .data = be32(0)}),
		   {"Ack", "!A message of this opcode has another length"});
	test.sends(true, fpdu(Untagged{.rdmap = op_ack, .qn = 3, .data = be64(0)}),
		   {"Ack", "!The message is on the wrong queue"});
	test.sends(true, fpdu(Tagged{.rdmap = op_ack, .data = be64(0)}),
		   {"Ack", "!A message of this opcode is not tagged"});
	test.sends(true, fpdu(Untagged{.rdmap = op_write}),
		   {"Write", "!A message of this opcode is tagged"});
	test.sends(true, fpdu(Untagged{.rdmap = op_extended}),
		   {"Extended Request", "!The message is on the wrong queue"});
	test.sends(true, fpdu(Bytes(flush(1, 2, 3)) + Bytes(1)),
		   {"Extended Request", "!A message of this opcode has another length"});
	test.sends(true, fpdu(extended({.code = 3})), {"Extended Request 0, unknown operation"});
	test.sends(true, fpdu(Untagged{.ddp = 0x42}), {"Send", "!The DDP version is not 1"});
	test.sends(true, fpdu(Untagged{.rdmap = 0x83, .msn = 2}),
		   {"Send", "!The RDMAP version is not 0 or 1"});
}

// Rule 111.
void without_features(Test &test)
{
	features = 0;
	start(test);
	features = CORE_PAIR_EXTENDED;
	test.sends(false, fpdu(flush(1, 2, 3)),
		   {"Extended Request", "!Flush and Atomic Write are not agreed (rule 111)"});
	test.client(send(1, 4), "Send 101");
}

// Requests that are sent again have the numbers that they had (rule 22).
void not_ready(Test &test)
{
	start(test);
	test.client(write(0, 4), "Write 101");
	test.client(send(1, 4), "Send 102");
	test.client(read(1), "Read Request 103");
	test.client(write(0, 4), "Write 104");
	test.client(send(2, 4), "Send 105");
	test.client(write(0, 8, more_tagged), "Write 106, goes on");
	test.server(acks({.delivered = 101, .syndrome = 1, .timer = 1}, 1),
		    "Ack 101, refuses 102: receiver not ready, 0.01 ms");
	test.client(send(1, 4), "Send 102");
	test.client(read(1), "Read Request 103");
	test.server(fpdu(Tagged{.rdmap = op_read_response, .data = payload(9)}),
		    "Read Response to 103");
	test.client(write(0, 4), "Write 104");
	test.client(send(2, 4), "Send 105");
	test.client(write(more, 8), "Write 106, Immediate Data follow");
	test.client(fpdu(immediate(0, 3)), "Immediate Data 106");
	test.client(write(0, 4), "Write 107");
	test.server(acks({.delivered = 105, .syndrome = 1, .timer = 1}, 1),
		    "Ack 105, refuses 106: receiver not ready, 0.01 ms");
	test.client(fpdu(immediate(0, 3)), "Immediate Data 106");
	test.client(write(0, 4), "Write 107");
	test.client(read(2), "Read Request 108");
	test.server(fpdu(Tagged{.rdmap = op_read_response, .data = payload(9)}),
		    "Read Response to 108");
}

// A ULPDU_Length that is too small ends what can be told; the next segment is tried again.
void lengths(Test &test)
{
	for (u32 length : {0, 1, 13}) {
		start(test);
		test.sends(false, be16(length) + Bytes(Untagged{}) + be32(0),
			   {"no FPDU begins here", "!No FPDU begins here"});
		test.client(send(1, 4), "Send");
	}
	for (u32 length : {14, 15, 17}) {
		start(test);
		test.sends(false, fpdu(Bytes(Untagged{}).slice(0, length)),
			   {"Send", "!The ULPDU is shorter than its header"});
		test.client(send(1, 4), "Send 101");
	}
	start(test);
	test.client(send(1, 1), "Send 101");
	test.client(send(2, 3), "Send 102");
	const Bytes longest = send(3, 0xffff - 18);

	test.capture.segment(false, longest.slice(0, 40000));
	test.client(longest.slice(40000, all) + send(4, 1), "Send 103");
	test.want({"Send 104"});
	test.capture.segment(false, longest.slice(0, 40000)); // the rest never comes
	test.server(acks({.delivered = 104}, 1), "Ack 104");
}

void refusals(Test &test)
{
	for (const char *words : {"not ready", "other pair", "busy", "counts", "stale", "crossing",
				  "version", "features", "shutting down", "malformed", "11"}) {
		static u8 reason = 0;

		test.connect();
		test.client(request(), requested);
		test.server(reply(++reason), (std::string("Reply refuses: ") + words +
					      ", QP 0xabcdef to 0x000051, attempt 6")
						     .c_str());
	}
}

// Startup frames as rules 41 to 45 do not have them.
void startup_frames(Test &test)
{
	Bytes frame = request(), other;

	frame[28] = 2; // version
	test.connect();
	test.client(cut_to(frame, 20), "Request, version 2");
	other = cut_to(reply(CORE_PAIR_VERSION_UNKNOWN), 20);
	other[28] = 3;
	test.server(other, "Reply refuses: version, version 3");
	test.connect();
	test.sends(false, cut_to(request(), 95),
		   {"Request", "!The private data have fewer than 96 octets (rule 44)"});
	test.connect();
	test.client(cut_to(request(), 512), requested);
	frame = request();
	frame[16] |= 0x80;
	test.connect();
	test.sends(false, frame, {requested, "!M or S is set, or the revision is not 2 (rule 41)"});
	frame = request();
	frame[29] = 3;
	test.connect();
	test.sends(false, frame,
		   {requested,
		    "!A Reply that refuses has a Reason, and no other frame has (rule 44)"});
	core_pair_frame nobody = request_frame();

	nobody.incarnation = 0;
	test.connect();
	test.sends(false, built(nobody),
		   {requested, "!Source attempt or Source incarnation is zero (rule 44)"});
}

// Plain MPA on the port is left to others, and the Reply that refuses it is not.
void plain_mpa(Test &test)
{
	const Bytes plain = cut_to(request(), 0);

	test.connect();
	test.capture.segment(false, plain);
	test.server(cut_to(reply(CORE_PAIR_MALFORMED), 96),
		    "Reply refuses: malformed, QP 0xabcdef to 0x000051, attempt 6");
	test.connect();
	test.capture.segment(false, plain);
	test.capture.segment(true, cut_to(reply(), 0));
	test.capture.segment(false, write(0, 4));
}

// Known by the Request, and after MPA's dissector was right by "Decode As".
void by_content(Test &test)
{
	start(test, other_port);
	test.client(send(1, 4), "Send 101");
	test.server(acks({.delivered = 101}, 1), "Ack 101");
}
void decoded_as(Test &test)
{
	start(test, decode_as_port);
	test.client(send(1, 4), "Send 101");
	test.server(acks({.delivered = 101}, 1), "Ack 101");
}

// Without the start there are no numbers; in the middle of an FPDU there is nothing to tell.
void beginning_missed(Test &test)
{
	test.connect();
	test.client(send(8, 4), "Send");
	test.sends(false, send(9, 64).slice(30, all),
		   {"no FPDU begins here", "!No FPDU begins here"});
	test.client(write(0, 5), "Write");
}

void segment_missed(Test &test)
{
	start(test);
	test.client(send(1, 4), "Send 101");
	test.capture.skip(false, send(2, 4).size());
	test.sends(false, send(3, 4),
		   {"Send", "!Previous segment(s) not captured (common at capture start)"});
	test.client(send(4, 4), "Send");
}

void without_crcs(Test &test)
{
	with_crcs = false;
	start(test);
	test.sends(false, send(1, 5) + write(ask, 3) + read(1),
		   {"Send 101", "Write 102, asks", "Read Request 103"});
	test.server(acks({.delivered = 102}, 1) +
			    fpdu(Tagged{.rdmap = op_read_response, .data = payload(9)}),
		    "Ack 102");
	test.want({"Read Response to 103"});
	with_crcs = true;
}

// Two segments, with each octet once the first of the second one.
void split(Test &test)
{
	const Bytes frame = request(), accepts = reply();
	const Bytes stream = acks({.delivered = 1}, 1, ask) + send(1, 5) + write(0, 3) + read(1);

	for (size_t at = 1; at < frame.size(); at++) {
		test.connect();
		test.capture.segment(false, frame.slice(0, at));
		test.client(frame.slice(at, all), requested);
		test.capture.segment(true, accepts.slice(0, at));
		test.server(accepts.slice(at, all), accepted);
	}
	for (size_t at = 1; at < stream.size(); at++) {
		start(test);
		test.capture.segment(false, stream.slice(0, at));
		test.capture.segment(false, stream.slice(at, all));
		test.want({"Ack 1, asks", "Send 101", "Write 102", "Read Request 103"});
	}
}

// Each number of octets of a unit. before: what is said of too few, enough: how many are not.
void cut(Test &test, const Bytes &unit, size_t least, const char *before, size_t enough,
	 const char *whole)
{
	for (size_t captured = 1; captured < unit.size(); captured++) {
		start(test);
		test.capture.segment(false, unit, captured);
		test.want({captured < least    ? "the rest was not captured"
			   : captured < enough ? before
					       : whole,
			   "!Captured in part"});
	}
}

void captured_in_part(Test &test)
{
	cut(test, request(), 20, "Request", all, "");
	cut(test, acks({.delivered = 1}, 1), 4, "Ack", 26, "Ack 1");
	cut(test, send(1, 5), 4, "", 4, "Send 101");
	cut(test, write(0, 5), 4, "", 4, "Write 101");
	cut(test, fpdu(terminate(protection(2), read(4))), 4, "Terminate", 23,
	    "Terminate: remote protection: the STag does not allow this access");
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 3) {
		std::cerr << "usage: ib PCAP WANT\n";
		return 1;
	}
	Test test(argv[1], argv[2]);

	for (auto *cases :
	     {every_message, broken_rules, without_features, not_ready, lengths, refusals,
	      startup_frames, by_content, plain_mpa, decoded_as, beginning_missed, segment_missed,
	      without_crcs, split, captured_in_part})
		cases(test);
	return 0;
}
