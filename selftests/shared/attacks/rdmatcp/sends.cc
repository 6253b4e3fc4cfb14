// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What a receiver checks of each segment, of a Send, and of control data.
#include "rows.hh"

namespace rdmatcp_attacks {
namespace {

// A Send in two segments, the second with a change.
template <class Change> auto two_sends(Change change)
{
	return [=](const Scene &s) -> Bytes {
		Segment one = s.send(8), two = s.send(8);

		one.bits = begin_bit;
		two.bits = end_bit;
		two.offset = 8;
		return Bytes(one) + changed(two, change);
	};
}

auto damaged_send(size_t at)
{
	return [=](const Scene &s) -> Bytes { return wire::damaged(s.send(7), at, 0x10); };
}

} // namespace

std::vector<Row> header_rows()
{
	return {
		{"3.4: Version is 1: 0", "version", a_send(4, [](Segment &s) { s.version = 0; })},
		{"3.4: Version is 1: 2", "version", a_send(4, [](Segment &s) { s.version = 2; })},
		{"3.4: the Connection ID is the connection's", "connection_id",
		 a_send(4, [](Segment &s) { s.connection++; })},
		{"3.4: the Connection ID is the connection's: 0", "connection_id",
		 a_send(4, [](Segment &s) { s.connection = 0; })},
		{"3.4: the Message Number is the next one: one ahead", "number",
		 a_send(4, [](Segment &s) { s.number++; })},
		{"3.4: the Message Number is the next one: again", "number",
		 a_send(4, [](Segment &s) { s.number--; })},
		{"3.4: the first segment has B", "bits",
		 a_send(4, [](Segment &s) { s.bits = end_bit; })},
		{"3.4: the Segment Length has room for the header: 0", "length",
		 a_send(0, [](Segment &s) { s.length_more = -24; })},
		{"3.4: the Segment Length has room for the header: 23", "length",
		 a_send(0, [](Segment &s) { s.length_more = -1; })},
		{"3.4: the Segment Length has room for the header: 31", "length",
		 a_write("both", 0, 0, [](Segment &s) { s.length_more = -1 - 8; })},
		{"3.4: the Segment Length has room for CLEN words", "length",
		 a_send(0,
			[](Segment &s) {
				s.control = control(solicited_flag);
				s.length_more = -1;
			})},
		{"3.4: the CRC covers the header", "crc", damaged_send(18), {}, 0, 0, 0, 8},
		{"3.4: the CRC covers the payload", "crc", damaged_send(25), {}, 0, 0, 0, 8},
		{"3.4: the CRC covers the padding", "crc", damaged_send(31), {}, 0, 0, 0, 8},
		{"3.4: the CRC field", "crc", damaged_send(35), {}, 0, 0, 0, 8},
		{"3.4: reserved bits and padding are not checked",
		 nullptr,
		 a_send(5,
			[](Segment &s) {
				s.reserved = 0x0f;
				s.pad = 0xee;
			}),
		 {},
		 1,
		 0,
		 0,
		 8},
	};
}

std::vector<Row> send_rows()
{
	return {
		{"3.4: a Data Offset begins with 0", "offset",
		 a_send(4, [](Segment &s) { s.offset = 4; })},
		{"3.4: the Data Offset counts the payload: a gap",
		 "offset",
		 two_sends([](Segment &s) { s.offset = 9; }),
		 {},
		 0,
		 0,
		 0,
		 8},
		{"3.4: the Data Offset counts the payload: again",
		 "offset",
		 two_sends([](Segment &s) { s.offset = 0; }),
		 {},
		 0,
		 0,
		 0,
		 8},
		{"4: a message ends before the next begins",
		 "number",
		 two_sends([](Segment &s) {
			 s.number++;
			 s.bits = both_bits;
		 }),
		 {},
		 0,
		 0,
		 0,
		 8},
		{"3.4: B is set once",
		 "bits",
		 two_sends([](Segment &s) { s.bits = both_bits; }),
		 {},
		 0,
		 0,
		 0,
		 8},
		{"3.4: all segments of a message have one type",
		 "bits",
		 [](const Scene &s) -> Bytes {
			 Segment one = s.send(8), two = s.write("both", 0, 8);

			 one.bits = begin_bit;
			 two.bits = end_bit;
			 return Bytes(one) + two;
		 },
		 {},
		 0,
		 0,
		 0,
		 8},
		{"a Send is no longer than its receive",
		 "too_long",
		 a_send(receive_size + 1, nothing),
		 {},
		 0,
		 1},
		{"a Send needs a receive",
		 "no_buffer",
		 [](const Scene &s) {
			 Bytes out;

			 for (u32 i = 0; i < 5; i++)
				 out = out + s.send(0, i);
			 return out;
		 },
		 {},
		 4},
		{"control data: a Send with Immediate Data",
		 nullptr,
		 a_send(4, [](Segment &s) { s.control = control(immediate_flag, be64(1)); }),
		 {},
		 1,
		 0,
		 0,
		 8},
		{"control data: what need not be known is ignored",
		 nullptr,
		 a_send(4, [](Segment &s) { s.control = control(0xff00) + payload(4 * 254); }),
		 {},
		 1,
		 0,
		 0,
		 8},
		{"control data: another version of the binding", "control",
		 a_send(4,
			[](Segment &s) {
				s.control = {2, 0, 0, 0};
			})},
		{"control data: a flag that must be known", "control",
		 a_send(4, [](Segment &s) { s.control = control(0x0020); })},
		{"control data: a word is missing", "control",
		 a_send(4, [](Segment &s) { s.control = control(invalidate_flag); })},
		{"control data: startup in operation", "control",
		 a_send(4, [](Segment &s) { s.control = control(startup_flag, be64(1)); })},
		{"control data: an upper offset of a Send", "control",
		 a_send(4, [](Segment &s) { s.control = control(upper_flag, be32(0)); })},
		{"control data: solicited before the end", "control",
		 a_send(4,
			[](Segment &s) {
				s.bits = begin_bit;
				s.control = control(solicited_flag);
			})},
		{"control data: both invalidate and Immediate Data", "control",
		 a_send(4,
			[](Segment &s) {
				s.control = control(invalidate_flag | immediate_flag,
						    be32(1) + be64(1));
			})},
	};
}

std::vector<Row> all_rows()
{
	std::vector<Row> rows;

	for (auto table : {header_rows, send_rows, write_rows, read_rows})
		for (Row &row : table())
			rows.push_back(std::move(row));
	return rows;
}

} // namespace rdmatcp_attacks
