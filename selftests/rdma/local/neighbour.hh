// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The neighbour: another process that moves and verifies data on its own connection all the time.
#pragma once
#include <atomic>
#include <sys/types.h>

class Neighbour {
	struct Shared {
		std::atomic<unsigned long> rounds;
		char failure[160];
	};
	Shared *shared;
	pid_t pid;

public:
	Neighbour();
	Neighbour(const Neighbour &) = delete;
	~Neighbour();
	// Throws if it failed, or has moved nothing since the last call.
	void check();

private:
	unsigned long seen = 0;
	void live();
};
