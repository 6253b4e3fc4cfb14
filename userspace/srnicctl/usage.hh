// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What `srnicctl help` prints.
#pragma once

#include <string>

namespace srnicctl {

// Of all commands, or of one. Throws Failure if there is no such command.
std::string usage(const std::string &command = "");
// "show, top, ... or help".
std::string command_names();

} // namespace srnicctl
