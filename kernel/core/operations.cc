// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The table of operations, for the shell.
#include "operations.hh"

const struct core_operation *core_operation_of(u8 opcode) { return &srnic::operation(opcode); }
