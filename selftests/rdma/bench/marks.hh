// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Instructions that do nothing but show an emulator where the time that is measured begins and ends
// (vm/instructions.cc): "nopl" with displacements that no compiler writes.
#pragma once

#include <cstdint>

constexpr uint8_t mark_begin[] = {0x0f, 0x1f, 0x80, 'b', 'e', 'g', 'n'};
constexpr uint8_t mark_end[] = {0x0f, 0x1f, 0x80, 'e', 'n', 'd', 's'};

inline void begin_mark()
{
#ifdef __x86_64__
	asm volatile(".byte 0x0f, 0x1f, 0x80; .ascii \"begn\"" ::: "memory");
#endif
}

inline void end_mark()
{
#ifdef __x86_64__
	asm volatile(".byte 0x0f, 0x1f, 0x80; .ascii \"ends\"" ::: "memory");
#endif
}
