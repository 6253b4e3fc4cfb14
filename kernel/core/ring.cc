// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Checks of what a user wrote into a shared ring (include/uapi/rdma/srnic-abi.h). They get a
// private copy of a slot, never the ring itself.
#include "operations.hh"
#include "ring.hh"

namespace srnic {
namespace {

constexpr u32 known_flags =
	SRNIC_WQE_SIGNALED | SRNIC_WQE_SOLICITED | SRNIC_WQE_INLINE | SRNIC_WQE_FENCE;

constexpr bool allowed(const srnic_send_wqe &wqe, const core_operation &rule, bool kernel)
{
	bool is_inline = wqe.flags & SRNIC_WQE_INLINE;

	return rule.known && (kernel || !rule.kernel_only) && (!is_inline || rule.may_inline) &&
	       !(wqe.flags & ~known_flags);
}

constexpr u32 room_behind(u32 head, u32 slot_size)
{
	return slot_size > head ? slot_size - head : 0;
}

core_wqe_verdict check_inline(const srnic_send_wqe &wqe, u32 room, u32 &length)
{
	if (wqe.num_sge)
		return CORE_WQE_BAD_SGE;
	if (wqe.inline_len > min(room, u32{SRNIC_MAX_INLINE}))
		return CORE_WQE_BAD_LENGTH;
	length = wqe.inline_len;
	return CORE_WQE_OK;
}

// The list follows the slot's head; room: bytes of the slot that are left for it.
core_wqe_verdict check_sges(const srnic_sge *sges, u32 num_sge, u32 room, u32 &length)
{
	u64 total = 0;

	if (num_sge > min(room / u32{sizeof(srnic_sge)}, u32{SRNIC_MAX_SGE}))
		return CORE_WQE_BAD_SGE;
	for (u32 i = 0; i < num_sge; i++)
		total += sges[i].length;
	if (total > 0xffffffff) // RFC 5041 5.2: the ULP Message Length is less than 2^32
		return CORE_WQE_BAD_LENGTH;
	length = static_cast<u32>(total);
	return CORE_WQE_OK;
}

template <class Wqe> const srnic_sge *sges_of(const Wqe *wqe)
{
	return reinterpret_cast<const srnic_sge *>(wqe + 1);
}

} // namespace
} // namespace srnic

using namespace srnic;

enum core_wqe_verdict core_send_wqe_check(const struct srnic_send_wqe *wqe, u32 slot_size,
					  bool kernel, u32 *length)
{
	const core_operation &rule = operation(wqe->opcode);
	u32 room = room_behind(sizeof(*wqe), slot_size);

	*length = 0;
	if (!allowed(*wqe, rule, kernel))
		return CORE_WQE_BAD_OPCODE;
	if (wqe->flags & SRNIC_WQE_INLINE)
		return check_inline(*wqe, room, *length);
	if (wqe->num_sge < rule.min_sge || wqe->num_sge > rule.max_sge)
		return CORE_WQE_BAD_SGE;
	return check_sges(sges_of(wqe), wqe->num_sge, room, *length);
}

enum core_wqe_verdict core_recv_wqe_check(const struct srnic_recv_wqe *wqe, u32 slot_size,
					  u32 *room)
{
	*room = 0;
	return check_sges(sges_of(wqe), wqe->num_sge, room_behind(sizeof(*wqe), slot_size), *room);
}

u32 core_ring_pending(u32 prod, u32 taken, u32 entries)
{
	return ring_pending(prod, taken, entries);
}
