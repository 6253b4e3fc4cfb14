// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What is measured over verbs.
#pragma once
#include <memory>

#include "operation.hh"
#include "pair.hh"

// write, send, read, write-imm, fetch-add or ping-pong; each pair in a thread of its own, with its
// share of the work, or all together. Throws Broken.
std::unique_ptr<Operation> over_verbs(const Work &work, Pairs pairs);
