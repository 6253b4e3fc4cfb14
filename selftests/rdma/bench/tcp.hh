// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What is measured over plain TCP, for comparison. Both ends sleep, each in a thread or process.
#pragma once
#include <memory>

#include "../semantics/ends.hh"
#include "operation.hh"

// write: by write(2), or by MSG_ZEROCOPY with at most 16 buffers that TCP has not given back; the
// reader reads all of it. ping-pong: bytes go, and come back, count / 2 times. connect: one
// connection after the other. Throws Broken.
std::unique_ptr<Operation> over_tcp(const Work &work, const Place &from, const Place &to);
