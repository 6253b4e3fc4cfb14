// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Delivery and its order: no message is delivered, and no Read Request processed, before all of it
// and of the messages before it has arrived (RFC 5041 5.3 and 5.4, RFC 5040 5.5, RFC 5044 6).
#include "stream.hh"

using namespace wire;

// All octets of the message but the last, then that one.
static void expect_delivery_with_the_last_octet(const Bytes &stream, core_rx_event event,
						const std::function<void(FakeHost &)> &prepare)
{
	for (bool pieces : {false, true}) {
		Stream s;
		Bytes all_but_one(stream.begin(), stream.end() - 1);

		prepare(s.host);
		if (pieces)
			s.feed_pieces(all_but_one, 41);
		else
			s.feed_octets(all_but_one);
		EXPECT_TRUE(s.deliveries.empty());
		s.feed({stream.back()});
		ASSERT_EQ(s.deliveries.size(), 1u);
		EXPECT_EQ(s.deliveries[0].event, event);
	}
}

// RFC 5041 5.4: "if and only if" the last segment had L and all of the message was placed; RFC 5044
// 6: of a complete and verified FPDU.
TEST(Delivery, NothingBeforeTheLastOctet)
{
	auto segments = [](auto segment, auto rest) {
		segment.ddp &= ~last;
		return fpdu(segment) + fpdu(rest);
	};
	Tagged response = {.rdmap = op_read_response, .stag = 9, .data = payload(20)};

	expect_delivery_with_the_last_octet(
		segments(Untagged{.data = payload(21)}, Untagged{.mo = 21, .data = payload(10)}),
		CORE_RX_SEND, [](FakeHost &host) { host.post_receive(31); });
	expect_delivery_with_the_last_octet(fpdu(Untagged{}), CORE_RX_SEND,
					    [](FakeHost &host) { host.post_receive(1); });
	expect_delivery_with_the_last_octet(
		segments(
			response,
			Tagged{.rdmap = op_read_response, .stag = 9, .to = 20, .data = payload(3)}),
		CORE_RX_READ_RESPONSE, [](FakeHost &host) { host.post_read(9, 0, 23); });
	expect_delivery_with_the_last_octet(
		segments(Tagged{.stag = 1, .data = payload(5)},
			 Tagged{.stag = 1, .to = 5, .data = payload(5)}),
		CORE_RX_WRITE, [](FakeHost &host) { host.grant(1, 0, 10); });
	expect_delivery_with_the_last_octet(fpdu(read_request({})), CORE_RX_READ_REQUEST,
					    [](FakeHost &host) { host.read_room = 1; });
	expect_delivery_with_the_last_octet(fpdu(terminate(Bytes(4))), CORE_RX_TERMINATE,
					    [](FakeHost &) {});
}

// RFC 5040 5.5, 12 and 17: when a Read Request is delivered, earlier Writes have been placed, and
// its source has not been looked up yet.
TEST(Delivery, ReadRequestSeesWhatWasWritten)
{
	Bytes write = fpdu(Tagged{.stag = 1, .data = payload(100)});
	Bytes request = fpdu(read_request({.length = 100, .source_stag = 2}));
	Stream s;

	s.host.grant(1, 0, 100);
	s.host.read_room = 1;
	s.feed(write);
	unsigned asked = s.host.regions_asked;
	s.feed_octets(Bytes(request.begin(), request.end() - 1));
	EXPECT_EQ(s.host.regions_asked, asked);
	s.host.grant(2, 0, 100); // only when the request is complete
	s.feed({request.back()});
	EXPECT_EQ(s.host.regions_asked, asked + 1);
	EXPECT_EQ(s.deliveries.back(), Delivery{CORE_RX_READ_REQUEST});
	EXPECT_EQ(s.host.regions[1].memory, payload(100));
}

// RFC 5041 5.3: messages of one queue in the order in which they were sent, each once.
TEST(Delivery, SendsInTheirOrderAndOnce)
{
	Stream s;
	Bytes stream;

	for (u32 msn = 1; msn <= 50; msn++) {
		s.host.post_receive(100);
		stream = stream +
			 fpdu(Untagged{.ddp = 0x01, .msn = msn, .data = payload(msn, msn)}) +
			 fpdu(Untagged{.msn = msn, .mo = msn, .data = payload(3, msn + 1)});
	}
	s.feed_pieces(stream, 5041);
	ASSERT_EQ(s.deliveries.size(), 50u);
	for (u32 msn = 1; msn <= 50; msn++)
		EXPECT_EQ(s.deliveries[msn - 1].data, payload(msn, msn) + payload(3, msn + 1))
			<< msn;
	EXPECT_EQ(s.host.receives_taken, 50u);
}
