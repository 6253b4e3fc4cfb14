// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Basic types of the core: wire fields that cannot be mixed up with host values, and access to
// buffers.
#pragma once

#include "api/core.h"

namespace srnic {

static_assert(sizeof(u8) == 1 && sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8);

constexpr u16 byte_swapped(u16 v) { return __builtin_bswap16(v); }
constexpr u32 byte_swapped(u32 v) { return __builtin_bswap32(v); }
constexpr u64 byte_swapped(u64 v) { return __builtin_bswap64(v); }

// A big-endian field on the wire, at any address. It converts only by name.
template <class T> struct [[gnu::packed]] be {
	T raw;

	static constexpr T swap(T v)
	{
		return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? v : byte_swapped(v);
	}
	constexpr T host() const { return swap(raw); }
	static constexpr be from_host(T v) { return {swap(v)}; }
};
static_assert(sizeof(be<u16>) == 2 && sizeof(be<u32>) == 4 && sizeof(be<u64>) == 8);
static_assert(alignof(be<u64>) == 1);
static_assert(be<u32>::from_host(0x01020304).host() == 0x01020304);

// Copy a wire structure out of a buffer, and into one. The caller has checked for sizeof(T) octets.
template <class T> T load(const u8 *from)
{
	T value;

	__builtin_memcpy(&value, from, sizeof(value));
	return value;
}

template <class T> void store(u8 *to, const T &value)
{
	__builtin_memcpy(to, &value, sizeof(value));
}

template <class T> constexpr T min(T a, T b) { return a < b ? a : b; }
template <class T> constexpr T max(T a, T b) { return a < b ? b : a; }

} // namespace srnic
