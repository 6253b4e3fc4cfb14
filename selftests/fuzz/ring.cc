// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Slots of send and receive queues, and ring indices, as a hostile user may write them. A request
// that is accepted lies within its slot and its limits, and can be sent: the message's segments are
// whole, in order and not too large.
#include <rdma/srnic-abi.h>

#include "host.hh"

namespace {

// A slot of exactly this size, so that the sanitizer sees reads past its end.
std::unique_ptr<u64[]> make_slot(Input &input, u32 size)
{
	auto slot = std::make_unique<u64[]>(size / 8);
	Bytes octets = input.take(size);

	std::copy(octets.begin(), octets.end(), reinterpret_cast<u8 *>(slot.get()));
	return slot;
}

void require_segments(u8 opcode, u32 length, u32 mulpdu)
{
	core_tx_msg msg{};
	core_fpdu fpdu;
	u32 next = 0;

	core_fpdu_init(&fpdu, false, false);
	msg.opcode = opcode;
	msg.length = length;
	// Long messages: only their last part, where overflows would be.
	if (length > 1 << 20)
		msg.sent = next = length - 1 - length % 5000;
	do {
		u32 expected = core_fpdu_len(&fpdu, &msg, mulpdu), ulpdu, built = 0, payload = 0;
		core_tx_step step;

		core_fpdu_begin(&fpdu, &msg, mulpdu);
		ulpdu = u32{fpdu.bytes[0]} << 8 | fpdu.bytes[1];
		REQUIRE((fpdu.bytes[2] >> 6 & 1) == msg.done);
		do {
			step = core_fpdu_next(&fpdu);
			REQUIRE(step.len || step.payload);
			REQUIRE(!step.payload || step.offset == next);
			next += step.payload;
			payload += step.payload;
			built += step.len + step.payload;
		} while (!step.last);
		REQUIRE(built == expected && built % 4 == 0 && built - ulpdu - 2 - 4 < 4);
		REQUIRE(ulpdu <= mulpdu && payload <= ulpdu);
		REQUIRE(payload || (!length && msg.done));
	} while (!msg.done);
	REQUIRE(next == length);
}

void check_send(Input &input, u32 slot_size, bool kernel, u32 mulpdu)
{
	static const u8 on_the_wire[] = {0, CORE_MSG_WRITE, CORE_MSG_SEND, CORE_MSG_SEND_INV};
	auto slot = make_slot(input, slot_size);
	const auto *wqe = reinterpret_cast<const srnic_send_wqe *>(slot.get());
	const auto *sges = reinterpret_cast<const srnic_sge *>(wqe + 1);
	u32 length = 0xeeeeeeee;
	u64 total = 0;

	if (core_send_wqe_check(wqe, slot_size, kernel, &length) != CORE_WQE_OK)
		return;
	const bool extension = wqe->opcode >= SRNIC_OP_WRITE_IMM &&
			       wqe->opcode <= SRNIC_OP_SWAP + (kernel ? 2 : 0);

	const bool window = wqe->opcode == SRNIC_OP_LOCAL_INV || wqe->opcode == SRNIC_OP_BIND_MW;
	const bool extended = wqe->opcode == SRNIC_OP_FLUSH || wqe->opcode == SRNIC_OP_ATOMIC_WRITE;

	REQUIRE((wqe->opcode >= SRNIC_OP_WRITE && wqe->opcode <= SRNIC_OP_REG_MR) || extension ||
		window || extended);
	REQUIRE(kernel || wqe->opcode <= SRNIC_OP_READ || extension || window || extended);
	REQUIRE(!extended || (!length && !(wqe->flags & SRNIC_WQE_INLINE)));
	REQUIRE(!(wqe->flags & ~15));
	if (wqe->flags & SRNIC_WQE_INLINE) {
		REQUIRE(wqe->opcode < SRNIC_OP_READ || wqe->opcode == SRNIC_OP_WRITE_IMM ||
			wqe->opcode == SRNIC_OP_IMM);
		REQUIRE(!wqe->num_sge);
		REQUIRE(length == wqe->inline_len && length <= SRNIC_MAX_INLINE &&
			sizeof(*wqe) + length <= slot_size);
	} else {
		REQUIRE(wqe->num_sge <= SRNIC_MAX_SGE &&
			sizeof(*wqe) + wqe->num_sge * sizeof(*sges) <= slot_size);
		for (u32 i = 0; i < wqe->num_sge; i++)
			total += sges[i].length;
		REQUIRE(total == length);
	}
	if (wqe->opcode < sizeof(on_the_wire))
		require_segments(on_the_wire[wqe->opcode], length, mulpdu);
}

void check_recv(Input &input, u32 slot_size)
{
	auto slot = make_slot(input, slot_size);
	const auto *wqe = reinterpret_cast<const srnic_recv_wqe *>(slot.get());
	const auto *sges = reinterpret_cast<const srnic_sge *>(wqe + 1);
	u32 room = 0xeeeeeeee;
	u64 total = 0;

	if (core_recv_wqe_check(wqe, slot_size, &room) != CORE_WQE_OK)
		return;
	REQUIRE(wqe->num_sge <= SRNIC_MAX_SGE &&
		sizeof(*wqe) + wqe->num_sge * sizeof(*sges) <= slot_size);
	for (u32 i = 0; i < wqe->num_sge; i++)
		total += sges[i].length;
	REQUIRE(total == room);
}

void check_ring(Input &input)
{
	u32 entries = 1u << input.octet() % 16, taken = input.number(4), prod = input.number(4);
	u32 pending = core_ring_pending(prod, taken, entries);

	REQUIRE(pending <= entries && (pending == 0 || taken + pending == prod));
	REQUIRE(core_ring_pending(taken + entries, taken, entries) == entries);
	REQUIRE(core_ring_pending(taken + entries + 1, taken, entries) == 0);
	REQUIRE(core_ring_pending(taken, taken, entries) == 0);
}

void check_stag(Input &input)
{
	u64 key[2] = {u64{input.number(4)} << 32 | input.number(4),
		      u64{input.number(4)} << 32 | input.number(4)};
	u32 index = input.number(3), stag = core_stag_scramble(index, key);

	REQUIRE(stag < 1u << CORE_STAG_INDEX_BITS && core_stag_unscramble(stag, key) == index);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	Input input{data, size};
	u32 send_size = sizeof(srnic_send_wqe) + 32 * (input.octet() % 9);
	u32 recv_size = sizeof(srnic_recv_wqe) + 32 * (input.octet() % 9);
	u8 flags = input.octet();

	check_ring(input);
	check_stag(input);
	check_send(input, send_size, flags & 1, core_mpa_mulpdu(input.number(2), flags & 2));
	check_recv(input, recv_size);
	return 0;
}
