// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A wire between the two namespaces that this program carries, packet by packet, and that keeps
// back SYNs: a firewall. Devices srnic2 and srnic3 are at its ends.
#pragma once
#include <atomic>
#include <functional>
#include <thread>

#include "case.hh"

class Wall {
	int ends[2] = {-1, -1}; // of sr0, sr1
	std::thread carrier;
	std::atomic<bool> over = false;
	std::atomic<int> keeps_back[2] = {0, 0}; // percent of the SYNs from each end
	std::atomic<int> kept[2] = {0, 0};
	unsigned int seed = 1;

	void carry();
	void carry_one(int from);
	bool passes(int from, const uint8_t *packet, size_t len);

public:
	static constexpr const char *address[2] = {"10.96.0.1", "10.96.0.2"};

	Wall();
	Wall(const Wall &) = delete;
	~Wall();
	// From sr0 or sr1.
	void keep_back(int from, int percent) { keeps_back[from] = percent; }
	int kept_back(int from) const { return kept[from]; }
};
