// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What atomic operations make of a word (RFC 7306 5.1), against the RFC's pseudocode bit by bit:
// exhaustively with 8 bits, at random with 64.
#include <bit>
#include <random>
#include <thread>

#include "rdmap/atomic.hh"
#include "refusal.hh"
#include "send_end.hh"

using namespace srnic;
using namespace wire;

// RFC 7306 5.1.1.
template <class Word> static Word add_by_the_rfc(Word original, Word add, Word mask)
{
	unsigned carry = 0;
	Word result = 0;

	for (unsigned bit = 0; bit < 8 * sizeof(Word); bit++) {
		const Word location = static_cast<Word>(Word{1} << bit);
		unsigned sum = carry + !!(original & location) + !!(add & location);

		carry = sum >> 1;
		if (sum & 1)
			result |= location;
		carry = carry && !(mask & location);
	}
	return result;
}

// RFC 7306 5.1.2.
template <class Word>
static Word swap_by_the_rfc(Word original, Word swap, Word swap_mask, Word compare,
			    Word compare_mask)
{
	Word result = 0;

	for (unsigned bit = 0; bit < 8 * sizeof(Word); bit++) {
		const Word location = static_cast<Word>(Word{1} << bit);

		if (compare_mask & location && (compare ^ original) & location)
			return original;
		result |= (swap_mask & location ? swap : original) & location;
	}
	return result;
}

TEST(FetchAdd, AllOfEightBits)
{
	for (unsigned original = 0; original < 256; original++)
		for (unsigned add = 0; add < 256; add++)
			for (unsigned mask = 0; mask < 256; mask++)
				ASSERT_EQ(masked_sum<u8>(u8(original), u8(add), u8(mask)),
					  add_by_the_rfc<u8>(u8(original), u8(add), u8(mask)))
					<< original << ' ' << add << ' ' << mask;
}

TEST(FetchAdd, SixtyFourBitsAtRandom)
{
	std::mt19937_64 random(1);

	for (int i = 0; i < 100000; i++) {
		u64 original = random(), add = random();
		u64 mask = random() & random() & (i % 3 ? random() : ~0ull);

		ASSERT_EQ(masked_sum(original, add, mask), add_by_the_rfc(original, add, mask));
	}
}

// 5.1.1: "The setting of the Add Mask field to 0x0000000000000000 results in Atomic Add of 64-bit
// Original Remote Data Value and 64-bit Add Data".
TEST(FetchAdd, WithoutMaskIsAdd)
{
	EXPECT_EQ(masked_sum<u64>(~0ull, 1, 0), 0u);
	EXPECT_EQ(masked_sum<u64>(0xffffffff, 1, 0), 0x100000000u);
}

// With each word of 4 bits, the other four operands exhaustively.
TEST(CmpSwap, AllOfFourBits)
{
	for (unsigned all = 0; all < 1u << 20; all++) {
		u8 original = all & 15, swap = all >> 4 & 15, swap_mask = all >> 8 & 15,
		   compare = all >> 12 & 15, compare_mask = all >> 16 & 15;

		ASSERT_EQ(masked_swap<u8>(original, swap, swap_mask, compare, compare_mask),
			  swap_by_the_rfc<u8>(original, swap, swap_mask, compare, compare_mask))
			<< all;
	}
}

TEST(CmpSwap, SixtyFourBitsAtRandom)
{
	std::mt19937_64 random(2);

	for (int i = 0; i < 100000; i++) {
		u64 original = random(), swap = random(), swap_mask = random();
		u64 compare_mask = random();
		u64 compare = i % 2 ? original ^ (random() & ~compare_mask) : random();

		ASSERT_EQ(masked_swap(original, swap, swap_mask, compare, compare_mask),
			  swap_by_the_rfc(original, swap, swap_mask, compare, compare_mask));
	}
}

static u64 execute(u8 code, u64 data, u64 mask, u64 compare, u64 compare_mask, u64 *word)
{
	const core_atomic op = {code, data, mask, compare, compare_mask};

	return core_atomic_execute(&op, word);
}

static void add_one(u64 *word, u64 mask) { execute(CORE_ATOMIC_FETCH_ADD, 1, mask, 0, 0, word); }

