// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Shared rings (include/uapi/rdma/srnic-abi.h): whatever a user writes into a slot or an index is
// either valid or refused. Slots lie at the very end of their allocation, so that the sanitizer
// sees reads past them.
#include "ring.hh"

static const std::vector<u8> user_opcodes = {
	SRNIC_OP_WRITE,	    SRNIC_OP_SEND,	SRNIC_OP_SEND_INV,     SRNIC_OP_READ,
	SRNIC_OP_WRITE_IMM, SRNIC_OP_IMM,	SRNIC_OP_FETCH_ADD,    SRNIC_OP_CMP_SWAP,
	SRNIC_OP_SWAP,	    SRNIC_OP_FLUSH,	SRNIC_OP_ATOMIC_WRITE, SRNIC_OP_LOCAL_INV,
	SRNIC_OP_BIND_MW};
static const std::vector<u8> kernel_opcodes = {SRNIC_OP_READ_INV, SRNIC_OP_REG_MR,
					       SRNIC_OP_MASKED_FETCH_ADD, SRNIC_OP_MASKED_CMP_SWAP};

template <class Wqe> struct Slot {
	u32 size;
	std::unique_ptr<u64[]> memory;

	explicit Slot(u32 octets) : size(octets), memory(new u64[octets / 8]()) {}
	Wqe *operator->() { return reinterpret_cast<Wqe *>(memory.get()); }
	void sge(u32 index, u32 length)
	{
		reinterpret_cast<srnic_sge *>(reinterpret_cast<u8 *>(memory.get()) +
					      sizeof(Wqe))[index]
			.length = length;
	}
};

struct SendSlot : Slot<srnic_send_wqe> {
	u32 length = 0xdead;

	explicit SendSlot(u8 opcode, u32 octets = 96) : Slot(octets) { (*this)->opcode = opcode; }
	core_wqe_verdict check(bool kernel = false)
	{
		return core_send_wqe_check(operator->(), size, kernel, &length);
	}
};

struct RecvSlot : Slot<srnic_recv_wqe> {
	u32 room = 0xdead;

	explicit RecvSlot(u32 octets) : Slot(octets) {}
	core_wqe_verdict check() { return core_recv_wqe_check(operator->(), size, &room); }
};

TEST(SendWqe, TotalOfTheList)
{
	for (u8 opcode : user_opcodes) {
		SendSlot slot(opcode);

		if (core_operation_of(opcode)->direction == CORE_DIRECTION_NONE)
			continue;
		slot->num_sge = 2;
		slot.sge(0, 1000);
		slot.sge(1, 24);
		EXPECT_EQ(slot.check(), CORE_WQE_OK);
		EXPECT_EQ(slot.length, 1024u);
	}
}

TEST(SendWqe, EmptyListIsEmptyMessage)
{
	for (u8 opcode : user_opcodes) {
		SendSlot slot(opcode, sizeof(srnic_send_wqe));

		EXPECT_EQ(slot.check(), core_operation_of(opcode)->min_sge ? CORE_WQE_BAD_SGE
									   : CORE_WQE_OK);
		EXPECT_EQ(slot.length, 0u);
	}
}

TEST(SendWqe, UnknownOpcodes)
{
	for (u32 opcode = 0; opcode < 256; opcode++) {
		SendSlot slot(static_cast<u8>(opcode));
		bool user = std::count(user_opcodes.begin(), user_opcodes.end(), opcode);
		bool kernel =
			user || std::count(kernel_opcodes.begin(), kernel_opcodes.end(), opcode);

		slot->num_sge = core_operation_of(static_cast<u8>(opcode))->min_sge;
		EXPECT_EQ(slot.check(false), user ? CORE_WQE_OK : CORE_WQE_BAD_OPCODE) << opcode;
		EXPECT_EQ(slot.check(true), kernel ? CORE_WQE_OK : CORE_WQE_BAD_OPCODE) << opcode;
	}
}

TEST(SendWqe, UnknownFlags)
{
	for (u8 flag : {0x10, 0x20, 0x40, 0x80}) {
		SendSlot slot(SRNIC_OP_SEND);

		slot->flags = flag;
		EXPECT_EQ(slot.check(true), CORE_WQE_BAD_OPCODE);
	}
	SendSlot slot(SRNIC_OP_SEND);

	slot->flags = SRNIC_WQE_SIGNALED | SRNIC_WQE_SOLICITED | SRNIC_WQE_FENCE;
	EXPECT_EQ(slot.check(), CORE_WQE_OK);
}

