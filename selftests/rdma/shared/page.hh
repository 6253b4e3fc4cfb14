// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The size of a page: 4 KiB, 16 or 64 on arm64.
#pragma once
#include <unistd.h>

inline const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
