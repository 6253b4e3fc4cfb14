// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Time: the kernel's clock, and the processor's counter, which is read without a system call.
#pragma once

#include "types.hh"

#include <time.h>

namespace srnic {

inline u64 now_ns()
{
	timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return static_cast<u64>(now.tv_sec) * 1000000000 + static_cast<u64>(now.tv_nsec);
}

#if defined(__x86_64__)
inline u64 ticks() { return __builtin_ia32_rdtsc(); }
inline u64 ticks_in(u64 ns) { return 3 * ns; } // of a processor of 3 GHz
#elif defined(__aarch64__)
inline u64 ticks()
{
	u64 now;

	asm volatile("mrs %0, cntvct_el0" : "=r"(now));
	return now;
}
inline u64 ticks_in(u64 ns)
{
	u64 per_second;

	asm("mrs %0, cntfrq_el0" : "=r"(per_second));
	return per_second * ns / 1000000000;
}
#else
inline u64 ticks() { return now_ns(); }
inline u64 ticks_in(u64 ns) { return ns; }
#endif

} // namespace srnic
