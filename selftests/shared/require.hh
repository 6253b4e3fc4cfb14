// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A check in code that unit tests and fuzzers share.
#pragma once

// Fails the test, or ends the fuzzer: each implements it. May return.
void not_so(const char *file, int line, const char *condition);

#define REQUIRE(condition)                                      \
	do {                                                    \
		if (!(condition))                               \
			not_so(__FILE__, __LINE__, #condition); \
	} while (0)
