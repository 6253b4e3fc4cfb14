// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The module's timeouts, short for a while.
#pragma once
#include <fstream>
#include <stdexcept>
#include <string>

// startup_timeout and reply_timeout are this short while it lives; then they are the defaults again, which are far away:
// a case that does not wait for a timeout does not meet one either, even where the machine is slow.
class ShortTimeouts {
	static void set(const char *name, int seconds)
	{
		std::ofstream file(std::string("/sys/module/srnic/parameters/") + name);

		file << seconds << std::flush;
		if (!file)
			throw std::runtime_error(std::string(name) + " cannot be set");
	}

public:
	explicit ShortTimeouts(int seconds)
	{
		set("startup_timeout", seconds);
		set("reply_timeout", seconds);
	}
	ShortTimeouts(const ShortTimeouts &) = delete;
	~ShortTimeouts()
	{
		set("startup_timeout", 10);
		set("reply_timeout", 30);
	}
};
