// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The cases. Each has the device to itself.
#pragma once
#include "../shared/case.hh"
#include "ends.hh"

// From the command line.
struct Settings {
	Place here, there;
	uint64_t huge;   // octets of the largest messages; 0: none
	unsigned rounds; // of what is repeated
};
extern Settings settings;

Cases operation_cases(); // operations.cc: every operation, its forms and its completions
Cases order_cases();     // order.cc: RFC 5040 5.5
Cases huge_cases();      // huge.cc: messages above 2 GiB
Cases revoke_cases();    // revoke.cc: the end of a region or a QP is the end of what a peer can do
Cases ending_cases();    // endings.cc: how connections end, and who sees what of it
