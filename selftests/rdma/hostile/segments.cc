// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What a receiver checks of an FPDU: MPA (RFC 5044 4 and 8), DDP (RFC 5041 7.1), RDMAP (RFC 5040 7.2).
//
// In all rows the next MSN on every queue is 1 at first, and the receives have 64 octets.
#include "case.hh"

namespace hostile {
namespace {

constexpr u32 nobody = 0xdeadbe00;		       // an STag that was never given out
constexpr u64 nowhere = ~u64{0} - 3;		       // a TO that wraps with the fifth octet
constexpr u8 more_tagged = 0x81, more_untagged = 0x01; // L is not set

void add(std::vector<Row> &to, std::vector<Row> rows)
{
	for (Row &row : rows)
		to.push_back(std::move(row));
}

Octets send(size_t len, u32 msn = 1) { return fpdu(Untagged{.msn = msn, .payload = filler(len)}); }

// A RDMA Write into a region, from an offset on that may be negative.
Tagged write(const Region &region, u64 offset, size_t len)
{
	return {.stag = region.stag, .to = region.to + offset, .payload = filler(len)};
}

Build write_to(const char *name, u64 offset, size_t len)
{
	return [=](const Scene &s) { return Attack{{fpdu(write(s[name], offset, len))}}; };
}

// What has to be seen of Sends: the receives in their order.
std::vector<Change> in_receive(const Scene &s, const Octets &octets, const char *receive = "receive0")
{
	return {{s[receive].to, octets}};
}

Build delivered(const Untagged &segment, u8 pad = 0)
{
	return [=](const Scene &s) { return Attack{{fpdu(segment, pad)}, the_last, in_receive(s, segment.payload)}; };
}

Untagged with(Untagged segment, auto change)
{
	change(segment);
	return segment;
}

// ---- MPA ----

// What leaves damaged payload behind may have placed it: only Delivery waits for the CRC.
Build damaged_send(size_t octet, u8 bit = 0x01)
{
	return [=](const Scene &s) {
		return Attack{{damaged(send(7), octet, bit)}, the_last, {}, {{s["receive0"].to, 64}}};
	};
}

std::vector<Row> framing_rows()
{
	std::vector<Row> rows = {
		{"RFC 5044 4.4: the CRC is verified: damaged in the CRC field", bad_crc, damaged_send(31)},
		{"RFC 5044 4.4: the CRC is verified: damaged in the payload", bad_crc, damaged_send(20)},
		{"RFC 5044 4.4: the CRC is verified: damaged in the pad", bad_crc, damaged_send(27, 0x80)},
		{"RFC 5044 4.4: the CRC is verified: damaged in a bit of the header that nobody looks at", bad_crc,
		 damaged_send(2, 0x04)},
		{"RFC 5044 4.4: the CRC is verified first: damaged in the MSN", bad_crc, damaged_send(15, 0x02)},
		{"RFC 5044 4.4: the CRC is verified first: damaged in the opcode", bad_crc, damaged_send(3, 0x08)},
		{"RFC 5044 4.4: the CRC is verified first: damaged in the QN", bad_crc, damaged_send(8, 0x40)},
		{"RFC 5044 4.4: the CRC is verified first: damaged in an STag", bad_crc,
		 [](const Scene &s) { return Attack{{damaged(fpdu(write(s["both"], 0, 8)), 4, 0x10)}}; }},
		{"RFC 5044 4.4: the CRC is verified: of a RDMA Write", bad_crc,
		 [](const Scene &s) {
			 return Attack{{damaged(fpdu(write(s["both"], 0, 8)), 27)}, the_last, {}, {{s["both"].to, 8}}};
		 }},
		{"RFC 5044 4.4: the CRC is verified: of a RDMA Read Request", bad_crc,
		 [](const Scene &s) {
			 ReadRequest read = {.length = 8, .source_stag = s["both"].stag, .source_to = s["both"].to};

			 return Attack{{damaged(fpdu(read.segment()), 50)}};
		 }},
		{"RFC 5044 4.4: the CRC is verified: of an empty message", bad_crc, damaged(fpdu(Tagged{}), 17)},
		{"RFC 5044 4.4: the CRC is verified: of a Terminate", bad_crc,
		 damaged(fpdu(Untagged{.rdmap = op_terminate, .qn = 2, .payload = Octets(4)}), 26)},
		{"RFC 5044 8: no FPDU is delivered after the damaged one", bad_crc,
		 [](const Scene &s) {
			 return Attack{{damaged(send(4), 20), send(4)}, 0, {}, {{s["receive0"].to, 64}}};
		 }},
		{"RFC 5044 8: what came before the damaged FPDU is delivered",
		 bad_crc,
		 [](const Scene &s) {
			 return Attack{{send(4), damaged(send(4, 2), 20)},
				       1,
				       in_receive(s, filler(4)),
				       {{s["receive1"].to, 64}}};
		 },
		 {.delivered = 1}},
		{"RFC 5044 4.1: the pad is ignored but for the CRC",
		 accepted,
		 delivered({.payload = filler(5)}, 0xa5),
		 {.delivered = 1}},
		{"RFC 5044 4.1: ULPDU_Length 65535 is a length like others", accepted,
		 [](const Scene &s) {
			 return Attack{{fpdu(write(s["both"], 0, 65535 - 14))},
				       the_last,
				       {{s["both"].to, filler(65535 - 14)}}};
		 }},
		{"RFC 5044 4.1: ULPDU_Length 65535 where 4096 octets may be written", tagged(1),
		 write_to("write-only", 0, 65535 - 14)},
		{"RFC 5044 4.1: ULPDU_Length 65535 of a Send", untagged(5), send(65535 - 18)},
	};

	// RFC 5041 4.1: a ULPDU has a DDP header. Of all codes only MPA's third blames the length.
	for (u16 length : {0, 1, 2, 13})
		rows.push_back({"RFC 5044 8, 3: ULPDU_Length " + std::to_string(length) + " is no tagged segment's",
				bad_framing, fpdu_that_says(length, Octets(length, 0xc1))});
	for (u16 length : {14, 17})
		rows.push_back({"RFC 5044 8, 3: ULPDU_Length " + std::to_string(length) + " is no untagged segment's",
				bad_framing, fpdu(Untagged{}.octets().slice(0, length))});
	return rows;
}

// RFC 5044 7.1.2 rule 4: "MPA Responder mode implementations MUST receive and validate at least one FPDU before sending
// any FPDUs". Initiators may, but it is them who attack first here as well.
std::vector<Row> first_rows()
{
	return {
		{"RFC 5041 5.2: a RDMA Write that is the first FPDU is written",
		 accepted,
		 [](const Scene &s) {
			 return Attack{{fpdu(write(s["both"], 0, 8))}, the_last, {{s["both"].to, filler(8)}}};
		 },
		 {.first = true}},
		{"RFC 5041 7.1: the first FPDU of all is refused like any other",
		 untagged(1),
		 fpdu(Untagged{.qn = 3, .payload = filler(4)}),
		 {.first = true}},
	};
}

// ---- DDP, tagged (RFC 5041 7.1 and 7.2, error type 1) ----

Octets to_both(const Scene &s, u8 ddp, u8 rdmap = op_write)
{
	Tagged segment = write(s["both"], 0, 8);

	segment.ddp = ddp;
	segment.rdmap = rdmap;
	return fpdu(segment);
}

Build to_both(u8 ddp, u8 rdmap = op_write)
{
	return [=](const Scene &s) { return Attack{{to_both(s, ddp, rdmap)}}; };
}

Build to_both_lands(u8 ddp, u8 rdmap = op_write)
{
	return [=](const Scene &s) { return Attack{{to_both(s, ddp, rdmap)}, the_last, {{s["both"].to, filler(8)}}}; };
}

std::vector<Row> tagged_rows()
{
	return {
		{"RFC 5041 7.1: the tagged segment's DDP version is 1: 0", tagged(4), to_both(0xc0)},
		{"RFC 5041 7.1: the tagged segment's DDP version is 1: 2", tagged(4), to_both(0xc2)},
		{"RFC 5041 7.1: the tagged segment's DDP version is 1: 3", tagged(4), to_both(0xc3)},
		{"RFC 5041 4.1: the reserved bits of the DDP control field are not checked", accepted,
		 to_both_lands(0xfd)},
		{"RFC 5041 7.1, 1: the STag is valid: never given out", tagged(0),
		 fpdu(Tagged{.stag = nobody, .payload = filler(8)})},
		{"RFC 5041 7.1, 1: the STag is valid: 0", tagged(0), fpdu(Tagged{.payload = filler(8)})},
		{"RFC 5041 7.1, 1: the STag is valid: all ones", tagged(0),
		 fpdu(Tagged{.stag = ~u32{0}, .payload = filler(8)})},
		{"RFC 5041 7.1, 1: the STag is valid: given back", tagged(0), write_to("stale", 0, 8)},
		{"RFC 5041 7.1, 1: the STag is valid: right but for its key", tagged(0),
		 [](const Scene &s) {
			 Tagged segment = write(s["both"], 0, 8);

			 segment.stag ^= 1;
			 return Attack{{fpdu(segment)}};
		 }},
		{"RFC 5041 7.1, 1: the STag is valid for this stream: of another protection domain", tagged(2),
		 write_to("foreign", 0, 8)},
		{"RFC 5041 7.1, 2: the buffer allows placement: for remote reads only", tagged(0),
		 write_to("read-only", 0, 8)},
		{"RFC 5041 7.1, 2: the buffer allows placement: for nobody remote", tagged(0),
		 write_to("private", 0, 8)},
		{"RFC 5041 7.1, 3: the TO is in the range: one below its base", tagged(1),
		 write_to("both", ~u64{0}, 8)},
		{"RFC 5041 7.1, 3: the TO is in the range: 0", tagged(1),
		 [](const Scene &s) { return Attack{{fpdu(Tagged{.stag = s["both"].stag, .payload = filler(8)})}}; }},
		{"RFC 5041 7.1, 3: the TO is in the range: at its end", tagged(1),
		 [](const Scene &s) { return Attack{{fpdu(write(s["both"], s["both"].length, 1))}}; }},
		{"RFC 5041 7.1, 4: TO and length are in the range: up to its end", accepted,
		 [](const Scene &s) {
			 const Region &both = s["both"];

			 return Attack{
				 {fpdu(write(both, both.length - 8, 8))}, the_last, {{both.end() - 8, filler(8)}}};
		 }},
		{"RFC 5041 7.1, 4: TO and length are in the range: one more", tagged(1),
		 [](const Scene &s) { return Attack{{fpdu(write(s["both"], s["both"].length - 8, 9))}}; }},
		{"RFC 5041 7.1, 4: each segment is checked, not only the first", tagged(1),
		 [](const Scene &s) {
			 Tagged first = write(s["both"], s["both"].length - 8, 8);

			 first.ddp = more_tagged;
			 return Attack{{fpdu(first), fpdu(write(s["both"], s["both"].length, 1))},
				       1,
				       {{s["both"].end() - 8, filler(8)}}};
		 }},
		{"RFC 5041 7.1, 5: TO and length do not wrap", tagged(3),
		 [](const Scene &s) {
			 return Attack{{fpdu(Tagged{.stag = s["both"].stag, .to = nowhere, .payload = filler(8)})}};
		 }},
		{"RFC 5041 7.1, 3: a TO that just does not wrap is out of the range", tagged(1),
		 [](const Scene &s) {
			 return Attack{{fpdu(Tagged{.stag = s["both"].stag, .to = nowhere, .payload = filler(3)})}};
		 }},
		{"RFC 5041 5.2: STag and TO of a zero-length message are not checked", accepted,
		 fpdu(Tagged{.stag = nobody, .to = nowhere})},
		{"RFC 5041 5.2: nor those of a zero-length segment inside a message", accepted,
		 [](const Scene &s) {
			 return Attack{
				 {fpdu(Tagged{.ddp = more_tagged, .stag = nobody, .to = nowhere}), to_both(s, 0xc1)},
				 the_last,
				 {{s["both"].to, filler(8)}}};
		 }},
		{"RFC 5041 7.1: subsequent segments are dropped silently", tagged(0),
		 [](const Scene &s) {
			 return Attack{{fpdu(Tagged{.stag = nobody, .payload = filler(8)}), to_both(s, 0xc1), send(4)},
				       0};
		 }},
		{"RFC 5040 7.1, 4: of two errors the first one is told", tagged(0),
		 Attack{{fpdu(Tagged{.stag = nobody, .payload = filler(8)}),
			 fpdu(Untagged{.qn = 3, .payload = filler(8)})},
			0}},
		{"RFC 5041 5.2: a RDMA Write of many segments is placed", accepted,
		 [](const Scene &s) {
			 Attack out;

			 for (u64 at = 0; at < 40; at += 8) {
				 Tagged segment = write(s["both"], at, 8);

				 segment.ddp = at < 32 ? more_tagged : 0xc1;
				 out.fpdus.push_back(fpdu(segment));
				 out.lands.push_back({segment.to, segment.payload});
			 }
			 return out;
		 }},
	};
}

// ---- DDP, untagged (RFC 5041 7.1 and 7.2, error type 2) ----

Build two_segments(Untagged second)
{
	return [=](const Scene &s) {
		return Attack{{fpdu(Untagged{.ddp = more_untagged, .payload = filler(32)}), fpdu(second)},
			      1,
			      {},
			      {{s["receive0"].to, 64}}};
	};
}

std::vector<Row> untagged_rows()
{
	Untagged plain = {.payload = filler(4)};

	return {
		{"RFC 5041 7.1: the untagged segment's DDP version is 1: 0", untagged(6),
		 fpdu(with(plain, [](Untagged &u) { u.ddp = 0x40; }))},
		{"RFC 5041 7.1: the untagged segment's DDP version is 1: 2", untagged(6),
		 fpdu(with(plain, [](Untagged &u) { u.ddp = 0x42; }))},
		{"RFC 5041 7.1: the untagged segment's DDP version is 1: 3", untagged(6),
		 fpdu(with(plain, [](Untagged &u) { u.ddp = 0x43; }))},
		{"RFC 5041 7.1, 1: the QN is valid for this stream: 3", untagged(1),
		 fpdu(with(plain, [](Untagged &u) { u.qn = 3; }))},
		{"RFC 5041 7.1, 1: the QN is valid for this stream: 256", untagged(1),
		 fpdu(with(plain, [](Untagged &u) { u.qn = 256; }))},
		{"RFC 5041 7.1, 1: the QN is valid for this stream: all ones", untagged(1),
		 fpdu(with(plain, [](Untagged &u) { u.qn = ~u32{0}; }))},
		{"RFC 5041 7.1, 2: QN and MSN have a buffer: no receive is posted",
		 untagged(2),
		 fpdu(plain),
		 {.receives = 0}},
		{"RFC 5041 7.1, 2: QN and MSN have a buffer: none for a zero-length Send",
		 untagged(2),
		 send(0),
		 {.receives = 0}},
		{"RFC 5041 7.1, 2: QN and MSN have a buffer: one Send too many",
		 untagged(2),
		 [](const Scene &s) {
			 return Attack{{send(4), send(4, 2)}, 1, in_receive(s, filler(4))};
		 },
		 {.receives = 1, .delivered = 1}},
		{"RFC 5041 7.1, 5: the MSN is in the range: 0", untagged(3), send(4, 0)},
		{"RFC 5041 7.1, 5: the MSN is in the range: one was left out", untagged(3), send(4, 2)},
		{"RFC 5041 7.1, 5: the MSN is in the range: above all receives", untagged(3), send(4, 5)},
		{"RFC 5041 7.1, 5: the MSN is in the range: far above", untagged(3), send(4, 0x80000001)},
		{"RFC 5041 7.1, 5: the MSN is in the range: had been there",
		 untagged(3),
		 [](const Scene &s) {
			 return Attack{{send(4), send(4)}, 1, in_receive(s, filler(4))};
		 },
		 {.delivered = 1}},
		{"RFC 5041 7.1, 5: the MSN is that of the message in progress", untagged(3),
		 two_segments({.msn = 2, .mo = 32, .payload = filler(4)})},
		{"RFC 5041 7.1, 3: the MO is in the range: not 0 at first", untagged(4),
		 fpdu(with(plain, [](Untagged &u) { u.mo = 4; }))},
		{"RFC 5041 7.1, 3: the MO is in the range: beyond the receive", untagged(4),
		 fpdu(with(plain, [](Untagged &u) { u.mo = 64; }))},
		{"RFC 5041 7.1, 3: the MO is in the range: all ones", untagged(4),
		 fpdu(with(plain, [](Untagged &u) { u.mo = ~u32{0}; }))},
		{"RFC 5041 7.1, 3: the MO is in the range: the same once more", untagged(4),
		 two_segments({.mo = 0, .payload = filler(32)})},
		{"RFC 5041 7.1, 3: the MO is in the range: with a gap", untagged(4),
		 two_segments({.mo = 33, .payload = filler(4)})},
		{"RFC 5041 7.1, 4: length and MO are in the range: one octet too long", untagged(5), send(65)},
		{"RFC 5041 7.1, 4: length and MO are in the range: grown one octet too long", untagged(5),
		 two_segments({.mo = 32, .payload = filler(33)})},
		{"RFC 5041 7.1, 4: length and MO are in the range: the whole receive",
		 accepted,
		 delivered({.payload = filler(64)}),
		 {.delivered = 1}},
		{"RFC 5041 5.2: a Send of two segments is one message",
		 accepted,
		 [](const Scene &s) {
			 return Attack{{fpdu(Untagged{.ddp = more_untagged, .payload = filler(32)}),
					fpdu(Untagged{.mo = 32, .payload = filler(32, 2)})},
				       the_last,
				       in_receive(s, filler(32) + filler(32, 2))};
		 },
		 {.delivered = 1}},
		{"RFC 5041 4.1: the reserved bits of the DDP control field are not checked (untagged)",
		 accepted,
		 delivered({.ddp = 0x7d, .payload = filler(4)}),
		 {.delivered = 1}},
		{"RFC 5040 4.1: the Invalidate STag is ignored but where it is valid",
		 accepted,
		 delivered({.invalidate = 0xffffffff, .payload = filler(4)}),
		 {.delivered = 1}},
		{"RFC 5040 5.3: a zero-length Send consumes a receive", accepted, send(0), {.delivered = 1}},
	};
}

// ---- RDMAP: opcode and version (RFC 5040 7.2, 2 and 3) ----

std::vector<Row> control_rows()
{
	std::vector<Row> rows = {
		{"RFC 5040 7.2, 3: the RDMAP version is valid: 10b", operation(5),
		 fpdu(Untagged{.rdmap = 0x83, .payload = filler(4)})},
		{"RFC 5040 7.2, 3: the RDMAP version is valid: 11b", operation(5),
		 fpdu(Untagged{.rdmap = 0xc3, .payload = filler(4)})},
		{"RFC 5040 7.2, 3: the RDMAP version is valid: 10b in a tagged message", operation(5),
		 to_both(0xc1, 0x80)},
		{"RFC 5040 4.1: the RDMAP version 00b is valid as well",
		 accepted,
		 delivered({.rdmap = 0x03, .payload = filler(4)}),
		 {.delivered = 1}},
		{"RFC 5040 4.1: the reserved bits of the RDMAP control field are ignored",
		 accepted,
		 delivered({.rdmap = 0x73, .payload = filler(4)}),
		 {.delivered = 1}},
		{"RFC 5040 4.1: the reserved bits of the RDMAP control field are ignored (tagged)", accepted,
		 to_both_lands(0xc1, 0x70)},
		{"RFC 5040 figure 4: a Send is not tagged", operation(6), to_both(0xc1, op_send)},
		{"RFC 5040 figure 4: a Read Request is not tagged", operation(6), to_both(0xc1, op_read_request)},
		{"RFC 5040 figure 4: a Terminate is not tagged", operation(6), to_both(0xc1, op_terminate)},
		{"RFC 5040 figure 4: a RDMA Write is not untagged", operation(6),
		 fpdu(Untagged{.rdmap = op_write, .payload = filler(4)})},
		{"RFC 5040 figure 4: a Read Response is not untagged", operation(6),
		 fpdu(Untagged{.rdmap = op_read_response, .payload = filler(4)})},
		{"RFC 5040 figure 4: a Send is on queue 0, not 1", operation(6),
		 fpdu(Untagged{.qn = 1, .payload = filler(28)})},
		{"RFC 5040 figure 4: a Send is on queue 0, not 2", operation(6),
		 fpdu(Untagged{.qn = 2, .payload = filler(4)})},
		{"RFC 5040 figure 4: a Read Request is on queue 1, not 0", operation(6),
		 fpdu(Untagged{.rdmap = op_read_request, .payload = ReadRequest{}.octets()})},
		{"RFC 5040 figure 4: a Terminate is on queue 2, not 0", operation(6),
		 fpdu(Untagged{.rdmap = op_terminate, .payload = Octets(4)})},
		{"RFC 5040 4.1: one message has one opcode", operation(6),
		 two_segments({.rdmap = op_send_se, .mo = 32, .payload = filler(4)})},
	};

	for (u8 opcode = 8; opcode < 16; opcode++) {
		std::string name = "RFC 5040 7.2, 2: the opcode is valid: " + std::to_string(opcode);
		u8 rdmap = 0x40 | opcode;

		rows.push_back(
			{name + ", untagged", operation(6), fpdu(Untagged{.rdmap = rdmap, .payload = filler(28)})});
		rows.push_back({name + ", tagged", operation(6), to_both(0xc1, rdmap)});
	}
	return rows;
}

// ---- RDMA Read Requests (RFC 5040 5.2.1 and 7.2) ----

Build read_of(const char *name, u64 offset, u32 length)
{
	return [=](const Scene &s) {
		ReadRequest read = {.length = length, .source_stag = s[name].stag, .source_to = s[name].to + offset};

		return Attack{{fpdu(read.segment())}};
	};
}

Build read_at_end(u64 before_end, u32 length)
{
	return [=](const Scene &s) {
		const Region &both = s["both"];
		ReadRequest read = {.length = length, .source_stag = both.stag, .source_to = both.end() - before_end};

		return Attack{{fpdu(read.segment())}};
	};
}

Build request(auto change)
{
	return [=](const Scene &s) {
		ReadRequest read = {.length = 8, .source_stag = s["both"].stag, .source_to = s["both"].to};

		return Attack{{fpdu(with(read.segment(), change))}};
	};
}

Octets empty_response(u32 stag, u64 to) { return fpdu(Tagged{.rdmap = op_read_response, .stag = stag, .to = to}); }

// One Read Request more than the Reply or Request allowed for, while the victim cannot answer any: our window is shut.
Attack beyond_ird(const Scene &s)
{
	Attack out;

	for (u32 msn = 1; msn <= 5; msn++) {
		ReadRequest read = {.length = static_cast<u32>(s["both"].length),
				    .source_stag = s["both"].stag,
				    .source_to = s["both"].to};
		out.fpdus.push_back(fpdu(read.segment(msn)));
	}
	return out;
}

std::vector<Row> read_request_rows()
{
	std::vector<Row> rows = {
		{"RFC 5040 4.4: a Read Request has 28 octets: 27", operation(0xff),
		 request([](Untagged &u) { u.payload.pop_back(); })},
		{"RFC 5040 4.4: a Read Request has 28 octets: 0", operation(0xff),
		 request([](Untagged &u) { u.payload.clear(); })},
		{"RFC 5040 4.4: a Read Request has 28 octets: 29", untagged(5),
		 request([](Untagged &u) { u.payload.push_back(0); })},
		{"RFC 5040 4.4: a Read Request has 28 octets: 1400", untagged(5),
		 request([](Untagged &u) { u.payload = filler(1400); })},
		{"RFC 5040 5.2.1: a Read Request is one segment: L is not set", operation(0xff),
		 request([](Untagged &u) { u.ddp = more_untagged; })},
		{"RFC 5041 7.1, 5: the MSN of queue 1 is in the range: 0", untagged(3),
		 request([](Untagged &u) { u.msn = 0; })},
		{"RFC 5041 7.1, 5: the MSN of queue 1 is in the range: one was left out", untagged(3),
		 request([](Untagged &u) { u.msn = 2; })},
		{"RFC 5041 7.1, 3: the MO of queue 1 is in the range", untagged(4),
		 request([](Untagged &u) { u.mo = 28; })},
		{"RFC 5040 7.2, 4a: the source STag is valid: never given out", protection(0),
		 fpdu(ReadRequest{.length = 8, .source_stag = nobody}.segment())},
		{"RFC 5040 7.2, 4a: the source STag is valid: given back", protection(0), read_of("stale", 0, 8)},
		{"RFC 5040 7.2, 4b: the source STag is associated to the stream", protection(3),
		 read_of("foreign", 0, 8)},
		{"RFC 5040 figure 9: the source may be read: for remote writes only", protection(2),
		 read_of("write-only", 0, 8)},
		{"RFC 5040 figure 9: the source may be read: for nobody remote", protection(2),
		 read_of("private", 0, 8)},
		{"RFC 5040 7.2, 4c: the source TO is in the range: one below its base", protection(1),
		 read_of("both", ~u64{0}, 8)},
		{"RFC 5040 7.2, 4c: the source TO is in the range: at its end", protection(1), read_at_end(0, 1)},
		{"RFC 5040 7.2, 4d: source TO and size are in the range: one more", protection(1), read_at_end(8, 9)},
		{"RFC 5040 7.2, 4d: source TO and size are in the range: all ones", protection(1),
		 read_of("both", 0, ~u32{0})},
		{"RFC 5040 7.2, 4e: source TO and size do not wrap", protection(4),
		 [](const Scene &s) {
			 ReadRequest read = {.length = 8, .source_stag = s["both"].stag, .source_to = nowhere};

			 return Attack{{fpdu(read.segment())}};
		 }},
		{"RFC 5040 5.2.1: STag and TO of a zero-length read are not validated", accepted,
		 Attack{{fpdu(ReadRequest{.source_stag = nobody, .source_to = nowhere}.segment())},
			the_last,
			{},
			{},
			empty_response(0x5151, 0x1000)}},
		{"RFC 5041 7.1, 2: as many Read Requests as the IRD have a buffer, and no more",
		 untagged(2),
		 beyond_ird,
		 {.responses = true, .window = 4096}},
	};
	Octets source = filler(8, 7);

	rows.push_back({"RFC 5040 5.5, 12: what was written can be read back", accepted, [source](const Scene &s) {
				const Region &both = s["both"];
				ReadRequest read = {.length = 8, .source_stag = both.stag, .source_to = both.end() - 8};
				Octets response = fpdu(Tagged{
					.rdmap = op_read_response, .stag = 0x5151, .to = 0x1000, .payload = source});

				return Attack{{fpdu(Tagged{.stag = both.stag, .to = both.end() - 8, .payload = source}),
					       fpdu(read.segment())},
					      the_last,
					      {{both.end() - 8, source}},
					      {},
					      response};
			}});
	return rows;
}

// ---- RDMA Read Responses (RFC 5040 5.2.2): the victim reads 64 octets ----

Tagged response(const Scene &s, u64 offset, size_t len, u8 ddp = 0xc1)
{
	return {.ddp = ddp,
		.rdmap = op_read_response,
		.stag = s.reads.at(0).stag,
		.to = s.reads.at(0).to + offset,
		.payload = filler(len)};
}

Build responds(u64 offset, size_t len, u8 ddp = 0xc1)
{
	return [=](const Scene &s) { return Attack{{fpdu(response(s, offset, len, ddp))}}; };
}

// The first 32 octets are right; what follows is not.
Build then_responds(u64 offset, size_t len, u8 ddp = 0xc1)
{
	return [=](const Scene &s) {
		return Attack{{fpdu(response(s, 0, 32, more_tagged)), fpdu(response(s, offset, len, ddp))},
			      1,
			      {},
			      {{s["sink"].to, 64}}};
	};
}

std::vector<Row> read_response_rows()
{
	More reading = {.reads = {64}};

	return {
		{"RFC 5040 5.2: a Read Response answers a Read Request", tagged(0),
		 fpdu(Tagged{.rdmap = op_read_response, .stag = 1, .payload = filler(8)})},
		{"RFC 5040 5.2: a Read Response answers a Read Request: to memory that may be written", tagged(0),
		 to_both(0xc1, op_read_response)},
		{"RFC 5040 5.2: a Read Response answers a Read Request: an empty one", operation(6),
		 empty_response(1, 0)},
		{"RFC 5040 5.2.2: the sink STag is the request's", tagged(0),
		 [](const Scene &s) {
			 Tagged segment = response(s, 0, 64);

			 segment.stag ^= 0x100;
			 return Attack{{fpdu(segment)}};
		 },
		 reading},
		{"RFC 5040 5.2.2: the sink STag is the request's, and not one that may be written", tagged(0),
		 [](const Scene &s) {
			 Tagged segment = write(s["both"], 0, 64);

			 segment.rdmap = op_read_response;
			 return Attack{{fpdu(segment)}};
		 },
		 reading},
		{"RFC 5040 5.2.2: the STag of a sink is for Read Responses alone", tagged(0),
		 [](const Scene &s) {
			 Tagged segment = response(s, 0, 64);

			 segment.rdmap = op_write;
			 return Attack{{fpdu(segment)}};
		 },
		 reading},
		{"RFC 5040 5.2.2: the sink TO is the request's: above it", tagged(1), responds(1, 63), reading},
		{"RFC 5040 5.2.2: the sink TO is the request's: below it", tagged(1),
		 [](const Scene &s) {
			 Tagged segment = response(s, 0, 64);

			 segment.to = s.reads.at(0).to ? s.reads.at(0).to - 1 : ~u64{0} - 64;
			 return Attack{{fpdu(segment)}};
		 },
		 reading},
		{"RFC 5041 7.1, 5: sink TO and length do not wrap", tagged(3),
		 [](const Scene &s) {
			 Tagged segment = response(s, 0, 64);

			 segment.to = nowhere;
			 return Attack{{fpdu(segment)}};
		 },
		 reading},
		{"RFC 5040 5.2.2: the length is the request's: one octet too long", tagged(1), responds(0, 65),
		 reading},
		{"RFC 5040 5.2.2: the length is the request's: grown too long", tagged(1), then_responds(32, 33),
		 reading},
		{"RFC 5040 5.2.2: the octets come in their order: the same once more", tagged(1), then_responds(0, 32),
		 reading},
		{"RFC 5040 5.2.2: the octets come in their order: with a gap", tagged(1), then_responds(33, 31),
		 reading},
		{"RFC 5040 5.2.2: the response ends with the last octet: L is set too early", operation(0xff),
		 responds(0, 63), reading},
		{"RFC 5040 5.2.2: the response ends with the last octet: L is set in an empty one", operation(0xff),
		 responds(0, 0), reading},
		{"RFC 5040 5.2.2: the response ends with the last octet: L is never set", operation(0xff),
		 responds(0, 64, more_tagged), reading},
		{"RFC 5040 5.2.2: the response ends with the last octet: L is set too early in the second segment",
		 operation(0xff), then_responds(32, 31), reading},
		{"RFC 5040 5.2.2: a read is answered once",
		 tagged(0),
		 [](const Scene &s) {
			 return Attack{
				 {fpdu(response(s, 0, 64)), fpdu(response(s, 0, 64))}, 1, {{s["sink"].to, filler(64)}}};
		 },
		 {.reads = {64}, .reads_done = 1}},
		{"RFC 5040 5.2.2: responses come in the order of their requests",
		 tagged(0),
		 [](const Scene &s) {
			 Tagged segment = response(s, 0, 64);

			 segment.stag = s.reads.at(1).stag;
			 segment.to = s.reads.at(1).to;
			 return Attack{{fpdu(segment)}};
		 },
		 {.reads = {64, 64}}},
		{"RFC 5040 5.2.2: a valid response is delivered, whatever comes in between",
		 accepted,
		 [](const Scene &s) {
			 Octets half = filler(32);

			 return Attack{{fpdu(response(s, 0, 32, more_tagged)), send(4), to_both(s, 0xc1),
					fpdu(response(s, 32, 32))},
				       the_last,
				       {{s["sink"].to, half + half},
					{s["receive0"].to, filler(4)},
					{s["both"].to, filler(8)}}};
		 },
		 {.reads = {64}, .delivered = 1, .reads_done = 1}},
		{"RFC 5040 5.4: a read that a Terminate overtakes is flushed",
		 accepted,
		 [](const Scene &s) {
			 return Attack{{fpdu(response(s, 0, 32, more_tagged)),
					fpdu(Untagged{.rdmap = op_terminate, .qn = 2, .payload = Octets(4)})},
				       the_last,
				       {},
				       {{s["sink"].to, 64}}};
		 },
		 {.reads = {64}, .event = 1}},
	};
}

// ---- Send with Invalidate (RFC 5040 5.3 and 7.2) ----

Build invalidates(const char *name, u8 rdmap)
{
	return [=](const Scene &s) {
		Untagged segment = {.rdmap = rdmap, .invalidate = s[name].stag, .payload = filler(4)};

		return Attack{{fpdu(segment)}, the_last, {}, {{s["receive0"].to, 64}}};
	};
}

std::vector<Row> invalidate_rows()
{
	More refused = {.refused = 1};

	return {
		{"RFC 5040 7.2, 4: the Invalidate STag is valid: never given out", invalidation(0),
		 [](const Scene &s) {
			 Untagged segment = {.rdmap = op_send_inv, .invalidate = nobody, .payload = filler(4)};

			 return Attack{{fpdu(segment)}, the_last, {}, {{s["receive0"].to, 64}}};
		 },
		 refused},
		{"RFC 5040 7.2, 4: the Invalidate STag is valid: given back", invalidation(0),
		 invalidates("stale", op_send_inv), refused},
		{"RFC 5040 5.3: the Invalidate STag is associated with the stream", invalidation(9),
		 invalidates("foreign", op_send_inv), refused},
		{"RFC 5040 figure 9: the STag can be invalidated: a program's own region", invalidation(9),
		 invalidates("both", op_send_inv), refused},
		{"RFC 5040 figure 9: the STag can be invalidated: likewise with a Solicited Event", invalidation(9),
		 invalidates("both", op_send_se_inv), refused},
		{"RFC 5040 figure 9: the STag can be invalidated: a region of nobody's remote", invalidation(9),
		 invalidates("private", op_send_inv), refused},
		{"RFC 5040 5.5: a RDMA Write behind a refused invalidation does not land", invalidation(9),
		 [](const Scene &s) {
			 Untagged segment = {.rdmap = op_send_inv, .invalidate = s["both"].stag, .payload = filler(4)};

			 return Attack{{fpdu(segment), to_both(s, 0xc1)}, 0, {}, {{s["receive0"].to, 64}}};
		 },
		 refused},
	};
}

// ---- Terminate (RFC 5040 5.4) ----

Build terminates(auto change)
{
	return fpdu(with(Untagged{.rdmap = op_terminate, .qn = 2, .payload = Octets(4)}, change));
}

std::vector<Row> terminate_rows()
{
	auto nothing = [](Untagged &) {};

	return {
		{"RFC 5040 5.4: a Terminate is not answered, and ends the stream",
		 accepted,
		 terminates(nothing),
		 {.event = 1}},
		{"RFC 5040 4.8: a Terminate may include what it is about",
		 accepted,
		 terminates([](Untagged &u) {
			 u.payload = Octets{0x01, 0x01, 0xe0, 0x00, 0x00, 0x2e} + ReadRequest{}.segment().octets();
		 }),
		 {.event = 1}},
		{"RFC 5040 4.8: the reserved bits of a Terminate are ignored",
		 accepted,
		 terminates([](Untagged &u) {
			 u.payload = {0x02, 0xff, 0x1f, 0xff};
		 }),
		 {.event = 1}},
		{"RFC 5040 4.8: a Terminate has a control field: 3 octets", operation(0xff),
		 terminates([](Untagged &u) { u.payload.pop_back(); })},
		{"RFC 5040 4.8: a Terminate has a control field: 0 octets", operation(0xff),
		 terminates([](Untagged &u) { u.payload.clear(); })},
		{"RFC 5040 4.8: the DDP Segment Length is present with M", operation(0xff), terminates([](Untagged &u) {
			 u.payload = {0x11, 0x00, 0x80, 0x00, 0x00};
		 })},
		{"RFC 5040 4.8: the Terminated DDP Header is present with D", operation(0xff),
		 terminates([](Untagged &u) {
			 u.payload = Octets{0x11, 0x00, 0xc0, 0x00, 0x00, 0x20, 0xc1} + Octets(12);
		 })},
		{"RFC 5040 4.8: the Terminated RDMA Header is present with R", operation(0xff),
		 terminates([](Untagged &u) {
			 u.payload = Octets{0x01, 0x00, 0xe0, 0x00, 0x00, 0x2e} +
				     ReadRequest{}.segment().octets().slice(0, 45);
		 })},
		{"RFC 5041 7.1, 4: a Terminate is no longer than it can be", untagged(5),
		 terminates([](Untagged &u) { u.payload.resize(53); })},
		{"RFC 5041 7.1, 5: the MSN of queue 2 is in the range", untagged(3),
		 terminates([](Untagged &u) { u.msn = 2; })},
		{"RFC 5041 7.1, 3: the MO of queue 2 is in the range", untagged(4),
		 terminates([](Untagged &u) { u.mo = 4; })},
		{"RFC 5040 5.4: a Terminate is one segment: L is not set", operation(0xff),
		 terminates([](Untagged &u) { u.ddp = more_untagged; })},
		{"RFC 5040 5.4: nothing is taken after a Terminate",
		 accepted,
		 Attack{{fpdu(Untagged{.rdmap = op_terminate, .qn = 2, .payload = Octets(4)}), send(4),
			 fpdu(Untagged{.qn = 3, .payload = filler(4)})}},
		 {.event = 1}},
	};
}

} // namespace

std::vector<Row> segment_rows()
{
	std::vector<Row> rows;

	add(rows, framing_rows());
	add(rows, first_rows());
	add(rows, tagged_rows());
	add(rows, untagged_rows());
	add(rows, control_rows());
	add(rows, read_request_rows());
	add(rows, read_response_rows());
	add(rows, invalidate_rows());
	add(rows, terminate_rows());
	add(rows, closing_rows());
	return rows;
}

} // namespace hostile