TEST(SendWqe, MoreEntriesThanTheSlotHolds)
{
	for (u32 octets : {64u, 96u, 128u, 320u, 352u}) {
		for (u32 num_sge = 0; num_sge < 256; num_sge++) {
			SendSlot slot(SRNIC_OP_WRITE, octets);
			bool fits = num_sge <= (octets - 64) / 16 && num_sge <= SRNIC_MAX_SGE;

			slot->num_sge = static_cast<u8>(num_sge);
			EXPECT_EQ(slot.check(), fits ? CORE_WQE_OK : CORE_WQE_BAD_SGE)
				<< octets << " " << num_sge;
		}
	}
}

// RFC 5041 5.2: the message length is less than 2^32.
TEST(SendWqe, TotalOfTheListOverflows)
{
	SendSlot slot(SRNIC_OP_SEND);

	slot->num_sge = 2;
	slot.sge(0, 0xffffffff);
	EXPECT_EQ(slot.check(), CORE_WQE_OK);
	EXPECT_EQ(slot.length, 0xffffffff);
	slot.sge(1, 1);
	EXPECT_EQ(slot.check(), CORE_WQE_BAD_LENGTH);
	slot.sge(1, 0xffffffff);
	EXPECT_EQ(slot.check(), CORE_WQE_BAD_LENGTH);
}

TEST(SendWqe, Inline)
{
	for (u8 opcode : {SRNIC_OP_WRITE, SRNIC_OP_SEND, SRNIC_OP_SEND_INV}) {
		SendSlot slot(opcode);

		slot->flags = SRNIC_WQE_INLINE;
		for (u32 len : {0u, 1u, 32u}) {
			slot->inline_len = len;
			EXPECT_EQ(slot.check(), CORE_WQE_OK);
			EXPECT_EQ(slot.length, len);
		}
		for (u32 len : {33u, 256u, 0x80000000u, 0xffffffffu}) {
			slot->inline_len = len;
			EXPECT_EQ(slot.check(), CORE_WQE_BAD_LENGTH);
		}
	}
}

TEST(SendWqe, InlineHasItsOwnLimit)
{
	SendSlot slot(SRNIC_OP_SEND, 1024);

	slot->flags = SRNIC_WQE_INLINE;
	slot->inline_len = SRNIC_MAX_INLINE;
	EXPECT_EQ(slot.check(), CORE_WQE_OK);
	slot->inline_len++;
	EXPECT_EQ(slot.check(), CORE_WQE_BAD_LENGTH);
}

TEST(SendWqe, InlineHasNoList)
{
	SendSlot slot(SRNIC_OP_SEND);

	slot->flags = SRNIC_WQE_INLINE;
	slot->num_sge = 1;
	EXPECT_EQ(slot.check(), CORE_WQE_BAD_SGE);
}

TEST(SendWqe, NothingToReadCanBeInline)
{
	for (u8 opcode : std::vector<u8>{SRNIC_OP_READ, SRNIC_OP_READ_INV, SRNIC_OP_LOCAL_INV,
					 SRNIC_OP_REG_MR, SRNIC_OP_BIND_MW}) {
		SendSlot slot(opcode);

		slot->flags = SRNIC_WQE_INLINE;
		EXPECT_EQ(slot.check(true), CORE_WQE_BAD_OPCODE);
	}
}

TEST(SendWqe, ABindHasNoList)
{
	for (u32 num_sge = 0; num_sge < 4; num_sge++) {
		SendSlot bind(SRNIC_OP_BIND_MW, 320);

		bind->num_sge = static_cast<u8>(num_sge);
		EXPECT_EQ(bind.check(), num_sge == 0 ? CORE_WQE_OK : CORE_WQE_BAD_SGE);
	}
}

TEST(SendWqe, ListsOfKernelOpcodes)
{
	for (u32 num_sge = 0; num_sge < 4; num_sge++) {
		SendSlot read_inv(SRNIC_OP_READ_INV, 320), local_inv(SRNIC_OP_LOCAL_INV, 320),
			reg(SRNIC_OP_REG_MR, 320);

		read_inv->num_sge = local_inv->num_sge = reg->num_sge = static_cast<u8>(num_sge);
		EXPECT_EQ(read_inv.check(true), num_sge == 1 ? CORE_WQE_OK : CORE_WQE_BAD_SGE);
		EXPECT_EQ(local_inv.check(true), num_sge == 0 ? CORE_WQE_OK : CORE_WQE_BAD_SGE);
		EXPECT_EQ(reg.check(true), num_sge == 0 ? CORE_WQE_OK : CORE_WQE_BAD_SGE);
	}
}

