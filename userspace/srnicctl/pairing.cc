// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Why a QP that is connected by hand has no stream, in words.
#include "pairing.hh"

#include "core/api/core_pairing_words.h"

#include <cstring>

namespace srnicctl {
namespace {

enum : uint64_t { waiting = 1, connecting, requested };

} // namespace

bool Pairing::waits() const { return state >= waiting && state <= requested; }

std::string in_words(const Pairing &pairing)
{
	std::string words = "waits for its peer";

	if (!pairing.reason && !pairing.error)
		return words;
	words += "; the last attempt: ";
	words += core_pair_in_words(static_cast<unsigned int>(pairing.reason));
	if (pairing.error)
		words += std::string(" (") + strerror(static_cast<int>(pairing.error)) + ")";
	return words;
}

} // namespace srnicctl
