// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What the program needs of the machine besides netlink: files, limits, time. Tests give another.
#pragma once

#include "netlink.hh"

#include <functional>
#include <ostream>

namespace srnicctl {

struct System {
	Netlink &netlink;
	std::ostream &out, &err;
	std::string root;	       // before each path; "" but for tests
	uint64_t memlock = UINT64_MAX; // RLIMIT_MEMLOCK in bytes; UINT64_MAX: none
	bool terminal = false;	       // out is one
	std::function<double()> now;   // seconds
	std::function<void(double)> sleep;
	std::string release; // of the kernel, as uname -r
	// What a shell's command prints; "" if it fails.
	std::function<std::string(const char *command)> output;
};

// ---- files; each path is one of the real root ----

bool exists(const System &system, const std::string &path);
// May this process read and write it?
bool accessible(const System &system, const std::string &path);
// May every process write it?
bool writable_for_all(const System &system, const std::string &path);
// The first line of a file; nothing if it cannot be read.
std::optional<std::string> first_line(const System &system, const std::string &path);
std::optional<std::string> whole(const System &system, const std::string &path);
// 0 or an errno.
int overwrite(const System &system, const std::string &path, const std::string &text);

// What /proc calls the process; "" if it is gone.
std::string program_of(const System &system, uint32_t pid);

} // namespace srnicctl