// A refused slot has no length that could be used by mistake.
TEST(SendWqe, RefusedMeansZeroLength)
{
	SendSlot slot(0xff);

	EXPECT_NE(slot.check(), CORE_WQE_OK);
	EXPECT_EQ(slot.length, 0u);
}

TEST(SendWqe, AnyOctetsAtAll)
{
	std::mt19937 random(1);

	for (int i = 0; i < 20000; i++) {
		SendSlot slot(0, 64 + 32 * (random() % 10));
		bool kernel = random() % 2;

		for (u32 j = 0; j < slot.size / 8; j++)
			slot.memory[j] = random() % 2 ? random() * 0x100000001ull : random() % 4;
		slot->opcode = static_cast<u8>(random() % 20);
		if (slot.check(kernel) != CORE_WQE_OK)
			continue;
		EXPECT_TRUE(std::count(user_opcodes.begin(), user_opcodes.end(), slot->opcode) ||
			    (kernel && std::count(kernel_opcodes.begin(), kernel_opcodes.end(),
						  slot->opcode)));
		EXPECT_LE(slot->num_sge * 16 +
				  (slot->flags & SRNIC_WQE_INLINE ? slot->inline_len : 0),
			  slot.size - 64);
	}
}

TEST(RecvWqe, RoomOfTheList)
{
	RecvSlot slot(64);

	EXPECT_EQ(slot.check(), CORE_WQE_OK);
	EXPECT_EQ(slot.room, 0u);
	slot->num_sge = 2;
	slot.sge(0, 4096);
	slot.sge(1, 100);
	EXPECT_EQ(slot.check(), CORE_WQE_OK);
	EXPECT_EQ(slot.room, 4196u);
}

TEST(RecvWqe, MoreEntriesThanTheSlotHolds)
{
	for (u32 octets : {32u, 64u, 288u, 320u}) {
		for (u32 num_sge : {0u, 1u, 2u, 3u, 16u, 17u, 18u, 255u, 256u, 0x10000000u,
				    0x10000001u, 0xffffffffu}) {
			RecvSlot slot(octets);
			bool fits = num_sge <= (octets - 32) / 16 && num_sge <= SRNIC_MAX_SGE;

			slot->num_sge = num_sge;
			EXPECT_EQ(slot.check(), fits ? CORE_WQE_OK : CORE_WQE_BAD_SGE)
				<< octets << " " << num_sge;
		}
	}
}

TEST(RecvWqe, RoomOverflows)
{
	RecvSlot slot(64);

	slot->num_sge = 2;
	slot.sge(0, 0xffffffff);
	slot.sge(1, 1);
	EXPECT_EQ(slot.check(), CORE_WQE_BAD_LENGTH);
	EXPECT_EQ(slot.room, 0u);
}

TEST(RingIndex, Pending)
{
	EXPECT_EQ(core_ring_pending(5, 5, 8), 0u);
	EXPECT_EQ(core_ring_pending(6, 5, 8), 1u);
	EXPECT_EQ(core_ring_pending(13, 5, 8), 8u);
	EXPECT_EQ(core_ring_pending(3, 0xfffffffe, 8), 5u);
}

// A hostile index: more than the ring holds, or going backwards.
TEST(RingIndex, HostileProducer)
{
	EXPECT_EQ(core_ring_pending(14, 5, 8), 0u);
	EXPECT_EQ(core_ring_pending(4, 5, 8), 0u);
	EXPECT_EQ(core_ring_pending(0xffffffff, 5, 8), 0u);
	EXPECT_EQ(core_ring_pending(5 + 0x80000000u, 5, 8), 0u);
}

TEST(RingIndex, FreeAndPendingAreTheWholeRing)
{
	for (u32 taken : {0u, 5u, 0xfffffffcu}) {
		for (u32 pending = 0; pending <= 8; pending++) {
			EXPECT_EQ(srnic::ring_pending(taken + pending, taken, 8), pending);
			EXPECT_EQ(srnic::ring_free(taken + pending, taken, 8), 8 - pending);
		}
		EXPECT_EQ(srnic::ring_free(taken + 9, taken, 8), 0u);
	}
}
