// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Flush and Atomic Write of streams with acknowledgements (Documentation/ib.rst, rules 110 to 116).
#include "ib_order.hh"

using wire::Bytes, wire::Tagged, wire::Untagged, wire::be32, wire::be64, wire::payload;

namespace {

constexpr u32 stag = 0x500, unflushed = 0x600, foreign = 0x700, volatile_only = 0x800;
constexpr u32 window = 0x900, of_another_qp = 0xa00;
constexpr u64 base = 0x10000, odd_base = 0x20004;
constexpr u32 flushes = CORE_ACCESS_FLUSH_GLOBAL | CORE_ACCESS_FLUSH_PERSISTENT;
constexpr u32 every_right = CORE_ACCESS_REMOTE_WRITE | flushes;

// An end whose stream has the feature, and regions that the peer may use or not.
struct Extended : IbEnd {
	Extended() : IbEnd(100, true)
	{
		receive.host.grant(stag, base, 4096, FakeHost::pd, every_right);
		receive.host.grant(unflushed, 0, 64, FakeHost::pd, CORE_ACCESS_REMOTE_WRITE);
		receive.host.grant(volatile_only, odd_base, 64, FakeHost::pd,
				   CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_FLUSH_GLOBAL);
		receive.host.grant(foreign, 0, 64, FakeHost::pd + 1, every_right);
		receive.host.bind(window, 0, 64, 0, every_right);
		receive.host.bind(of_another_qp, 0, 64, FakeHost::qpn + 1, every_right);
		receive.host.read_room = 2;
	}
	const Bytes &memory() const { return receive.host.regions.at(stag).memory; }
	srnic_send_wqe &post_flush(u64 length, u64 how, u8 flags = 0)
	{
		srnic_send_wqe &wqe = send.post(SRNIC_OP_FLUSH, 0, flags);

		wqe.arg[0] = length;
		wqe.arg[1] = how;
		return wqe;
	}
	void post_atomic_write(const char *data, u8 flags = 0)
	{
		memcpy(send.post(SRNIC_OP_ATOMIC_WRITE, 0, flags).arg, data, 8);
	}
	const std::vector<PostedSends::Completion> &completions() const
	{
		return send.host.completions;
	}
};

// Rule 110, with MSN 1, for the addresses of SendEnd::post().
Bytes request(u8 rdmap, const Bytes &kind, u64 to, const Bytes &tail)
{
	return Bytes{0x41, rdmap} + be32(0) + be32(5) + be32(1) + be32(0) + kind + be32(0x500) +
	       be64(to) + tail;
}

} // namespace

// ---- sending ----

// 110: the octets of a Flush.
TEST(IbExtended, AFlush)
{
	Extended end;

	end.post_flush(0x123456789, SRNIC_FLUSH_GLOBAL, signaled);
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_EXTENDED});
	EXPECT_EQ(end.last(), request(wire::op_extended | wire::ask, (Bytes{1, 1, 0, 0}), 0x7000,
				      be64(0x123456789)));
}

// 110: of a whole region neither place nor length.
TEST(IbExtended, AFlushOfARegion)
{
	Extended end;

	end.post_flush(99, SRNIC_FLUSH_GLOBAL | SRNIC_FLUSH_PERSISTENT | SRNIC_FLUSH_MR);
	end.sends();
	EXPECT_EQ(end.last(), request(wire::op_extended, (Bytes{1, 3, 1, 0}), 0, be64(0)));
}

// 110: the octets of an Atomic Write are as they lie in memory.
TEST(IbExtended, AnAtomicWrite)
{
	Extended end;

	end.post_atomic_write("12345678");
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_EXTENDED});
	EXPECT_EQ(end.last(), request(wire::op_extended, (Bytes{2, 0, 0, 0}), 0x7000,
				      be64(0x3132333435363738)));
}

