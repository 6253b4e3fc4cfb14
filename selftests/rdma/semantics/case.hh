// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The cases. Each has the device to itself.
#pragma once
#include "../shared/case.hh"
#include "ends.hh"

// From the command line.
struct Settings {
	Place here, there;
	uint64_t huge;   // bytes of the largest messages; 0: none
	unsigned rounds; // of what is repeated
	bool rdmatcp;	 // the framing, from FRAMING; else MPA
};
extern Settings settings;

Cases operation_cases(); // operations.cc: every operation, its forms and its completions
Cases atomic_cases();    // atomic.cc: RFC 7306 5
Cases direct_cases();    // direct.cc: srnicdv
Cases immediate_cases(); // immediate.cc: RFC 7306 6
Cases order_cases();     // order.cc: RFC 5040 5.5
Cases missing_cases();	 // missing.cc: what a program leaves out
Cases huge_cases();      // huge.cc: messages above 2 GiB
Cases revoke_cases();    // revoke.cc: a peer cannot use a region or QP after its end
Cases ending_cases();    // endings.cc: how connections end, and what both ends see
