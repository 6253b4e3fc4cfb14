// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What a receiver checks of RDMA Writes, Read Requests and Read Responses.
#include "rows.hh"

namespace rdmatcp_attacks {
namespace {

template <class Change> auto two_writes(Change change)
{
	return [=](const Scene &s) -> Bytes {
		Segment one = s.write("both", 0, 8), two = s.write("both", 8, 8);

		one.rdma_length = two.rdma_length = 16;
		one.bits = begin_bit;
		two.bits = end_bit;
		return Bytes(one) + changed(two, change);
	};
}

template <class Change> auto a_read(const char *name, u64 offset, u32 len, Change change)
{
	return [=](const Scene &s) -> Bytes { return changed(s.read(name, offset, len), change); };
}

template <class Change> auto a_response(size_t len, Change change)
{
	return [=](const Scene &s) -> Bytes { return changed(s.response(0, len), change); };
}

} // namespace

std::vector<Row> write_rows()
{
	return {
		{"a Write lands", nullptr, a_write("both", 0, 8, nothing), {}, 0, 0, 8},
		{"a Write of no octets is not checked against a buffer", nullptr,
		 a_write("both", 0, 0, [](Segment &s) { s.id = 0xdeadbe00; })},
		{"4: Writes of several segments",
		 nullptr,
		 two_writes([](Segment &s) { s.data = payload(16).slice(8, 8); }),
		 {},
		 0,
		 0,
		 16},
		{"the buffer exists: never given out", "buffer_id",
		 a_write("both", 0, 8, [](Segment &s) { s.id = 0xdeadbe00; })},
		{"the buffer exists: right but for its key", "buffer_id",
		 a_write("both", 0, 8, [](Segment &s) { s.id ^= 1; })},
		{"the buffer exists: given back", "buffer_id", a_write("stale", 0, 8, nothing)},
		{"the buffer is the peer's: of another protection domain", "access",
		 a_write("foreign", 0, 8, nothing)},
		{"the buffer allows Writes: for remote reads only", "access",
		 a_write("read-only", 0, 8, nothing)},
		{"the buffer allows Writes: for nobody remote", "access",
		 a_write("private", 0, 8, nothing)},
		{"in bounds: one below", "bounds", a_write("both", ~u64{0}, 8, nothing)},
		{"in bounds: 4 GiB below", "bounds",
		 a_write("both", 0 - (u64{1} << 32), 8, nothing)},
		{"in bounds: 4 GiB above", "bounds", a_write("both", u64{1} << 32, 8, nothing)},
		{"in bounds: the offset wraps", "bounds",
		 a_write("both", 0, 8,
			 [](Segment &s) {
				 s.offset = ~u32{0} - 3;
				 s.control = control(upper_flag, be32(~u32{0}));
			 })},
		{"in bounds: one above", "bounds",
		 [](const Scene &s) -> Bytes {
			 return s.write("both", s.regions.at("both").length - 7, 8);
		 }},
		{"3.4: the RDMA Length is that of the message: less", "length",
		 a_write("both", 0, 8, [](Segment &s) { s.rdma_length = 7; })},
		{"3.4: the RDMA Length is that of the message: more", "length",
		 a_write("both", 0, 8, [](Segment &s) { s.rdma_length = 9; })},
		{"3.4: the RDMA Length is that of the message: all ones", "length",
		 a_write("both", 0, 8, [](Segment &s) { s.rdma_length = ~u32{0}; })},
		{"4: a Write is ended by a segment without payload",
		 nullptr,
		 [](const Scene &s) -> Bytes {
			 Segment one = s.write("both", 0, 8), two = s.write("both", 8, 0);

			 one.bits = begin_bit;
			 two.bits = end_bit;
			 two.rdma_length = 8;
			 return Bytes(one) + two;
		 },
		 {},
		 0,
		 0,
		 8},
		{"3.4: the Buffer ID is constant",
		 "buffer_id",
		 two_writes([](Segment &s) { s.id ^= 1; }),
		 {},
		 0,
		 0,
		 0,
		 8},
		{"3.4: the RDMA Length is repeated",
		 "length",
		 two_writes([](Segment &s) { s.rdma_length++; }),
		 {},
		 0,
		 0,
		 0,
		 8},
		{"3.4: the Buffer Offset is incremented: a gap",
		 "offset",
		 two_writes([](Segment &s) { s.offset++; }),
		 {},
		 0,
		 0,
		 0,
		 8},
		{"3.4: the Buffer Offset is incremented: again",
		 "offset",
		 two_writes([](Segment &s) { s.offset -= 8; }),
		 {},
		 0,
		 0,
		 0,
		 8},
		{"control data: a Write that invalidates", "control",
		 a_write("both", 0, 8,
			 [](Segment &s) {
				 s.control = control(upper_flag | invalidate_flag, be64(1));
			 })},
		{"a Write with Immediate Data needs a receive",
		 "no_buffer",
		 [](const Scene &s) {
			 Bytes out;
			 Segment fifth = s.write("both", 0, 0);

			 for (u32 i = 0; i < 4; i++)
				 out = out + s.send(0, i);
			 fifth.number += 4;
			 fifth.control = control(immediate_flag, be64(1));
			 return out + fifth;
		 },
		 {},
		 4},
	};
}

std::vector<Row> read_rows()
{
	return {
		{"3.3: a Read Request is one segment", "bits",
		 a_read("both", 0, 8, [](Segment &s) { s.bits = begin_bit; })},
		{"3.3: a Read Request has no payload", "length",
		 a_read("both", 0, 8, [](Segment &s) { s.data = payload(4); })},
		{"the source exists", "buffer_id",
		 a_read("both", 0, 8, [](Segment &s) { s.id = 0xdeadbe00; })},
		{"the source allows Reads", "access", a_read("private", 0, 8, nothing)},
		{"the source is the peer's", "access", a_read("foreign", 0, 8, nothing)},
		{"the source is in bounds: a length of 2^32 - 1", "bounds",
		 a_read("both", 0, ~u32{0}, nothing)},
		{"the source is in bounds: one below", "bounds",
		 a_read("both", ~u64{0}, 8, nothing)},
		{"3.4: a Read Response has the number of a Read Request: of none", "number",
		 [](const Scene &s) -> Bytes {
			 Segment out = s.segment(read_response_type);

			 return out;
		 }},
		{"3.4: a Read Response has the number of a Read Request: of the second",
		 "number",
		 [](const Scene &s) -> Bytes { return s.response(1, 16); },
		 {40, 16}},
		{"a Read Response is as long as its Read: shorter",
		 "length",
		 a_response(39, nothing),
		 {40}},
		{"a Read Response is as long as its Read: longer",
		 "bounds",
		 a_response(41, nothing),
		 {40}},
		{"3.4: a Read Response begins with B",
		 "bits",
		 a_response(40, [](Segment &s) { s.bits = end_bit; }),
		 {40}},
		{"3.4: the Data Offset of a Read Response begins with 0",
		 "offset",
		 a_response(40, [](Segment &s) { s.offset = 8; }),
		 {40}},
		{"control data: a Read Response has none",
		 "control",
		 a_response(40, [](Segment &s) { s.control = control(solicited_flag); }),
		 {40}},
	};
}

} // namespace rdmatcp_attacks
