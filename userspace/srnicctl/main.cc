// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// srnicctl(8): looks after srnic's devices. Here is the real machine; commands.cc has the program.
#include "commands.hh"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
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

std::string release()
{
	utsname name;

	return uname(&name) ? "" : name.release;
}

std::string output(const char *command)
{
	FILE *pipe = popen(command, "re");
	char piece[256];
	std::string all;

	if (!pipe)
		return "";
	while (size_t n = fread(piece, 1, sizeof(piece), pipe))
		all.append(piece, n);
	return pclose(pipe) ? "" : all;
}

} // namespace

int main(int argc, char **argv)
{
	NetlinkSockets sockets;
	System system{.netlink = sockets,
		      .out = std::cout,
		      .err = std::cerr,
		      .root = "",
		      .memlock = memlock(),
		      .terminal = bool(isatty(STDOUT_FILENO)),
		      .now = now,
		      .sleep = wait_for,
		      .release = release(),
		      .output = output};

	return run(system, {argv + (argc > 0), argv + argc});
}
