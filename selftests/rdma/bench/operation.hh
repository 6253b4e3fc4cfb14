// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What is measured, and how much of it.
#pragma once
#include <string>

// From the command line.
struct Work {
	std::string name;
	unsigned count = 1, size = 0, depth = 1, list = 1, pairs = 1, regions = 0, together = 0,
		 poll = 0, zerocopy = 0, apart = 0, batch = 0, processes = 1;

	// Throws Broken.
	Work(const char *operation, char **options);
};

// Its maker connects it and gives it its memory; its destructor takes them away. None
// of that is measured, for it costs page faults and registrations, with any driver the same; unless
// connections are what is measured.
struct Operation {
	virtual ~Operation() = default;
	// All that was asked for.
	virtual void run() = 0;
};