// 110: they have MSNs of their own, and are counted with all requests.
TEST(IbExtended, AreNumbered)
{
	Extended end;

	end.send.post(SRNIC_OP_SEND);
	end.post_flush(1, SRNIC_FLUSH_GLOBAL);
	end.send.post(SRNIC_OP_READ, 4);
	end.post_atomic_write("12345678");
	EXPECT_EQ(end.sends(), (Opcodes{CORE_MSG_SEND, CORE_MSG_EXTENDED, CORE_MSG_READ_REQUEST,
					CORE_MSG_EXTENDED}));
	EXPECT_EQ(msn(end.send.out[1]), 1u);
	EXPECT_EQ(msn(end.send.out[2]), 1u);
	EXPECT_EQ(msn(end.send.out[3]), 2u);
	EXPECT_EQ(end.acks.whole, 4u);
}

// 113: they take none of the peer's IRD; a fence holds them as all.
TEST(IbExtended, OnlyAFenceWaitsForReads)
{
	Extended end;

	core_tx_set_ord(&end.send.tx, 1);
	end.send.post(SRNIC_OP_READ, 4);
	end.post_flush(1, SRNIC_FLUSH_GLOBAL);
	end.post_atomic_write("12345678", SRNIC_WQE_FENCE);
	EXPECT_EQ(end.sends(), (Opcodes{CORE_MSG_READ_REQUEST, CORE_MSG_EXTENDED}));
	end.send.answer_a_read();
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_EXTENDED});
}

// 111: what the peer does not know is refused here, when all before it is acknowledged.
TEST(IbExtended, APeerWithoutThem)
{
	for (u8 opcode : {SRNIC_OP_FLUSH, SRNIC_OP_ATOMIC_WRITE}) {
		IbEnd end;

		end.send.post(SRNIC_OP_SEND);
		end.send.post(opcode).arg[1] = SRNIC_FLUSH_GLOBAL;
		EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_SEND});
		EXPECT_TRUE(end.send.host.completions.empty());
		EXPECT_EQ(end.ack({1}), CORE_RX_ACK);
		EXPECT_EQ(end.sends(), Opcodes{});
		EXPECT_EQ(end.send.host.completions,
			  (std::vector<PostedSends::Completion>{{1, SRNIC_WC_LOC_QP_OP_ERR}}));
		EXPECT_EQ(core_tx_over(&end.send.tx), CORE_OVER_FAILED);
	}
}

// 112: a Flush of no type, or of one that there is not.
TEST(IbExtended, AWildFlushIsNotSent)
{
	for (u64 how : {u64{0}, u64{4}, u64{0x80}, u64{SRNIC_FLUSH_MR}, u64{0x201}, u64{0x301},
			u64{1} << 16 | 1, u64{1} << 63 | 1}) {
		Extended end;

		end.post_flush(1, how);
		EXPECT_EQ(end.sends(), Opcodes{}) << how;
		ASSERT_EQ(end.completions().size(), 1u) << how;
		EXPECT_EQ(end.completions()[0].status, SRNIC_WC_LOC_QP_OP_ERR);
	}
}

// They have no list, and nothing inline.
TEST(IbExtended, AListIsNotSent)
{
	for (u8 opcode : {SRNIC_OP_FLUSH, SRNIC_OP_ATOMIC_WRITE})
		for (bool is_inline : {false, true}) {
			Extended end;
			srnic_send_wqe &wqe = end.send.post(opcode);

			wqe.arg[1] = SRNIC_FLUSH_GLOBAL;
			wqe.num_sge = !is_inline;
			wqe.flags = is_inline ? SRNIC_WQE_INLINE : 0;
			EXPECT_EQ(end.sends(), Opcodes{});
			ASSERT_EQ(end.completions().size(), 1u);
			EXPECT_EQ(end.completions()[0].status, SRNIC_WC_LOC_QP_OP_ERR);
		}
}

