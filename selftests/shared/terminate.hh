// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Why a stream ends, and the Terminate that says so (RFC 5040 4.8), built from figures 7 to 10
// without the code under test.
#pragma once

#include "wire.hh"

namespace wire {

enum class Includes { nothing, ddp_header, read_request }; // figure 10: M and D, or M, D and R

struct Cause {
	u8 layer, type, code;
	Includes includes;

	bool operator==(const Cause &) const = default;
};

inline constexpr Cause lost = {2, 0, 1, Includes::nothing};    // RFC 5044 8
inline constexpr Cause bad_crc = {2, 0, 2, Includes::nothing}; // RFC 5044 8
inline constexpr Cause bad_framing = {2, 0, 3, Includes::nothing};
constexpr Cause mpa(u8 code) { return {2, 0, code, Includes::nothing}; }	 // RFC 6581 8
constexpr Cause tagged(u8 code) { return {1, 1, code, Includes::ddp_header}; }	 // RFC 5041 7.2
constexpr Cause untagged(u8 code) { return {1, 2, code, Includes::ddp_header}; } // RFC 5041 7.2
constexpr Cause invalidation(u8 code) { return {0, 1, code, Includes::ddp_header}; }
constexpr Cause atomic(u8 code) { return {0, 1, code, Includes::ddp_header}; } // RFC 7306 8.1, 2
constexpr Cause protection(u8 code) { return {0, 1, code, Includes::read_request}; }
constexpr Cause operation(u8 code) { return {0, 2, code, Includes::ddp_header}; }

// Figures 7 and 8. After the control field: the length of the erroneous DDP segment (its
// ULPDU_Length), its DDP header (14 octets if its T bit is set, else 18) and the 28 octets of its
// RDMA Read Request.
inline Untagged terminate(const Cause &cause, const Bytes &culprit = {})
{
	const size_t header = culprit.size() > 2 && culprit[2] & 0x80 ? 14 : 18;
	Bytes data = {static_cast<u8>(cause.layer << 4 | cause.type), cause.code, 0x00, 0x00};

	if (cause.includes != Includes::nothing) {
		data[2] = 0xc0;
		data = data + culprit.slice(0, 2 + header);
	}
	if (cause.includes == Includes::read_request) {
		data[2] = 0xe0;
		data = data + culprit.slice(2 + header, 28);
	}
	return terminate(data);
}

} // namespace wire
