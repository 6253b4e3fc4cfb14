// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A host for the core's scheduler whose send requests and answers come out of the fuzzer's input.
#pragma once

#include <rdma/srnic-abi.h>

#include "../shared/send_host.hh"
#include "host.hh"

struct InputSends : SendHost {
	Input input;
	u64 slot[(sizeof(srnic_send_wqe) + SRNIC_MAX_INLINE) / 8] = {};

	explicit InputSends(Input its_input) : input(its_input)
	{
		validated = false;
		random = 0x1234;
	}
	static InputSends &of(void *ctx) { return static_cast<InputSends &>(SendHost::of(ctx)); }
};
