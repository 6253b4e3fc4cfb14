// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What RDMAP checks of its control field (RFC 5040 7.2, 2 and 3), and of a Terminate (5.4).
#include "rows.hh"

namespace attacks {
namespace {

Build terminates(auto change)
{
	return fpdu(with(Untagged{.rdmap = op_terminate, .qn = 2, .data = Bytes(4)}, change));
}

} // namespace

std::vector<Row> control_rows()
{
	std::vector<Row> rows = {
		{"RFC 5040 7.2, 3: the RDMAP version is valid: 10b", operation(5),
		 fpdu(Untagged{.rdmap = 0x83, .data = payload(4)})},
		{"RFC 5040 7.2, 3: the RDMAP version is valid: 11b", operation(5),
		 fpdu(Untagged{.rdmap = 0xc3, .data = payload(4)})},
		{"RFC 5040 7.2, 3: the RDMAP version is valid: 10b in a tagged message",
		 operation(5), to_both(0xc1, 0x80)},
		{"RFC 5040 7.2, 3: the RDMAP version is valid: 11b in a tagged message",
		 operation(5), to_both(0xc1, 0xc0)},
		{"RFC 5040 4.1: the RDMAP version 00b is valid as well",
		 accepted,
		 delivered({.rdmap = 0x03, .data = payload(4)}),
		 {.delivered = 1}},
		{"RFC 5040 4.1: the reserved bits of the RDMAP control field are ignored",
		 accepted,
		 delivered({.rdmap = 0x73, .data = payload(4)}),
		 {.delivered = 1}},
		{"RFC 5040 4.1: the reserved bits of the RDMAP control field are ignored (tagged)",
		 accepted, to_both_lands(0xc1, 0x70)},
		{"RFC 5040 figure 4: a Send is not tagged", operation(6), to_both(0xc1, op_send)},
		{"RFC 5040 figure 4: a Read Request is not tagged", operation(6),
		 to_both(0xc1, op_read_request)},
		{"RFC 5040 figure 4: a Terminate is not tagged", operation(6),
		 to_both(0xc1, op_terminate)},
		{"RFC 5040 figure 4: a RDMA Write is not untagged", operation(6),
		 fpdu(Untagged{.rdmap = op_write, .data = payload(4)})},
		{"RFC 5040 figure 4: a Read Response is not untagged", operation(6),
		 fpdu(Untagged{.rdmap = op_read_response, .data = payload(4)})},
		{"RFC 5040 figure 4: a Send is on queue 0, not 1", operation(6),
		 fpdu(Untagged{.qn = 1, .data = payload(28)})},
		{"RFC 5040 figure 4: a Send is on queue 0, not 2", operation(6),
		 fpdu(Untagged{.qn = 2, .data = payload(4)})},
		{"RFC 5040 figure 4: a Send is on queue 0, not 3", operation(6),
		 fpdu(Untagged{.qn = 3, .data = payload(12)})},
		{"RFC 5040 figure 4: a Read Request is on queue 1, not 0", operation(6),
		 fpdu(Untagged{.rdmap = op_read_request, .data = ReadRequest{}})},
		{"RFC 5040 figure 4: a Terminate is on queue 2, not 0", operation(6),
		 fpdu(Untagged{.rdmap = op_terminate, .data = Bytes(4)})},
		{"RFC 5040 4.1: one message has one opcode", operation(6),
		 two_segments({.rdmap = op_send_se, .mo = 32, .data = payload(4)})},
	};

	rows.push_back({"RFC 7306 6.3: Immediate Data have exactly 8 octets: 7", operation(0xff),
			fpdu(Untagged{.rdmap = op_immediate, .data = payload(7)})});
	rows.push_back({"RFC 7306 6.3: Immediate Data have exactly 8 octets: 9", untagged(5),
			fpdu(Untagged{.rdmap = op_immediate_se, .data = payload(9)})});
	rows.push_back({"RFC 7306 figure 2: Immediate Data are on queue 0, not 1", operation(6),
			fpdu(Untagged{.rdmap = op_immediate, .qn = 1, .data = payload(8)})});
	rows.push_back({"RFC 7306 figure 2: Immediate Data are untagged", operation(6),
			to_both(0xc1, op_immediate)});
	for (u8 opcode = 12; opcode < 16; opcode++) {
		std::string name =
			"RFC 5040 7.2, 2: the opcode is valid: " + std::to_string(opcode);
		u8 rdmap = 0x40 | opcode;

		rows.push_back({name + ", untagged", operation(6),
				fpdu(Untagged{.rdmap = rdmap, .data = payload(28)})});
		rows.push_back({name + ", tagged", operation(6), to_both(0xc1, rdmap)});
	}
	return rows;
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
			 u.data = Bytes{0x01, 0x01, 0xe0, 0x00, 0x00, 0x2e} + read_request({});
		 }),
		 {.event = 1}},
		{"RFC 5040 4.8: the reserved bits of a Terminate are ignored",
		 accepted,
		 terminates([](Untagged &u) {
			 u.data = {0x02, 0xff, 0x1f, 0xff};
		 }),
		 {.event = 1}},
		{"RFC 5040 4.8: a Terminate has a control field: 3 octets", operation(0xff),
		 terminates([](Untagged &u) { u.data.pop_back(); })},
		{"RFC 5040 4.8: a Terminate has a control field: 0 octets", operation(0xff),
		 terminates([](Untagged &u) { u.data.clear(); })},
		{"RFC 5040 4.8: the DDP Segment Length is present with M", operation(0xff),
		 terminates([](Untagged &u) {
			 u.data = {0x11, 0x00, 0x80, 0x00, 0x00};
		 })},
		{"RFC 5040 4.8: the Terminated DDP Header is present with D", operation(0xff),
		 terminates([](Untagged &u) {
			 u.data = Bytes{0x11, 0x00, 0xc0, 0x00, 0x00, 0x20, 0xc1} + Bytes(12);
		 })},
		{"RFC 5040 4.8: the Terminated RDMA Header is present with R", operation(0xff),
		 terminates([](Untagged &u) {
			 u.data = Bytes{0x01, 0x00, 0xe0, 0x00, 0x00, 0x2e} +
				  Bytes(read_request({})).slice(0, 45);
		 })},
		{"RFC 5041 7.1, 4: a Terminate is no longer than it can be", untagged(5),
		 terminates([](Untagged &u) { u.data.resize(53); })},
		{"RFC 5041 7.1, 5: the MSN of queue 2 is in the range", untagged(3),
		 terminates([](Untagged &u) { u.msn = 2; })},
		{"RFC 5041 7.1, 3: the MO of queue 2 is in the range", untagged(4),
		 terminates([](Untagged &u) { u.mo = 4; })},
		{"RFC 5040 5.4: a Terminate is one segment: L is not set", operation(0xff),
		 terminates([](Untagged &u) { u.ddp = more_untagged; })},
		{"RFC 5040 5.4: nothing is taken after a Terminate",
		 accepted,
		 Attack{{fpdu(Untagged{.rdmap = op_terminate, .qn = 2, .data = Bytes(4)}), send(4),
			 fpdu(Untagged{.qn = 4, .data = payload(4)})}},
		 {.event = 1}},
	};
}

} // namespace attacks
