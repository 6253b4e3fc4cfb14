// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What is measured over verbs, with the end that responds in a process of its own.
#pragma once
#include <memory>

#include "operation.hh"

// write, read, send, write-imm, send-credits or ping-pong; way, here and there as of connected().
// No device may be open. Throws Broken.
std::unique_ptr<Operation> over_processes(const Work &work, const std::string &way,
					  const std::string &here, const std::string &there);
