// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The calls whose allocations are made to fail, each with its preparation and its undo.
#pragma once
#include <functional>
#include <string>
#include <vector>

struct Verb {
	std::string name;
	std::function<void()> prepare; // throws on failure
	std::function<int()> run;      // 0 or an errno; the only part that sees failures
	std::function<void()> undo;    // after a successful run
	std::function<void()> clean;   // undoes prepare
	bool spent = false;	       // a failed run needs a new preparation
};

struct Place {
	std::string address, netdev; // of the device named "srnic0", in this namespace
	std::string spare;	     // a netdev without a device
};

std::vector<Verb> all_verbs(const Place &place);

// ibv_post_send of an RDMA Write for which the QP has to allocate pages.
Verb long_write(const Place &place);
