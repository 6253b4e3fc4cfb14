// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The command line.
#pragma once

#include <string>
#include <vector>

namespace srnicctl {

struct Options {
	bool json = false, pretty = false;
	bool batch = false;
	unsigned long iterations = 0; // 0: without end
	double delay = 1;	      // seconds
	bool help = false, version = false;
	std::string command;
	std::vector<std::string> arguments; // of the command
};

extern const char *const usage;

// Throws Failure, as wrong() does for an error of the command line.
Options parse(const std::vector<std::string> &arguments);
[[noreturn]] void wrong(const std::string &what);

} // namespace srnicctl
