// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// When an end that failed to connect tries again (Documentation/ib.rst, "Trying again").
#pragma once

#include "types.hh"

namespace srnic::ib {

// After a failure: longer each time. Milliseconds.
u32 wait_after_failure(core_pairing &pairing, u32 random);
// After a refusal. learned: the Reply said more of the peer than the Request knew.
u32 wait_after_refusal(core_pairing &pairing, u8 reason, bool learned, u32 random);

} // namespace srnic::ib
