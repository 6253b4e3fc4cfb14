// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA/TCP segments for unit tests.
#pragma once

#include "../shared/rdmatcp.hh"
#include "wire.hh"

namespace wire {

using namespace rdmatcp_wire;
using Rdmatcp = Segment<Bytes>;

inline Bytes control(u16 flags, const Bytes &words = {})
{
	return rdmatcp_wire::control<Bytes>(flags, words);
}

} // namespace wire
