// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Why a QP that is connected by hand has no stream, in words (enum core_pairing_state, and
// Documentation/ib.rst, "Reasons").
#pragma once

#include <cstdint>
#include <string>

namespace srnicctl {

struct Pairing {
	uint64_t state;	 // the kernel's
	uint64_t reason; // of the last attempt that failed: the peer's, or 0
	uint64_t error;	 // errno of TCP, or 0

	// In RTR or RTS, without a stream.
	bool waits() const;
};

std::string in_words(const Pairing &pairing);

} // namespace srnicctl