// 5.3: threads that do the same to the word at the same time lose nothing, whichever instruction
// that takes.
TEST(AtomicWord, NothingIsLostBetweenThreads)
{
	constexpr u64 each = 100000;

	for (u64 mask : {0ull, 1ull << 63}) {
		alignas(8) u64 word = 0;
		std::vector<std::thread> threads;

		for (int i = 0; i < 4; i++)
			threads.emplace_back([&word, mask] {
				for (u64 n = 0; n < each; n++)
					add_one(&word, mask);
			});
		for (std::thread &thread : threads)
			thread.join();
		EXPECT_EQ(word, 4 * each);
	}
}

TEST(AtomicWord, TheOriginalIsReturned)
{
	alignas(8) u64 word = 10;

	EXPECT_EQ(execute(CORE_ATOMIC_FETCH_ADD, 5, 0, 0, 0, &word), 10u);
	EXPECT_EQ(execute(CORE_ATOMIC_CMP_SWAP, 7, ~0ull, 14, ~0ull, &word), 15u);
	EXPECT_EQ(word, 15u);
	EXPECT_EQ(execute(CORE_ATOMIC_CMP_SWAP, 7, ~0ull, 15, ~0ull, &word), 15u);
	EXPECT_EQ(execute(CORE_ATOMIC_SWAP, 9, 0, 0, 0, &word), 7u);
	EXPECT_EQ(word, 9u);
}

// ---- Requests received ----

constexpr u32 all_rights =
	CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_READ | CORE_ACCESS_REMOTE_ATOMIC;

static void put_word(Stream &s, u32 stag, size_t at, u64 value)
{
	memcpy(s.host.regions[stag].memory.data() + at, &value, sizeof(value));
}

static u64 word_of(Stream &s, u32 stag, size_t at)
{
	u64 value;

	memcpy(&value, s.host.regions[stag].memory.data() + at, sizeof(value));
	return value;
}

static void furnish(Stream &s)
{
	s.host.grant(1, 0x1000, 64, FakeHost::pd, all_rights);
	s.host.grant(2, 0x1000, 64);
	s.host.grant(3, 0x1004, 64, FakeHost::pd, all_rights);
	s.host.read_room = 9;
	put_word(s, 1, 8, 100);
}

// 5.1.1 and 5.2.1: big-endian on the wire, host order in memory; the response waits with the
// identifier of its request.
TEST(AtomicRequest, IsDoneWhenItIsDelivered)
{
	const struct {
		AtomicRequest request;
		u64 result;
	} cases[] = {
		{{.id = 7, .stag = 1, .to = 0x1008, .data = 5}, 105},
		{{.id = 7, .stag = 1, .to = 0x1008, .data = ~0ull}, 99},
		{{.code = 2, .id = 7, .stag = 1, .to = 0x1008, .data = 3, .mask = ~0ull,
		  .compare = 100},
		 3},
		{{.code = 2, .id = 7, .stag = 1, .to = 0x1008, .data = 3, .mask = ~0ull,
		  .compare = 101},
		 100},
	};

	for (const auto &c : cases) {
		Bytes all = fpdu(atomic_request(c.request));
		Stream s;

		furnish(s);
		s.feed_octets(Bytes(all.begin(), all.end() - 1));
		EXPECT_EQ(word_of(s, 1, 8), 100u);
		s.feed({all.back()});
		ASSERT_EQ(s.deliveries, std::vector<Delivery>{{CORE_RX_ATOMIC_REQUEST}});
		EXPECT_EQ(word_of(s, 1, 8), c.result);
		EXPECT_EQ(s.asked().kind, CORE_ASKED_ATOMIC);
		EXPECT_EQ(s.asked().atomic.id, 7u);
		EXPECT_EQ(s.asked().atomic.original, 100u);
		EXPECT_EQ(s.host.atomics_done, 1u);
	}
}

