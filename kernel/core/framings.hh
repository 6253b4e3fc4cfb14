// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The framings (enum core_framing), one row each: what a wire format has. Code that depends on the
// framing asks for the property that it depends on. What differs in mechanics, how segments are
// made and octets are received, is chosen in one place each: builder.hh and receiver.cc.
//
// A new framing needs a row here and a case there, a new property a value in each row: without one
// of them selftests/core does not compile (-Wswitch, -Wmissing-field-initializers).
#pragma once

#include "types.hh"

namespace srnic {

// RFC 5044, 5041, 5040, 6581, 7306.
constexpr core_framing_traits mpa_traits = {
	.name = "mpa",
	.terminate = true,
	.atomics = true,
	.immediate_payload = false,
	.immediate_in_send = false,
	.immediate_in_write = false,
	.numbers_by_queue = true,
	.numbers_writes = false,
	.numbers_agreed = false,
	.sink_stag = true,
	.mutes_responder = true,
	.interleaves_tagged = false, // some receivers mistake one tagged message for another
	.acknowledges = false,
};

// draft-williams-rdmatcp-00, and its binding to verbs (Documentation/rdmatcp.rst).
constexpr core_framing_traits rdmatcp_traits = {
	.name = "rdmatcp",
	.terminate = false,
	.atomics = false,
	.immediate_payload = true,
	.immediate_in_send = false,
	.immediate_in_write = true,
	.numbers_by_queue = false,
	.numbers_writes = true,
	.numbers_agreed = true,
	.sink_stag = false,
	.mutes_responder = false,
	.interleaves_tagged = true, // Read Responses are a group of their own (4)
	.acknowledges = false,
};

// Documentation/ib.rst: MPA's octets, with a few messages more.
constexpr core_framing_traits ib_traits = {
	.name = "ib",
	.terminate = true,
	.atomics = true,
	.immediate_payload = true,
	.immediate_in_send = true,
	.immediate_in_write = false,
	.numbers_by_queue = true,
	.numbers_writes = false,
	.numbers_agreed = false,
	.sink_stag = true,
	.mutes_responder = true,
	.interleaves_tagged = false,
	.acknowledges = true,
};

constexpr const core_framing_traits &traits_of(core_framing framing)
{
	switch (framing) {
	case CORE_FRAMING_MPA:
		[[likely]] return mpa_traits;
	case CORE_FRAMING_RDMATCP:
		return rdmatcp_traits;
	case CORE_FRAMING_IB:
		return ib_traits;
	}
	__builtin_unreachable();
}

} // namespace srnic
