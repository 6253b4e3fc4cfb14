// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A host for the core's scheduler that answers as the fuzzer's input says.
#pragma once

#include <rdma/srnic-abi.h>

#include "host.hh"

struct SendHost {
	Input input;
	bool mpa = true, validated = false, terminating = false, queue_empty = true;
	u64 slot[(sizeof(srnic_send_wqe) + SRNIC_MAX_INLINE) / 8] = {};
	u32 taken = 0, built = 0, reads = 0, asked = 0, answered = 0;

	static SendHost &of(void *ctx) { return *static_cast<SendHost *>(ctx); }
};
