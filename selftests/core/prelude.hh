// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Precompiled header, included first by every test.
#ifndef SRNIC_TEST_PRELUDE_HH
#define SRNIC_TEST_PRELUDE_HH

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#endif
