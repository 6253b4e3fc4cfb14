// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA/TCP: control data and CRC of a segment.
#include "rdmatcp/rdmatcp.hh"
#include "sliced_crc.hh"

namespace srnic::rdmatcp {

namespace {

// 3.4, without x^32. Reflected, because the CRC takes the lowest bit of an octet first.
constexpr u32 generator = 0xdb710641;

constexpr u32 reflected(u32 value)
{
	u32 out = 0;

	for (u32 bit = 0; bit < 32; bit++)
		out |= (value >> bit & 1) << (31 - bit);
	return out;
}
static_assert(reflected(0x04c11db7) == 0xedb88320);			 // Ethernet's generator
static_assert((u64{0xedb88320} << 1 | 1) == (u64{1} << 32 | generator)); // its reversal, with x^32

constexpr u16 known = upper_offset | invalidate | immediate | startup | solicited;

} // namespace

bool decode(const u8 *octets, u32 len, Control &out)
{
	const u8 *at = octets + sizeof(ControlWord);

	out = {};
	if (!len)
		return true;
	const auto head = load<ControlWord>(octets);

	out.flags = head.flags.host() & known;
	if (head.binding != binding_version || head.flags.host() & must_be_known & ~known ||
	    control_len(out.flags) > len)
		return false;
	if (out.flags & upper_offset) {
		out.upper = load<be<u32>>(at).host();
		at += word;
	}
	if (out.flags & invalidate) {
		out.invalid_id = load<be<u32>>(at).host();
		at += word;
	}
	if (out.flags & immediate) {
		out.immediate = at;
		at += immediate_len;
	}
	if (out.flags & startup)
		out.startup = at;
	return true;
}

u32 encode(const Control &control, u8 *to)
{
	u8 *at = to + sizeof(ControlWord);

	if (!control.flags)
		return 0;
	store(to, ControlWord{binding_version, 0, be<u16>::from_host(control.flags)});
	if (control.flags & upper_offset) {
		store(at, be<u32>::from_host(control.upper));
		at += word;
	}
	if (control.flags & invalidate) {
		store(at, be<u32>::from_host(control.invalid_id));
		at += word;
	}
	if (control.flags & immediate) {
		__builtin_memcpy(at, control.immediate, immediate_len);
		at += immediate_len;
	}
	if (control.flags & startup) {
		__builtin_memcpy(at, control.startup, startup_len);
		at += startup_len;
	}
	return static_cast<u32>(at - to);
}

u32 add_to_crc(u32 crc, const u8 *octets, u32 len)
{
	return SlicedCrc<reflected(generator)>::add(crc, octets, len);
}

} // namespace srnic::rdmatcp
