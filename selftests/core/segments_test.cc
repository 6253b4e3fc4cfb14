// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Rules for all segments of a message, of any size and with any MULPDU (RFC 5041 4 and 5), and for
// the MULPDU of any EMSS (RFC 5044 4.5).
#include "sender.hh"

using wire::Bytes;

// mulpdus: one after the other, the last one to the end.
static std::vector<Sent> segments_of(core_tx_msg msg, const std::vector<u32> &mulpdus)
{
	static const Bytes data(1 << 20);
	Sender out;

	while (!msg.done && out.sent.size() < 1000)
		out.send_fpdu(msg, data, mulpdus[std::min(out.sent.size(), mulpdus.size() - 1)]);
	EXPECT_TRUE(msg.done);
	for (Sent &sent : out.sent) // the DDP header: without the MPA length
		sent.header.erase(sent.header.begin(), sent.header.begin() + 2);
	return out.sent;
}

static core_tx_msg full_message(u8 opcode, u32 length)
{
	core_tx_msg msg = message(opcode, length, 0x01020304);

	msg.inv_stag = 0x11121314;
	msg.stag = 0x21222324;
	msg.to = 0x3132333435363738;
	return msg;
}

constexpr u8 all_opcodes[] = {CORE_MSG_WRITE,	 CORE_MSG_READ_RESPONSE, CORE_MSG_SEND,
			      CORE_MSG_SEND_INV, CORE_MSG_SEND_SE,	 CORE_MSG_SEND_SE_INV};

static bool is_tagged(const Sent &sent) { return sent.header[0] & 0x80; }

static u64 number(const Bytes &octets, size_t at, size_t len)
{
	u64 out = 0;

	for (size_t i = at; i < at + len; i++)
		out = out << 8 | octets[i];
	return out;
}

// MO or TO.
static u64 offset_of(const Sent &sent)
{
	return is_tagged(sent) ? number(sent.header, 6, 8) : number(sent.header, 14, 4);
}

// RFC 5041 4.2 and 4.3: the reserved field, the STag, the queue number and the MSN are the same in
// every segment.
TEST(Segmentation, EverySegmentSaysTheSame)
{
	for (u8 opcode : all_opcodes) {
		std::vector<Sent> sent = segments_of(full_message(opcode, 1000), {128});
		size_t same = is_tagged(sent[0]) ? 6 : 14; // octets before TO or MO

		ASSERT_GT(sent.size(), 5u);
		for (const Sent &one : sent) {
			EXPECT_EQ(one.header[0] & ~wire::last, sent[0].header[0] & ~wire::last);
			EXPECT_EQ(Bytes(one.header.begin() + 1, one.header.begin() + same),
				  Bytes(sent[0].header.begin() + 1, sent[0].header.begin() + same));
		}
	}
}

// RFC 5041 4.1, 5.2 and 5.3: MO counts from zero and TO from the first one, both grow by what was
// sent, and the segment with L is the last and has the highest.
TEST(Segmentation, OffsetsOnlyGrow)
{
	for (u8 opcode : all_opcodes)
		for (u32 length : {0u, 1u, 110u, 111u, 5000u}) {
			std::vector<Sent> sent = segments_of(full_message(opcode, length), {128});
			u64 first = is_tagged(sent[0]) ? 0x3132333435363738 : 0, next = first;

			for (const Sent &one : sent) {
				EXPECT_EQ(offset_of(one), next);
				EXPECT_EQ((one.header[0] & wire::last) != 0, &one == &sent.back());
				next += one.payload;
			}
			EXPECT_EQ(next, first + length);
		}
}

// RFC 5041 3: a change of MULPDU does not affect segments sent before, and the next one continues
// where those ended.
TEST(Segmentation, MulpduMayChangeInside)
{
	for (u8 opcode : all_opcodes) {
		const std::vector<u32> mulpdus = {1442, 128, 8942, 200, 1442};
		std::vector<Sent> sent = segments_of(full_message(opcode, 30000), mulpdus);
		u32 next = 0;

		for (size_t i = 0; i < sent.size(); i++) {
			u32 mulpdu = mulpdus[std::min(i, mulpdus.size() - 1)];

			size_t ulpdu = sent[i].header.size() + sent[i].payload;

			EXPECT_EQ(sent[i].offset, next);
			EXPECT_LE(ulpdu, mulpdu);
			EXPECT_TRUE(ulpdu == mulpdu || i + 1 == sent.size())
				<< "smaller than need be";
			next += sent[i].payload;
		}
		EXPECT_EQ(next, 30000u);
	}
}

// RFC 5041 5.2, RFC 5044 4.5: segments of the largest size share TCP segments, and end where a
// cache line of the message does, wherever they begin; of any other they are as large as can be.
TEST(Segmentation, TheLargestEndWithACacheLine)
{
	for (u8 opcode : all_opcodes) {
		const u32 largest = 64768 - (opcode == CORE_MSG_WRITE ||
					     opcode == CORE_MSG_READ_RESPONSE ? 14 : 18);

		for (u32 first : {64768u, 64764u, 1442u, 129u}) {
			std::vector<Sent> sent =
				segments_of(full_message(opcode, 300000), {first, 64768});

			for (size_t i = first == 64768 ? 0 : 1; i + 1 < sent.size(); i++) {
				EXPECT_EQ((sent[i].offset + sent[i].payload) % 64, 0u);
				EXPECT_GT(sent[i].payload + 64, largest);
			}
			if (first == 64764) {
				EXPECT_EQ(sent[0].payload, largest - 4);
			}
		}
	}
}

// RFC 5044 4.5: EMSS less 6 octets, rounded down to a multiple of four, less a marker for each 512
// octets begun; 3: from 128 to 64768; 5.1: so that an FPDU fits its TCP segment.
TEST(Mulpdu, AnyEmss)
{
	for (u32 emss = 0; emss <= 70000; emss++)
		for (bool markers : {false, true}) {
			u32 in_markers = markers ? 4 * ((emss + 511) / 512) : 0;
			int64_t wanted = int64_t{emss} - 6 - emss % 4 - in_markers;
			u32 mulpdu = core_mpa_mulpdu(emss, markers);
			u32 pad = (4 - (2 + mulpdu) % 4) % 4;

			ASSERT_EQ(mulpdu, std::clamp<int64_t>(wanted, 128, 64768)) << emss;
			ASSERT_TRUE(wanted < 128 || 2 + mulpdu + pad + 4 + in_markers <= emss)
				<< emss;
		}
}