// 5.2: "Atomic Operation Request messages MUST use the same Queue Number as RDMA Read Requests".
TEST(AtomicRequest, CountsAmongReadRequests)
{
	Stream s;

	furnish(s);
	s.feed(fpdu(read_request({.length = 8, .source_stag = 1, .source_to = 0x1000})) +
	       fpdu(atomic_request({.stag = 1, .to = 0x1008, .data = 1}, 2)) +
	       fpdu(read_request({.length = 8, .source_stag = 1, .source_to = 0x1000}, 3)) +
	       fpdu(atomic_request({.stag = 1, .to = 0x1008, .data = 1}, 4)));
	EXPECT_EQ(s.deliveries.size(), 4u);
	EXPECT_EQ(word_of(s, 1, 8), 102u);
}

// 5.4 rule 3: "Atomic Operation Request Messages MUST NOT start processing at the Responder until
// they have been Delivered": not those whose CRC is wrong.
TEST(AtomicRequest, IsNotDoneIfItIsDamaged)
{
	Bytes all = fpdu(atomic_request({.stag = 1, .to = 0x1008, .data = 1}));

	for (size_t bit = 16; bit < all.size() * 8; bit++) {
		Bytes damaged = all;
		Stream s;

		furnish(s);
		damaged[bit / 8] ^= 1 << bit % 8;
		s.feed(damaged);
		EXPECT_EQ(s.host.atomics_done, 0u) << bit;
		EXPECT_EQ(word_of(s, 1, 8), 100u) << bit;
	}
}

// draft-ietf-storm-rdmap-ext-01 5.1.2; RFC 7306 10.1 reserves its code.
TEST(AtomicRequest, SwapIsForThoseWhoAllowIt)
{
	Stream s(true, 0, false, CORE_FIRST_MSN, true);

	furnish(s);
	s.feed(fpdu(atomic_request({.code = 1, .stag = 1, .to = 0x1008, .data = 7})));
	EXPECT_EQ(s.deliveries.size(), 1u);
	EXPECT_EQ(word_of(s, 1, 8), 7u);
	s.feed(fpdu(atomic_request({.code = 3, .stag = 1, .to = 0x1008, .data = 8}, 2)));
	EXPECT_EQ(core_rx_terminate(&s.rx)->code, 6);
	EXPECT_EQ(word_of(s, 1, 8), 7u);
}

// 5.2.1: it is the memory that has to be aligned, not only the TO. What a peer alone can do wrong
// is in shared/attacks.
TEST(AtomicRequest, IsRefusedInMisalignedMemory)
{
	const Bytes bad = fpdu(atomic_request({.stag = 3, .to = 0x1008}));
	Stream s;

	furnish(s);
	put_word(s, 3, 4, 100);
	s.feed_octets(bad);
	expect_refusal(s, operation(7), bad);
	EXPECT_EQ(s.host.atomics_done, 0u);
	EXPECT_EQ(word_of(s, 3, 4), 100u);
}

// 5.2.2 rule 4.
TEST(AtomicRequest, NeedsAPlaceInTheIrd)
{
	Stream s;

	furnish(s);
	s.host.read_room = 0;
	s.feed(fpdu(atomic_request({.stag = 1, .to = 0x1008, .data = 1})));
	EXPECT_EQ(s.deliveries, std::vector<Delivery>{{CORE_RX_ERROR}});
	EXPECT_EQ(s.term().layer << 8 | s.term().etype << 4 | s.term().code, 0x122);
	EXPECT_EQ(s.host.atomics_done, 0u);
}

// ---- Responses received ----

// 5: "the Message Sequence Number (MSN) will be used to locate the corresponding Atomic Operation
// request", and the identifier is that of the request.
TEST(AtomicResponse, CompletesTheOldest)
{
	Stream s;

	s.host.post_atomic(5);
	s.host.post_read(9, 0, 4);
	s.host.post_atomic(6);
	s.feed_octets(fpdu(atomic_response(5, 0x1122334455667788)) +
		      fpdu(Tagged{.rdmap = op_read_response, .stag = 9, .data = payload(4)}) +
		      fpdu(atomic_response(6, 1, 2)));
	ASSERT_EQ(s.deliveries.size(), 3u);
	EXPECT_EQ(s.deliveries[0].event, CORE_RX_ATOMIC_RESPONSE);
	EXPECT_EQ(s.deliveries[0].data, be64(0x1122334455667788));
	EXPECT_EQ(s.deliveries[1].event, CORE_RX_READ_RESPONSE);
	EXPECT_EQ(s.deliveries[2].data, be64(1));
}

