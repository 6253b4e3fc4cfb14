// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// srnicctl(8): looks after srnic's devices. Here is the real machine; commands.cc has the program.
#include "commands.hh"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <thread>

using namespace srnicctl;

namespace {

uint64_t memlock()
{
	rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

double now()
{
	auto since = std::chrono::steady_clock::now().time_since_epoch();

	return std::chrono::duration<double>(since).count();
}

void wait_for(double seconds)
{
	std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

} // namespace

int main(int argc, char **argv)
{
	NetlinkSockets sockets;
	System system{sockets, std::cout, std::cerr, "", memlock(), bool(isatty(STDOUT_FILENO)),
		      now,     wait_for};

	return run(system, {argv + (argc > 0), argv + argc});
}
