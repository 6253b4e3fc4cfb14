// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Extended Requests, which are Flush and Atomic Write (Documentation/ib.rst, "Flush and Atomic
// Write"): their octets, and which are valid, whether they come from a program or from a peer.
#pragma once

#include "rdma/srnic-abi.h"
#include "types.hh"

namespace srnic::ib {

struct ExtendedHeader {
	u8 code, type, level, zero;
	be<u32> stag;
	be<u64> to;
	u8 tail[8]; // Flush: the length; Atomic Write: the data
};
static_assert(sizeof(ExtendedHeader) == CORE_EXTENDED_LEN);
static_assert(__builtin_offsetof(ExtendedHeader, stag) == 4 &&
	      __builtin_offsetof(ExtendedHeader, to) == 8);

constexpr u8 flush_types = CORE_FLUSH_GLOBAL | CORE_FLUSH_PERSISTENT;

constexpr bool is_valid(const core_extended &request)
{
	if (request.code == CORE_EXTENDED_ATOMIC_WRITE)
		return true;
	return request.code == CORE_EXTENDED_FLUSH && request.type &&
	       !(request.type & ~flush_types) && request.level <= CORE_FLUSH_REGION;
}
static_assert(!is_valid({}) && !is_valid({3, 1, 0, 0, 0, {0}}) && !is_valid({1, 0, 0, 0, 0, {0}}));
static_assert(is_valid({1, 3, 1, 0, 0, {0}}) && !is_valid({1, 4, 0, 0, 0, {0}}) &&
	      !is_valid({1, 1, 2, 0, 0, {0}}));

// The rights that the peer needs for it, of the QP as of the region.
constexpr u32 rights_for(const core_extended &request)
{
	if (request.code == CORE_EXTENDED_ATOMIC_WRITE)
		return CORE_ACCESS_REMOTE_WRITE;
	return (request.type & CORE_FLUSH_GLOBAL ? CORE_ACCESS_FLUSH_GLOBAL : 0) |
	       (request.type & CORE_FLUSH_PERSISTENT ? CORE_ACCESS_FLUSH_PERSISTENT : 0);
}

// ---- the wire ----

inline core_extended decode(const ExtendedHeader &header)
{
	core_extended out{};

	out.code = header.code;
	out.type = header.type;
	out.level = header.level;
	out.stag = header.stag.host();
	out.to = header.to.host();
	if (header.code == CORE_EXTENDED_FLUSH)
		out.length = load<be<u64>>(header.tail).host();
	else
		__builtin_memcpy(out.data, header.tail, sizeof(out.data));
	return out;
}

inline ExtendedHeader encode(const core_extended &request)
{
	ExtendedHeader out = {request.code,
			      request.type,
			      request.level,
			      0,
			      be<u32>::from_host(request.stag),
			      be<u64>::from_host(request.to),
			      {}};

	if (request.code == CORE_EXTENDED_FLUSH)
		store(out.tail, be<u64>::from_host(request.length));
	else
		__builtin_memcpy(out.tail, request.data, sizeof(out.tail));
	return out;
}

// ---- what a program posts ----

// A wild type or level stays wild.
constexpr u8 level_of(u64 how)
{
	return how & ~u64{0xff | SRNIC_FLUSH_MR} ? u8{0xff} : static_cast<u8>(how >> 8);
}

inline core_extended extended_of(const srnic_send_wqe &wqe)
{
	core_extended out{};

	out.stag = wqe.rkey;
	out.to = wqe.remote_addr;
	if (wqe.opcode == SRNIC_OP_ATOMIC_WRITE) {
		out.code = CORE_EXTENDED_ATOMIC_WRITE;
		__builtin_memcpy(out.data, wqe.arg, sizeof(out.data));
		return out;
	}
	out.code = CORE_EXTENDED_FLUSH;
	out.type = static_cast<u8>(wqe.arg[1]);
	out.level = level_of(wqe.arg[1]);
	if (out.level == CORE_FLUSH_REGION)
		out.to = 0;
	else
		out.length = wqe.arg[0];
	return out;
}

} // namespace srnic::ib
