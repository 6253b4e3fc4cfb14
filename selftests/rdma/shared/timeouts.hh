// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The module's timeouts, others for a while.
#pragma once
#include <fstream>
#include <stdexcept>
#include <string>

// startup_timeout and reply_timeout are this while it lives; then they are the defaults again,
// which are far away: a case that does not wait for a timeout does not meet one either, even where
// the machine is slow.
class Timeouts {
	static void set(const char *name, int seconds)
	{
		std::ofstream file(std::string("/sys/module/srnic/parameters/") + name);

		file << seconds << std::flush;
		if (!file)
			throw std::runtime_error(std::string(name) + " cannot be set");
	}

public:
	explicit Timeouts(int seconds)
	{
		set("startup_timeout", seconds);
		set("reply_timeout", seconds);
	}
	Timeouts(const Timeouts &) = delete;
	~Timeouts()
	{
		set("startup_timeout", 10);
		set("reply_timeout", 30);
	}
};
