// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Changes module parameters for a while.
#pragma once
#include <fstream>
#include <stdexcept>
#include <string>

inline void set_parameter(const char *name, int value)
{
	std::ofstream file(std::string("/sys/module/srnic/parameters/") + name);

	file << value << std::flush;
	if (!file)
		throw std::runtime_error(std::string(name) + " cannot be set");
}

// Has another value while it lives.
class Parameter {
	const char *const name;
	const int normal;

public:
	Parameter(const char *name_, int value, int normal_) : name(name_), normal(normal_)
	{
		set_parameter(name, value);
	}
	Parameter(const Parameter &) = delete;
	~Parameter() { set_parameter(name, normal); }
};

// Sets startup_timeout and reply_timeout while it lives, then the defaults again, which are so long
// that a case that does not wait for a timeout does not hit one even on a slow machine.
class Timeouts {
public:
	explicit Timeouts(int seconds)
	{
		set_parameter("startup_timeout", seconds);
		set_parameter("reply_timeout", seconds);
	}
	Timeouts(const Timeouts &) = delete;
	~Timeouts()
	{
		set_parameter("startup_timeout", 10);
		set_parameter("reply_timeout", 30);
	}
};
