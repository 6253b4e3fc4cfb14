// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The calls whose allocations are made to fail, each with what has to be there before and what
// undoes it.
#pragma once
#include <functional>
#include <string>
#include <vector>

struct Verb {
	std::string name;
	std::function<void()> prepare; // throws what went wrong
	std::function<int()> run;      // 0 or an errno; the only part that sees failures
	std::function<void()> undo;    // after a run that succeeded
	std::function<void()> clean;   // what prepare has made
	bool spent = false;	       // a run that failed needs a new preparation
};

struct Place {
	std::string address, netdev; // of the device named "srnic0", in this namespace
	std::string spare;	     // a netdev without a device
};

std::vector<Verb> all_verbs(const Place &place);
