// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA Read Requests (RFC 5040 5.2.1 and 7.2), and Read Responses (RFC 5040 5.2.2).
#include "rows.hh"

namespace attacks {
namespace {

Build read_of(const char *name, u64 offset, u32 length)
{
	return [=](const Scene &s) {
		ReadRequest read = {.length = length,
				    .source_stag = s[name].stag,
				    .source_to = s[name].to + offset};

		return Attack{{fpdu(read_request(read))}};
	};
}

Build read_at_end(u64 before_end, u32 length)
{
	return [=](const Scene &s) {
		const Region &both = s["both"];
		ReadRequest read = {.length = length,
				    .source_stag = both.stag,
				    .source_to = both.end() - before_end};

		return Attack{{fpdu(read_request(read))}};
	};
}

Build request(auto change)
{
	return [=](const Scene &s) {
		ReadRequest read = {
			.length = 8, .source_stag = s["both"].stag, .source_to = s["both"].to};

		return Attack{{fpdu(with(read_request(read), change))}};
	};
}

Bytes empty_response(u32 stag, u64 to)
{
	return fpdu(Tagged{.rdmap = op_read_response, .stag = stag, .to = to});
}

// One Read Request more than the negotiated IRD, while the victim cannot answer because our window
// is closed.
Attack beyond_ird(const Scene &s)
{
	Attack out;

	for (u32 msn = 1; msn <= 5; msn++) {
		ReadRequest read = {.length = static_cast<u32>(s["both"].length),
				    .source_stag = s["both"].stag,
				    .source_to = s["both"].to};
		out.fpdus.push_back(fpdu(read_request(read, msn)));
	}
	return out;
}

// ---- Read Responses: the victim reads 64 octets ----

Tagged response(const Scene &s, u64 offset, size_t len, u8 ddp = 0xc1)
{
	return {.ddp = ddp,
		.rdmap = op_read_response,
		.stag = s.reads.at(0).stag,
		.to = s.reads.at(0).to + offset,
		.data = payload(len)};
}

Build responds(u64 offset, size_t len, u8 ddp = 0xc1)
{
	return [=](const Scene &s) { return Attack{{fpdu(response(s, offset, len, ddp))}}; };
}

// The first 32 octets are right, the rest is not.
Build then_responds(u64 offset, size_t len, u8 ddp = 0xc1)
{
	return [=](const Scene &s) {
		return Attack{{fpdu(response(s, 0, 32, more_tagged)),
			       fpdu(response(s, offset, len, ddp))},
			      1,
			      {},
			      {{s["sink"].to, 64}}};
	};
}

} // namespace

std::vector<Row> read_request_rows()
{
	std::vector<Row> rows = {
		{"RFC 5040 4.4: a Read Request has 28 octets: 27", operation(0xff),
		 request([](Untagged &u) { u.data.pop_back(); })},
		{"RFC 5040 4.4: a Read Request has 28 octets: 0", operation(0xff),
		 request([](Untagged &u) { u.data.clear(); })},
		{"RFC 5040 4.4: a Read Request has 28 octets: 29", untagged(5),
		 request([](Untagged &u) { u.data.push_back(0); })},
		{"RFC 5040 4.4: a Read Request has 28 octets: 1400", untagged(5),
		 request([](Untagged &u) { u.data = payload(1400); })},
		{"RFC 5040 5.2.1: a Read Request is one segment: L is not set", operation(0xff),
		 request([](Untagged &u) { u.ddp = more_untagged; })},
		{"RFC 5041 7.1, 5: the MSN of queue 1 is in the range: 0", untagged(3),
		 request([](Untagged &u) { u.msn = 0; })},
		{"RFC 5041 7.1, 5: the MSN of queue 1 is in the range: one was left out",
		 untagged(3), request([](Untagged &u) { u.msn = 2; })},
		{"RFC 5041 7.1, 3: the MO of queue 1 is in the range", untagged(4),
		 request([](Untagged &u) { u.mo = 28; })},
		{"RFC 5040 7.2, 4a: the source STag is valid: never given out", protection(0),
		 fpdu(read_request({.length = 8, .source_stag = nobody}))},
		{"RFC 5040 7.2, 4a: the source STag is valid: given back", protection(0),
		 read_of("stale", 0, 8)},
		{"RFC 5040 7.2, 4b: the source STag is associated to the stream", protection(3),
		 read_of("foreign", 0, 8)},
		{"RFC 5040 figure 9: the source may be read: for remote writes only", protection(2),
		 read_of("write-only", 0, 8)},
		{"RFC 5040 figure 9: the source may be read: for nobody remote", protection(2),
		 read_of("private", 0, 8)},
		{"RFC 5040 7.2, 4c: the source TO is in the range: one below its base",
		 protection(1), read_of("both", ~u64{0}, 8)},
		{"RFC 5040 7.2, 4c: the source TO is in the range: at its end", protection(1),
		 read_at_end(0, 1)},
		{"RFC 5040 7.2, 4d: source TO and size are in the range: one more", protection(1),
		 read_at_end(8, 9)},
		{"RFC 5040 7.2, 4d: source TO and size are in the range: all ones", protection(1),
		 read_of("both", 0, ~u32{0})},
		{"RFC 5040 7.2, 4e: source TO and size do not wrap", protection(4),
		 [](const Scene &s) {
			 ReadRequest read = {
				 .length = 8, .source_stag = s["both"].stag, .source_to = nowhere};

			 return Attack{{fpdu(read_request(read))}};
		 }},
		{"RFC 5040 5.2.1: STag and TO of a zero-length read are not validated", accepted,
		 Attack{{fpdu(read_request({.source_stag = nobody, .source_to = nowhere}))},
			the_last,
			{},
			{},
			empty_response(0x5151, 0x1000)}},
		{"RFC 5041 7.1, 2: as many Read Requests as the IRD have a buffer, and no more",
		 untagged(2),
		 beyond_ird,
		 {.responses = true, .window = 4096}},
	};
	Bytes source = payload(8, 7);

	rows.push_back({"RFC 5040 5.5, 12: what was written can be read back", accepted,
			[source](const Scene &s) {
				const Region &both = s["both"];
				ReadRequest read = {.length = 8,
						    .source_stag = both.stag,
						    .source_to = both.end() - 8};
				Bytes response = fpdu(Tagged{.rdmap = op_read_response,
							     .stag = 0x5151,
							     .to = 0x1000,
							     .data = source});

				return Attack{{fpdu(Tagged{.stag = both.stag,
							   .to = both.end() - 8,
							   .data = source}),
					       fpdu(read_request(read))},
					      the_last,
					      {{both.end() - 8, source}},
					      {},
					      response};
			}});
	return rows;
}

std::vector<Row> read_response_rows()
{
	More reading = {.reads = {64}};

	return {
		{"RFC 5040 5.2: a Read Response answers a Read Request", tagged(0),
		 fpdu(Tagged{.rdmap = op_read_response, .stag = 1, .data = payload(8)})},
		{"RFC 5040 5.2: a Read Response answers a Read Request: to memory that may be "
		 "written",
		 tagged(0), to_both(0xc1, op_read_response)},
		{"RFC 5040 5.2: a Read Response answers a Read Request: an empty one", operation(6),
		 empty_response(1, 0)},
		{"RFC 5040 5.2.2: the sink STag is the request's", tagged(0),
		 [](const Scene &s) {
			 Tagged segment = response(s, 0, 64);

			 segment.stag ^= 0x100;
			 return Attack{{fpdu(segment)}};
		 },
		 reading},
		{"RFC 5040 5.2.2: the sink STag is the request's, and not one that may be written",
		 tagged(0),
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
		{"RFC 5040 5.2.2: the sink TO is the request's: above it", tagged(1),
		 responds(1, 63), reading},
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
		{"RFC 5040 5.2.2: the length is the request's: one octet too long", tagged(1),
		 responds(0, 65), reading},
		{"RFC 5040 5.2.2: the length is the request's: grown too long", tagged(1),
		 then_responds(32, 33), reading},
		{"RFC 5040 5.2.2: the octets come in their order: the same once more", tagged(1),
		 then_responds(0, 32), reading},
		{"RFC 5040 5.2.2: the octets come in their order: with a gap", tagged(1),
		 then_responds(33, 31), reading},
		{"RFC 5040 5.2.2: the response ends with the last octet: L is set too early",
		 operation(0xff), responds(0, 63), reading},
		{"RFC 5040 5.2.2: the response ends with the last octet: L is set in an empty one",
		 operation(0xff), responds(0, 0), reading},
		{"RFC 5040 5.2.2: the response ends with the last octet: L is never set",
		 operation(0xff), responds(0, 64, more_tagged), reading},
		{"RFC 5040 5.2.2: the response ends with the last octet: L is set too early in the "
		 "second segment",
		 operation(0xff), then_responds(32, 31), reading},
		{"RFC 5040 5.2.2: a read is answered once",
		 tagged(0),
		 [](const Scene &s) {
			 return Attack{{fpdu(response(s, 0, 64)), fpdu(response(s, 0, 64))},
				       1,
				       {{s["sink"].to, payload(64)}}};
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
			 Bytes half = payload(32);

			 return Attack{{fpdu(response(s, 0, 32, more_tagged)), send(4),
					to_both(s, 0xc1), fpdu(response(s, 32, 32))},
				       the_last,
				       {{s["sink"].to, half + half},
					{s["receive0"].to, payload(4)},
					{s["both"].to, payload(8)}}};
		 },
		 {.reads = {64}, .delivered = 1, .reads_done = 1}},
		{"RFC 5040 5.4: a read that a Terminate overtakes is flushed",
		 accepted,
		 [](const Scene &s) {
			 return Attack{
				 {fpdu(response(s, 0, 32, more_tagged)),
				  fpdu(Untagged{.rdmap = op_terminate, .qn = 2, .data = Bytes(4)})},
				 the_last,
				 {},
				 {{s["sink"].to, 64}}};
		 },
		 {.reads = {64}, .event = 1}},
	};
}

} // namespace attacks
