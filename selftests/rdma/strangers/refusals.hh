// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Replies that refuse (Documentation/ib.rst rules 41 to 52).
#pragma once

#include "stage.hh"

namespace strangers {

// The Reply is one that refuses this Request for the reason, and says of the victim what it may.
void want_refusal(const Frame &is, const Frame &asked, u8 reason);
// It comes, and then the victim's half is closed.
Frame refused(const Socket &socket, const Frame &asked, u8 reason);
// Sends a Request, which is refused.
Frame asks_in_vain(const Stage &stage, const Frame &request, u8 reason, Pace pace = Pace::whole);

} // namespace strangers
