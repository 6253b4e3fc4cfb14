// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What `srnicctl show` leaves out: --peer, --pid and --qp.
#pragma once

#include "options.hh"
#include "snapshot.hh"

namespace srnicctl {

// Leaves QPs that match, and with a process alone what else that has; of devices those with any.
void keep(std::vector<Device> &devices, const Filter &filter);

} // namespace srnicctl