// ---- Sent ----

static void set_operands(srnic_send_wqe &wqe, u64 data, u64 mask, u64 compare, u64 compare_mask)
{
	wqe.arg[0] = data;
	wqe.arg[1] = mask;
	wqe.arg[2] = compare;
	wqe.arg[3] = compare_mask;
}

// Figures 2, 4 and 5, A.1.
TEST(SendAtomic, RequestsLookAsTheRfcDrawsThem)
{
	SendEnd end(0, true, 8);

	end.host.random = 0xabcd;
	set_operands(end.post(SRNIC_OP_FETCH_ADD, 8), 5, 0x8000, 99, 99);
	set_operands(end.post(SRNIC_OP_CMP_SWAP, 8), 1, 2, 3, 4);
	set_operands(end.post(SRNIC_OP_SWAP, 8), 6, 99, 99, 99);
	end.send_all();
	ASSERT_EQ(end.out.size(), 3u);
	auto expected = [](u32 msn, const AtomicRequest &r) {
		return Bytes(atomic_request(r, msn));
	};
	EXPECT_EQ(end.out[0].ulpdu, expected(1, {.id = 0xabcd, .stag = 0x500, .to = 0x7000,
						 .data = 5, .mask = 0x8000}));
	EXPECT_EQ(end.out[1].ulpdu,
		  expected(2, {.code = 2, .id = 0xabcd, .stag = 0x500, .to = 0x7000, .data = 1,
			       .mask = 2, .compare = 3, .compare_mask = 4}));
	EXPECT_EQ(end.out[2].ulpdu, expected(3, {.code = 1, .id = 0xabcd, .stag = 0x500,
						 .to = 0x7000, .data = 6, .mask = ~0ull}));
	EXPECT_EQ(end.host.reads.size(), 3u);
	EXPECT_TRUE(end.host.reads[0].sink.atomic);
	EXPECT_EQ(end.host.list_access, CORE_ACCESS_LOCAL_WRITE);
}

// 5.2.2 rules 3 and 8: on queue 3, in the order of the requests, those for reads among them.
TEST(SendAtomic, ResponsesGoOutInTheirOrder)
{
	SendEnd end;

	end.ask_atomic(7, 0x1122334455667788);
	end.ask(10);
	end.ask_atomic(8, 1);
	end.send_all();
	EXPECT_EQ(end.opcodes(), (std::vector<u8>{11, 2, 11}));
	EXPECT_EQ(end.out[0].ulpdu, Bytes(atomic_response(7, 0x1122334455667788, 1)));
	EXPECT_EQ(end.out[2].ulpdu, Bytes(atomic_response(8, 1, 2)));
	EXPECT_EQ(end.host.answered, 3u);
}

// 5.2: ORD and fence are those of reads.
TEST(SendAtomic, WaitsForItsPlaceAmongReads)
{
	SendEnd end; // ORD 2

	end.post(SRNIC_OP_READ, 8);
	end.post(SRNIC_OP_FETCH_ADD, 8);
	end.post(SRNIC_OP_FETCH_ADD, 8);
	end.post(SRNIC_OP_SEND, 0, SRNIC_WQE_FENCE);
	end.send_all();
	EXPECT_EQ(end.opcodes(), (std::vector<u8>{1, 10}));
	end.answer_a_read();
	end.send_all();
	EXPECT_EQ(end.opcodes(), (std::vector<u8>{1, 10, 10}));
	end.answer_a_read();
	end.send_all();
	EXPECT_EQ(end.out.size(), 3u);
	end.answer_a_read();
	end.send_all();
	EXPECT_EQ(end.opcodes(), (std::vector<u8>{1, 10, 10, 3}));
}

TEST(SendAtomic, NeedsRoomForTheOriginal)
{
	SendEnd end;

	end.post(SRNIC_OP_FETCH_ADD, 7);
	end.send_all();
	EXPECT_TRUE(end.out.empty());
	EXPECT_EQ(end.host.completions.at(0).status, SRNIC_WC_LOC_LEN_ERR);
}
