// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// How the program ends: its exit codes, and the exception that carries one with a message.
#pragma once

#include <stdexcept>
#include <string>

namespace srnicctl {

// Documented in srnicctl(8).
enum class Exit {
	good = 0,
	error = 1,     // of the system, none of those below
	usage = 2,     // wrong arguments
	no_device = 3, // no such device, or not one of srnic's
	denied = 4,    // not permitted
	no_rdma = 5,   // the kernel has no RDMA netlink
	refused = 6,   // a setting does not take the value
	warnings = 7,  // doctor found warnings only
	failures = 8,  // doctor found something that does not work
};

struct Failure : std::runtime_error {
	Exit code;

	Failure(Exit exit_code, const std::string &message)
		: std::runtime_error(message), code(exit_code)
	{
	}
};

} // namespace srnicctl