// 116: they are sent again behind a request that is, with their MSNs.
TEST(IbExtended, AreSentAgain)
{
	Extended end;
	const auto post = [&] {
		end.send.post(SRNIC_OP_SEND);
		end.post_flush(1, SRNIC_FLUSH_GLOBAL);
		end.post_atomic_write("12345678");
	};
	const Opcodes both{CORE_MSG_SEND, CORE_MSG_EXTENDED, CORE_MSG_EXTENDED};

	end.post_flush(1, SRNIC_FLUSH_GLOBAL);
	end.sends();
	for (int n = 0; n < 3; n++) {
		post();
		EXPECT_EQ(end.sends(), both);
		EXPECT_EQ(msn(end.send.out.back()), 3u);
		EXPECT_EQ(end.last().back(), '8');
		EXPECT_EQ(end.ack({1, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
		end.goes_back();
		core_tx_resume(&end.send.tx);
	}
}

// 116: so are those among Reads and atomic operations, in their order and as often as these.
TEST(IbExtended, AreSentAgainAmongReads)
{
	const Opcodes all{CORE_MSG_SEND,	   CORE_MSG_READ_REQUEST, CORE_MSG_EXTENDED,
			  CORE_MSG_ATOMIC_REQUEST, CORE_MSG_EXTENDED,	  CORE_MSG_SEND};
	Extended end;
	const auto post = [&] {
		end.send.post(SRNIC_OP_SEND);
		end.send.post(SRNIC_OP_READ, 4);
		end.post_atomic_write("12345678");
		end.send.post(SRNIC_OP_FETCH_ADD, 8);
		end.post_flush(1, SRNIC_FLUSH_GLOBAL);
		end.send.post(SRNIC_OP_SEND);
	};

	for (size_t sent = 0; sent < 3 * all.size(); sent += all.size()) {
		post();
		ASSERT_EQ(end.sends(), all);
		EXPECT_EQ(msn(end.send.out[sent + 2]), 1u);
		EXPECT_EQ(msn(end.send.out[sent + 4]), 2u);
		EXPECT_EQ(end.ack({0, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
		EXPECT_EQ(end.goes_back().reads, 2u);
		core_tx_resume(&end.send.tx);
	}
	EXPECT_TRUE(end.completions().empty());
}

// 116: they need no receive, so they cannot lack one.
TEST(IbExtended, AreNeverNotReady)
{
	Extended end;

	end.post_atomic_write("12345678");
	end.sends();
	EXPECT_EQ(end.ack({0, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ERROR);
	EXPECT_EQ(code(end), 0x0210u);
}

// ---- receiving ----

// 114: all eight octets, after the Write before.
TEST(IbExtended, AnAtomicWriteComes)
{
	Extended end;

	EXPECT_EQ(end.comes(Tagged{.stag = stag, .to = base, .data = payload(16)}), CORE_RX_WRITE);
	EXPECT_EQ(end.comes(wire::atomic_write(stag, base + 8, be64(0x0102030405060708))),
		  CORE_RX_EXTENDED);
	EXPECT_EQ(Bytes(end.memory().begin() + 8, end.memory().begin() + 16),
		  be64(0x0102030405060708));
	EXPECT_EQ(Bytes(end.memory().begin(), end.memory().begin() + 8), payload(8));
	EXPECT_EQ(end.acks.received, 2u);
	EXPECT_EQ(end.receive.host.atomics_done, 1u);
}

// 113: a Flush of a range and of a region, even of none of its octets, is acknowledged as done.
TEST(IbExtended, AFlushComes)
{
	Extended end;
	u32 next = 1;

	for (const Bytes &request :
	     {Bytes(wire::flush(stag, base, 4096, 1)), Bytes(wire::flush(stag, base + 4096, 0, 2)),
	      Bytes(wire::extended({.type = 3, .level = 1, .stag = stag, .to = ~0ull}, 3)),
	      Bytes(wire::extended({.stag = volatile_only, .to = odd_base + 1}, 4,
				   wire::op_extended | wire::ask))}) {
		EXPECT_EQ(end.comes(request), CORE_RX_EXTENDED);
		EXPECT_EQ(end.acks.received, next++);
	}
	EXPECT_EQ(end.memory(), Bytes(4096));
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_ACK});
	EXPECT_EQ(delivered(end.send.out.back()), 4u);
}

// 113: the responder has no room for Reads.
TEST(IbExtended, TakeNoRoomForReads)
{
	Extended end;

	end.receive.host.read_room = 0;
	EXPECT_EQ(end.comes(wire::flush(stag, base, 1)), CORE_RX_EXTENDED);
	EXPECT_EQ(end.comes(wire::atomic_write(stag, base, Bytes(8), 2)), CORE_RX_EXTENDED);
	EXPECT_EQ(end.acks.received, 2u);
}

// 115: a window grants writing, as to Writes.
TEST(IbExtended, AnAtomicWriteToAWindow)
{
	Extended end;

	EXPECT_EQ(end.comes(wire::atomic_write(window, 56, Bytes(8, 7))), CORE_RX_EXTENDED);
	EXPECT_EQ(end.receive.host.regions.at(window).memory.back(), 7);
}

// 20, 116: nothing is done while the peer has to go back; and then each once.
TEST(IbExtended, AreDroppedBehindARefusal)
{
	Extended end;
	const Untagged again{};

	EXPECT_EQ(end.comes(again), CORE_RX_REFUSED);
	end.sends();
	EXPECT_EQ(end.comes(wire::atomic_write(stag, base, Bytes(8, 1))), CORE_RX_MORE);
	EXPECT_EQ(end.comes(wire::flush(1, 0, 1, 2)), CORE_RX_MORE);
	EXPECT_EQ(end.memory(), Bytes(4096));
	EXPECT_EQ(end.acks.received, 0u);
	end.receive.host.post_receive(0);
	EXPECT_EQ(end.comes(again), CORE_RX_SEND);
	EXPECT_EQ(end.comes(wire::atomic_write(stag, base, Bytes(8, 1))), CORE_RX_EXTENDED);
	EXPECT_EQ(end.comes(wire::flush(stag, base, 1, 2)), CORE_RX_EXTENDED);
	EXPECT_EQ(end.acks.received, 3u);
	EXPECT_EQ(end.receive.host.atomics_done, 1u);
}

namespace {

struct Refused {
	const char *name;
	u8 syndrome;
	Bytes ulpdu;
	u32 access = every_right;
};

class IbExtendedRefused : public testing::TestWithParam<Refused> {};

} // namespace

// 112, 115: refused with this syndrome, and no more is taken.
TEST_P(IbExtendedRefused, ForGood)
{
	Extended end;

	end.acks.access = static_cast<u16>(GetParam().access);
	EXPECT_EQ(end.comes(GetParam().ulpdu), CORE_RX_REFUSED);
	EXPECT_EQ(end.acks.refusing, GetParam().syndrome);
	EXPECT_EQ(end.acks.received, 0u);
	EXPECT_TRUE(end.receive.over());
	EXPECT_EQ(end.memory(), Bytes(4096));
	EXPECT_EQ(end.receive.host.atomics_done, 0u);
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_ACK});
}

static const Refused refused[] = {
	{"NoCode", CORE_SYNDROME_INVALID, wire::extended({.code = 0, .stag = stag, .to = base})},
	{"UnknownCode", CORE_SYNDROME_INVALID,
	 wire::extended({.code = 3, .stag = stag, .to = base})},
	{"FlushOfNoType", CORE_SYNDROME_INVALID,
	 wire::extended({.type = 0, .stag = stag, .to = base})},
	{"FlushOfAnUnknownType", CORE_SYNDROME_INVALID,
	 wire::extended({.type = 5, .stag = stag, .to = base})},
	{"FlushOfAnUnknownLevel", CORE_SYNDROME_INVALID,
	 wire::extended({.level = 2, .stag = stag, .to = base})},
	{"FlushWithoutItsFlag", CORE_SYNDROME_INVALID, wire::flush(stag, base, 1),
	 CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_FLUSH_PERSISTENT},
	{"PersistenceWithoutItsFlag", CORE_SYNDROME_INVALID,
	 wire::extended({.type = 3, .stag = stag, .to = base}), CORE_ACCESS_FLUSH_GLOBAL},
	{"AtomicWriteWithoutItsFlag", CORE_SYNDROME_INVALID,
	 wire::atomic_write(stag, base, Bytes(8)), flushes},
	{"AtomicWriteThatIsNotAligned", CORE_SYNDROME_INVALID,
	 wire::atomic_write(stag, base + 4, Bytes(8))},
	{"AtomicWriteToNoRegionThatIsNotAligned", CORE_SYNDROME_INVALID,
	 wire::atomic_write(1, base + 1, Bytes(8))},
	{"AtomicWriteThatIsNotAlignedInMemory", CORE_SYNDROME_INVALID,
	 wire::atomic_write(volatile_only, odd_base + 4, Bytes(8))},
	{"FlushOfNoRegion", CORE_SYNDROME_ACCESS, wire::flush(1, base, 1)},
	{"FlushOfNothingOfNoRegion", CORE_SYNDROME_ACCESS, wire::flush(1, base, 0)},
	{"FlushOfAllOfNoRegion", CORE_SYNDROME_ACCESS, wire::extended({.level = 1, .stag = 1})},
	{"FlushBeforeItsRegion", CORE_SYNDROME_ACCESS, wire::flush(stag, base - 1, 1)},
	{"FlushBeyondItsRegion", CORE_SYNDROME_ACCESS, wire::flush(stag, base + 1, 4096)},
	{"FlushOfNothingBeyondItsRegion", CORE_SYNDROME_ACCESS, wire::flush(stag, base + 4097, 0)},
	{"FlushOfEverything", CORE_SYNDROME_ACCESS, wire::flush(stag, base, ~0ull)},
	{"FlushThatWraps", CORE_SYNDROME_ACCESS, wire::flush(stag, ~0ull, 2)},
	{"FlushWithoutARight", CORE_SYNDROME_ACCESS, wire::flush(unflushed, 0, 1)},
	{"PersistenceWithoutARight", CORE_SYNDROME_ACCESS,
	 wire::extended({.type = 2, .stag = volatile_only, .to = odd_base})},
	{"BothWithoutOneRight", CORE_SYNDROME_ACCESS,
	 wire::extended({.type = 3, .level = 1, .stag = volatile_only})},
	{"FlushOfAnotherDomain", CORE_SYNDROME_ACCESS, wire::flush(foreign, 0, 1)},
	{"FlushOfAWindow", CORE_SYNDROME_ACCESS, wire::flush(window, 0, 1)},
	{"FlushOfAllOfAWindow", CORE_SYNDROME_ACCESS, wire::extended({.level = 1, .stag = window})},
	{"AtomicWriteToNoRegion", CORE_SYNDROME_ACCESS, wire::atomic_write(1, base, Bytes(8))},
	{"AtomicWriteBeyondItsRegion", CORE_SYNDROME_ACCESS,
	 wire::atomic_write(stag, base + 4096, Bytes(8))},
	{"AtomicWriteThatWraps", CORE_SYNDROME_ACCESS, wire::atomic_write(stag, ~7ull, Bytes(8))},
	{"AtomicWriteToAWindowOfAnotherQp", CORE_SYNDROME_ACCESS,
	 wire::atomic_write(of_another_qp, 0, Bytes(8))},
	{"AtomicWriteToAnotherDomain", CORE_SYNDROME_ACCESS,
	 wire::atomic_write(foreign, 0, Bytes(8))},
};

INSTANTIATE_TEST_SUITE_P(Each, IbExtendedRefused, testing::ValuesIn(refused),
			 [](const auto &one) { return one.param.name; });

// 112: a right to write is not one to flush, and the other way round.
TEST(IbExtended, AnAtomicWriteNeedsTheRightToWrite)
{
	Extended end;

	end.receive.host.grant(stag, base, 64, FakeHost::pd, flushes);
	EXPECT_EQ(end.comes(wire::atomic_write(stag, base, Bytes(8))), CORE_RX_REFUSED);
	EXPECT_EQ(end.acks.refusing, CORE_SYNDROME_ACCESS);
}

// 25: not before the CRC is good.
TEST(IbExtended, NothingIsDoneBeforeTheCrcIsGood)
{
	Extended end;
	Bytes fpdu = wire::fpdu(wire::atomic_write(stag, base, Bytes(8, 1)));

	fpdu.back() ^= 1;
	EXPECT_EQ(end.receive.feed_fpdu(fpdu), CORE_RX_ERROR);
	EXPECT_EQ(end.memory(), Bytes(4096));
}

namespace {

class IbExtendedOrder : public IbOrders {};

Bytes with_ddp(Untagged ulpdu, u8 ddp, u32 mo = 0)
{
	ulpdu.ddp = ddp;
	ulpdu.mo = mo;
	return ulpdu;
}

Bytes on_queue(u32 qn)
{
	Untagged it = wire::flush(stag, base, 1);

	it.qn = qn;
	return it;
}

} // namespace

// 110: what breaks the format or the order of requests ends the stream.
TEST_P(IbExtendedOrder, IsKept) { end_the_stream<Extended>(); }

static const Order orders[] = {
	{"Long", 0x1205, {Bytes(wire::flush(stag, base, 1)) + Bytes{0}}},
	{"Short", 0x02ff, {wire::atomic_write(stag, base, Bytes(7))}},
	{"Empty", 0x02ff, {Untagged{.rdmap = wire::op_extended, .qn = 5}}},
	{"InTwoSegments", 0x02ff, {with_ddp(wire::flush(stag, base, 1), 0x01)}},
	{"WithAnOffset", 0x1204, {with_ddp(wire::flush(stag, base, 1), 0x41, 1)}},
	{"OutOfOrder", 0x1203, {wire::flush(stag, base, 1, 2)}},
	{"Again", 0x1203, {wire::flush(stag, base, 1), wire::flush(stag, base, 1)}},
	{"OnTheQueueOfSends", 0x0206, {on_queue(0)}},
	{"OnTheQueueOfReads", 0x0206, {on_queue(1)}},
	{"OnTheQueueOfAcks", 0x0206, {on_queue(4)}},
	{"OnAQueueThatThereIsNot", 0x1201, {on_queue(6)}},
	{"ASendOnItsQueue", 0x0206, {Untagged{.qn = 5}}},
	{"Tagged", 0x0206, {Tagged{.rdmap = wire::op_extended, .stag = stag}}},
	{"InsideAWrite",
	 0x0206,
	 {Tagged{.ddp = wire::more_tagged, .stag = stag, .to = base, .data = payload(4)},
	  wire::atomic_write(stag, base, Bytes(8))}},
	{"InsideASend",
	 0x0206,
	 {with_ddp({.data = payload(1)}, wire::more_untagged), wire::flush(stag, base, 1)}},
	{"BeforeTheImmediateData",
	 0x0206,
	 {Tagged{.rdmap = wire::op_write | wire::more, .stag = stag, .to = base},
	  wire::flush(stag, base, 1)}},
};

INSTANTIATE_TEST_SUITE_P(Each, IbExtendedOrder, testing::ValuesIn(orders),
			 [](const auto &one) { return one.param.name; });

// 111: where the feature is not agreed there is neither the opcode nor the queue.
TEST(IbExtended, AStreamWithoutThem)
{
	IbEnd queue, opcode;
	Untagged it = wire::flush(stag, base, 1);

	EXPECT_EQ(queue.comes(it), CORE_RX_ERROR);
	EXPECT_EQ(code(queue), 0x1201u);
	it.qn = 0;
	EXPECT_EQ(opcode.comes(it), CORE_RX_ERROR);
	EXPECT_EQ(code(opcode), 0x0206u);
}
