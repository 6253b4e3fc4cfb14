// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What a receiver checks of a DDP Segment (RFC 5041 7.1 and 7.2): tagged, error type 1, and
// untagged, error type 2.
#include "rows.hh"

namespace attacks {

std::vector<Row> tagged_rows()
{
	return {
		{"RFC 5041 7.1: the tagged segment's DDP version is 1: 0", tagged(4),
		 to_both(0xc0)},
		{"RFC 5041 7.1: the tagged segment's DDP version is 1: 2", tagged(4),
		 to_both(0xc2)},
		{"RFC 5041 7.1: the tagged segment's DDP version is 1: 3", tagged(4),
		 to_both(0xc3)},
		{"RFC 5041 4.1: the reserved bits of the DDP control field are not checked",
		 accepted, to_both_lands(0xfd)},
		{"RFC 5041 7.1, 1: the STag is valid: never given out", tagged(0),
		 fpdu(Tagged{.stag = nobody, .data = payload(8)})},
		{"RFC 5041 7.1, 1: the STag is valid: 0", tagged(0),
		 fpdu(Tagged{.data = payload(8)})},
		{"RFC 5041 7.1, 1: the STag is valid: the key of the kernel's own consumers",
		 tagged(0),
		 fpdu(Tagged{.stag = 1, .to = 0xffff888000000000, .data = payload(8)})},
		{"RFC 5041 7.1, 1: the STag is valid: all ones", tagged(0),
		 fpdu(Tagged{.stag = ~u32{0}, .data = payload(8)})},
		{"RFC 5041 7.1, 1: the STag is valid: given back", tagged(0),
		 write_to("stale", 0, 8)},
		{"RFC 5041 7.1, 1: the STag is valid: right but for its key", tagged(0),
		 [](const Scene &s) {
			 Tagged segment = write(s["both"], 0, 8);

			 segment.stag ^= 1;
			 return Attack{{fpdu(segment)}};
		 }},
		{"RFC 5041 7.1, 1: the STag is valid for this stream: of another protection domain",
		 tagged(2), write_to("foreign", 0, 8)},
		{"RFC 5041 7.1, 2: the buffer allows placement: for remote reads only", tagged(0),
		 write_to("read-only", 0, 8)},
		{"RFC 5041 7.1, 2: the buffer allows placement: for nobody remote", tagged(0),
		 write_to("private", 0, 8)},
		{"RFC 5041 7.1, 3: the TO is in the range: one below its base", tagged(1),
		 write_to("both", ~u64{0}, 8)},
		{"RFC 5041 7.1, 3: the TO is in the range: 0", tagged(1),
		 [](const Scene &s) {
			 return Attack{{fpdu(Tagged{.stag = s["both"].stag, .data = payload(8)})}};
		 }},
		{"RFC 5041 7.1, 3: the TO is in the range: at its end", tagged(1),
		 [](const Scene &s) {
			 return Attack{{fpdu(write(s["both"], s["both"].length, 1))}};
		 }},
		{"RFC 5041 7.1, 4: TO and length are in the range: up to its end", accepted,
		 [](const Scene &s) {
			 const Region &both = s["both"];

			 return Attack{{fpdu(write(both, both.length - 8, 8))},
				       the_last,
				       {{both.end() - 8, payload(8)}}};
		 }},
		{"RFC 5041 7.1, 4: TO and length are in the range: one more", tagged(1),
		 [](const Scene &s) {
			 return Attack{{fpdu(write(s["both"], s["both"].length - 8, 9))}};
		 }},
		{"RFC 5041 7.1, 4: each segment is checked, not only the first", tagged(1),
		 [](const Scene &s) {
			 Tagged first = write(s["both"], s["both"].length - 8, 8);

			 first.ddp = more_tagged;
			 return Attack{{fpdu(first), fpdu(write(s["both"], s["both"].length, 1))},
				       1,
				       {{s["both"].end() - 8, payload(8)}}};
		 }},
		{"RFC 5041 7.1, 5: TO and length do not wrap", tagged(3),
		 [](const Scene &s) {
			 return Attack{{fpdu(Tagged{
				 .stag = s["both"].stag, .to = nowhere, .data = payload(8)})}};
		 }},
		{"RFC 5041 7.1, 3: a TO that just does not wrap is out of the range", tagged(1),
		 [](const Scene &s) {
			 return Attack{{fpdu(Tagged{
				 .stag = s["both"].stag, .to = nowhere, .data = payload(3)})}};
		 }},
		{"RFC 5041 5.2: STag and TO of a zero-length message are not checked", accepted,
		 fpdu(Tagged{.stag = nobody, .to = nowhere})},
		{"RFC 5041 5.2: nor those of a zero-length segment inside a message", accepted,
		 [](const Scene &s) {
			 return Attack{
				 {fpdu(Tagged{.ddp = more_tagged, .stag = nobody, .to = nowhere}),
				  to_both(s, 0xc1)},
				 the_last,
				 {{s["both"].to, payload(8)}}};
		 }},
		{"RFC 5041 7.1: subsequent segments are dropped silently", tagged(0),
		 [](const Scene &s) {
			 return Attack{{fpdu(Tagged{.stag = nobody, .data = payload(8)}),
					to_both(s, 0xc1), send(4)},
				       0};
		 }},
		{"RFC 5040 7.1, 4: of two errors the first one is reported", tagged(0),
		 Attack{{fpdu(Tagged{.stag = nobody, .data = payload(8)}),
			 fpdu(Untagged{.qn = 4, .data = payload(8)})},
			0}},
		{"RFC 5041 5.2: a RDMA Write of many segments is placed", accepted,
		 [](const Scene &s) {
			 Attack out;

			 for (u64 at = 0; at < 40; at += 8) {
				 Tagged segment = write(s["both"], at, 8);

				 segment.ddp = at < 32 ? more_tagged : 0xc1;
				 out.fpdus.push_back(fpdu(segment));
				 out.lands.push_back({segment.to, segment.data});
			 }
			 return out;
		 }},
	};
}

std::vector<Row> untagged_rows()
{
	Untagged plain = {.data = payload(4)};

	return {
		{"RFC 5041 7.1: the untagged segment's DDP version is 1: 0", untagged(6),
		 fpdu(with(plain, [](Untagged &u) { u.ddp = 0x40; }))},
		{"RFC 5041 7.1: the untagged segment's DDP version is 1: 2", untagged(6),
		 fpdu(with(plain, [](Untagged &u) { u.ddp = 0x42; }))},
		{"RFC 5041 7.1: the untagged segment's DDP version is 1: 3", untagged(6),
		 fpdu(with(plain, [](Untagged &u) { u.ddp = 0x43; }))},
		{"RFC 5041 7.1, 1: the QN is valid for this stream: 4", untagged(1),
		 fpdu(with(plain, [](Untagged &u) { u.qn = 4; }))},
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
			 return Attack{{send(4), send(4, 2)}, 1, in_receive(s, payload(4))};
		 },
		 {.receives = 1, .delivered = 1}},
		{"RFC 5041 7.1, 5: the MSN is in the range: 0", untagged(3), send(4, 0)},
		{"RFC 5041 7.1, 5: the MSN is in the range: one was left out", untagged(3),
		 send(4, 2)},
		{"RFC 5041 7.1, 5: the MSN is in the range: above all receives", untagged(3),
		 send(4, 5)},
		{"RFC 5041 7.1, 5: the MSN is in the range: far above", untagged(3),
		 send(4, 0x80000001)},
		{"RFC 5041 7.1, 5: the MSN is in the range: had been there",
		 untagged(3),
		 [](const Scene &s) {
			 return Attack{{send(4), send(4)}, 1, in_receive(s, payload(4))};
		 },
		 {.delivered = 1}},
		{"RFC 5041 7.1, 5: the MSN is that of the message in progress", untagged(3),
		 two_segments({.msn = 2, .mo = 32, .data = payload(4)})},
		{"RFC 5041 7.1, 3: the MO is in the range: not 0 at first", untagged(4),
		 fpdu(with(plain, [](Untagged &u) { u.mo = 4; }))},
		{"RFC 5041 7.1, 3: the MO is in the range: beyond the receive", untagged(4),
		 fpdu(with(plain, [](Untagged &u) { u.mo = 64; }))},
		{"RFC 5041 7.1, 3: the MO is in the range: all ones", untagged(4),
		 fpdu(with(plain, [](Untagged &u) { u.mo = ~u32{0}; }))},
		{"RFC 5041 7.1, 3: the MO is in the range: the same once more", untagged(4),
		 two_segments({.mo = 0, .data = payload(32)})},
		{"RFC 5041 7.1, 3: the MO is in the range: with a gap", untagged(4),
		 two_segments({.mo = 33, .data = payload(4)})},
		{"RFC 5041 7.1, 4: length and MO are in the range: one octet too long",
		 untagged(5),
		 send(65),
		 {.refused = 1}},
		{"RFC 5041 7.1, 4: length and MO are in the range: grown one octet too long",
		 untagged(5),
		 two_segments({.mo = 32, .data = payload(33)}),
		 {.refused = 1}},
		{"RFC 5041 7.1, 4: length and MO are in the range: the whole receive",
		 accepted,
		 delivered({.data = payload(64)}),
		 {.delivered = 1}},
		{"RFC 5041 5.2: a Send of two segments is one message",
		 accepted,
		 [](const Scene &s) {
			 return Attack{{fpdu(Untagged{.ddp = more_untagged, .data = payload(32)}),
					fpdu(Untagged{.mo = 32, .data = payload(32, 2)})},
				       the_last,
				       in_receive(s, payload(32) + payload(32, 2))};
		 },
		 {.delivered = 1}},
		{"RFC 5041 4.1: the reserved bits of the DDP control field are not checked "
		 "(untagged)",
		 accepted,
		 delivered({.ddp = 0x7d, .data = payload(4)}),
		 {.delivered = 1}},
		{"RFC 5040 4.1: the Invalidate STag is ignored but where it is valid",
		 accepted,
		 delivered({.inv_stag = 0xffffffff, .data = payload(4)}),
		 {.delivered = 1}},
		{"RFC 5040 5.3: a zero-length Send consumes a receive",
		 accepted,
		 send(0),
		 {.delivered = 1}},
	};
}

} // namespace attacks
