// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What a receive gets before the payload (Documentation/ib.rst rule 83).
#pragma once

#include "datagram.hh"

namespace strays {

inline constexpr size_t grh_octets = 40;

// Throws if these 40 octets are not those of a datagram with so much payload that came this way.
void want_grh(const Bytes &is, const Way &way, size_t payload);

} // namespace strays
