// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What a receiver checks of an FPDU (RFC 5044 4 and 8), and what the first one may be (RFC 5044
// 7.1.2).
#include "rows.hh"

namespace attacks {
namespace {

// Damaged payload may have been placed: only Delivery waits for the CRC.
Build damaged_send(size_t octet, u8 bit = 0x01)
{
	return [=](const Scene &s) {
		return Attack{
			{damaged(send(7), octet, bit)}, the_last, {}, {{s["receive0"].to, 64}}};
	};
}

} // namespace

std::vector<Row> framing_rows()
{
	std::vector<Row> rows = {
		{"RFC 5044 4.4: the CRC is verified: damaged in the CRC field", bad_crc,
		 damaged_send(31)},
		{"RFC 5044 4.4: the CRC is verified: damaged in the payload", bad_crc,
		 damaged_send(20)},
		{"RFC 5044 4.4: the CRC is verified: damaged in the pad", bad_crc,
		 damaged_send(27, 0x80)},
		{"RFC 5044 4.4: the CRC is verified: damaged in a bit of the header that nobody "
		 "looks at",
		 bad_crc, damaged_send(2, 0x04)},
		{"RFC 5044 4.4: the CRC is verified first: damaged in the MSN", bad_crc,
		 damaged_send(15, 0x02)},
		{"RFC 5044 4.4: the CRC is verified first: damaged in the opcode", bad_crc,
		 damaged_send(3, 0x08)},
		{"RFC 5044 4.4: the CRC is verified first: damaged in the QN", bad_crc,
		 damaged_send(8, 0x40)},
		{"RFC 5044 4.4: the CRC is verified first: damaged in an STag", bad_crc,
		 [](const Scene &s) {
			 return Attack{{damaged(fpdu(write(s["both"], 0, 8)), 4, 0x10)}};
		 }},
		{"RFC 5044 4.4: the CRC is verified: of a RDMA Write", bad_crc,
		 [](const Scene &s) {
			 return Attack{{damaged(fpdu(write(s["both"], 0, 8)), 27)},
				       the_last,
				       {},
				       {{s["both"].to, 8}}};
		 }},
		{"RFC 5044 4.4: the CRC is verified: of a RDMA Read Request", bad_crc,
		 [](const Scene &s) {
			 ReadRequest read = {.length = 8,
					     .source_stag = s["both"].stag,
					     .source_to = s["both"].to};

			 return Attack{{damaged(fpdu(read_request(read)), 50)}};
		 }},
		{"RFC 5044 4.4: the CRC is verified: of an empty message", bad_crc,
		 damaged(fpdu(Tagged{}), 17)},
		{"RFC 5044 4.4: the CRC is verified: of a Terminate", bad_crc,
		 damaged(fpdu(Untagged{.rdmap = op_terminate, .qn = 2, .data = Bytes(4)}), 26)},
		{"RFC 5044 8: no FPDU is delivered after the damaged one", bad_crc,
		 [](const Scene &s) {
			 return Attack{
				 {damaged(send(4), 20), send(4)}, 0, {}, {{s["receive0"].to, 64}}};
		 }},
		{"RFC 5044 8: what came before the damaged FPDU is delivered",
		 bad_crc,
		 [](const Scene &s) {
			 return Attack{{send(4), damaged(send(4, 2), 20)},
				       1,
				       in_receive(s, payload(4)),
				       {{s["receive1"].to, 64}}};
		 },
		 {.delivered = 1}},
		{"RFC 5044 4.1: the pad is ignored but for the CRC",
		 accepted,
		 delivered({.data = payload(5)}, 0xa5),
		 {.delivered = 1}},
		{"RFC 5044 4.1: ULPDU_Length 65535 is a length like others", accepted,
		 [](const Scene &s) {
			 return Attack{{fpdu(write(s["both"], 0, 65535 - 14))},
				       the_last,
				       {{s["both"].to, payload(65535 - 14)}}};
		 }},
		{"RFC 5044 4.1: ULPDU_Length 65535 where 4096 octets may be written", tagged(1),
		 write_to("write-only", 0, 65535 - 14)},
		{"RFC 5044 4.1: ULPDU_Length 65535 of a Send",
		 untagged(5),
		 send(65535 - 18),
		 {.refused = 1}},
	};

	// RFC 5041 4.1: a ULPDU has a DDP header. Only MPA's third error code is about the length.
	for (u16 length : {0, 1, 2, 13})
		rows.push_back({"RFC 5044 8, 3: ULPDU_Length " + std::to_string(length) +
					" is no tagged segment's",
				bad_framing, fpdu_that_says(length, Bytes(length, 0xc1))});
	for (u16 length : {14, 17})
		rows.push_back({"RFC 5044 8, 3: ULPDU_Length " + std::to_string(length) +
					" is no untagged segment's",
				bad_framing, fpdu(Bytes(Untagged{}).slice(0, length))});
	return rows;
}

// RFC 5044 7.1.2 rule 4: "MPA Responder mode implementations MUST receive and validate at least one
// FPDU before sending any FPDUs". Initiators may send first; here they attack first as well.
std::vector<Row> first_rows()
{
	return {
		{"RFC 5041 5.2: a RDMA Write that is the first FPDU is written",
		 accepted,
		 [](const Scene &s) {
			 return Attack{{fpdu(write(s["both"], 0, 8))},
				       the_last,
				       {{s["both"].to, payload(8)}}};
		 },
		 {.first = true}},
		{"RFC 5041 7.1: the first FPDU of all is refused like any other",
		 untagged(1),
		 fpdu(Untagged{.qn = 4, .data = payload(4)}),
		 {.first = true}},
	};
}

} // namespace attacks
