// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Sends to a receiver in another process, which gives credits.
#pragma once
#include <memory>

#include "operation.hh"
#include "pair.hh"

// work.depth Sends outstanding. For each the sender looks for credits, in its empty receive CQ, and
// takes one completion of a Send. Connects. Throws Broken.
std::unique_ptr<Operation> with_credits(const Work &work, const Place &here, const Place &there);
