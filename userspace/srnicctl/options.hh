// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The command line.
#pragma once

#include "address.hh"

#include <vector>

namespace srnicctl {

// Which QPs `show` shows. All that is given must apply.
struct Filter {
	std::optional<uint32_t> pid, qp;
	std::optional<Address> peer; // port 0: any

	bool any() const { return pid || qp || peer; }
};

struct Options {
	bool json = false, pretty = false;
	bool brief = false;
	Filter filter;
	bool batch = false;
	unsigned long iterations = 0; // 0: without end
	double delay = 1;	      // seconds
	bool help = false, version = false;
	std::string command;
	std::vector<std::string> arguments; // of the command
};

// Throws Failure, as wrong() does for an error of the command line.
Options parse(const std::vector<std::string> &arguments);
[[noreturn]] void wrong(const std::string &what);

} // namespace srnicctl
