// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The commands, from the command line to the exit code.
#pragma once

#include "system.hh"

namespace srnicctl {

// Arguments without the program's name. Returns the exit code; errors go to system.err.
int run(System &system, const std::vector<std::string> &arguments);

} // namespace srnicctl
