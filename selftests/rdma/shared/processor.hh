// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Keeps a thread on one processor.
#pragma once
#include <sched.h>

// The calling thread, and those that it begins later. False, with errno, if there is no such one.
inline bool stay_on(unsigned processor)
{
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET(processor, &only);
	return !sched_setaffinity(0, sizeof(only), &only);
}
