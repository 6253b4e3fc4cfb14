// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Atomic operations (RFC 7306 5): what each makes of the word in memory (5.1), the headers of their
// messages (5.2.1 and 5.2.2), and the read-modify-write itself (5.3).
#pragma once

#include "types.hh"

namespace srnic {

// 5.1.1: a bit of the mask is the most significant one of a field, out of which nothing is carried.
// So one addition sums all fields without their top bits, and each top bit then takes the carry
// into it.
template <class Word> constexpr Word masked_sum(Word original, Word add, Word mask)
{
	const Word below = static_cast<Word>(~mask);
	const Word sum = static_cast<Word>((original & below) + (add & below));

	return static_cast<Word>(sum ^ ((original ^ add) & mask));
}
static_assert(masked_sum<u8>(0xff, 1, 0) == 0 && masked_sum<u8>(0xff, 1, 0x80) == 0);
static_assert(masked_sum<u8>(0x0f, 1, 0x08) == 0x00 && masked_sum<u8>(0x0f, 1, 0x10) == 0x10);
static_assert(masked_sum<u8>(0xff, 0x11, 0x88) == 0x00);

// 5.1.2.
template <class Word>
constexpr Word masked_swap(Word original, Word swap, Word swap_mask, Word compare,
			   Word compare_mask)
{
	if ((compare ^ original) & compare_mask)
		return original;
	return static_cast<Word>((original & ~swap_mask) | (swap & swap_mask));
}
static_assert(masked_swap<u8>(0x12, 0xff, 0x0f, 0x10, 0xf0) == 0x1f);
static_assert(masked_swap<u8>(0x12, 0xff, 0x0f, 0x20, 0xf0) == 0x12);

constexpr u64 result_of(const core_atomic &op, u64 original)
{
	switch (op.code) {
	case CORE_ATOMIC_FETCH_ADD:
		return masked_sum(original, op.data, op.mask);
	case CORE_ATOMIC_SWAP:
		return op.data;
	default:
		return masked_swap(original, op.data, op.mask, op.compare, op.compare_mask);
	}
}

struct AtomicRequestHeader { // figure 4
	be<u32> rsvd_code;   // AOpCode: the last 4 bits
	be<u32> id;
	be<u32> stag;
	be<u64> to;
	be<u64> data;
	be<u64> mask;
	be<u64> compare;
	be<u64> compare_mask;
};
static_assert(sizeof(AtomicRequestHeader) == 52);
static_assert(__builtin_offsetof(AtomicRequestHeader, to) == 12 &&
	      __builtin_offsetof(AtomicRequestHeader, compare) == 36);

struct AtomicResponseHeader { // figure 6
	be<u32> id;
	be<u64> original;
};
static_assert(sizeof(AtomicResponseHeader) == 12);

static_assert(sizeof(AtomicRequestHeader) == CORE_ATOMIC_REQUEST_LEN &&
	      sizeof(AtomicResponseHeader) == CORE_ATOMIC_RESPONSE_LEN);

constexpr core_atomic_request decode(const AtomicRequestHeader &header)
{
	return {header.id.host(), header.stag.host(), header.to.host(),
		{static_cast<u8>(header.rsvd_code.host() & 0x0f), header.data.host(),
		 header.mask.host(), header.compare.host(), header.compare_mask.host()}};
}

constexpr AtomicRequestHeader encode(const core_atomic_request &request)
{
	return {be<u32>::from_host(request.op.code),
		be<u32>::from_host(request.id),
		be<u32>::from_host(request.stag),
		be<u64>::from_host(request.to),
		be<u64>::from_host(request.op.data),
		be<u64>::from_host(request.op.mask),
		be<u64>::from_host(request.op.compare),
		be<u64>::from_host(request.op.compare_mask)};
}

constexpr core_atomic_response decode(const AtomicResponseHeader &header)
{
	return {header.id.host(), header.original.host()};
}

constexpr AtomicResponseHeader encode(const core_atomic_response &response)
{
	return {be<u32>::from_host(response.id), be<u64>::from_host(response.original)};
}

} // namespace srnic
