// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Receive, the interface to C: a stream's receiver, by its framing. For MPA it combines the layers
// in the order of RFC 5040 figure 1: MPA (mpa/receive.hh) turns the stream's octets into ULPDUs,
// DDP and RDMAP (rdmap/receive.hh) these into segments. For RDMA/TCP it is rdmatcp/receive.hh. The
// rules (receive.hh) decide about segments.
#include "mpa/receive.hh"
#include "rdma/srnic-abi.h"
#include "rdmap/receive.hh"
#include "rdmatcp/receive.hh"

namespace srnic {
namespace {

using Layers = FpduReceiver<RdmapReceiver>;
using Rdmatcp = rdmatcp::SegmentReceiver;

template <class Receiver> constexpr bool fits()
{
	return sizeof(Receiver) <= CORE_RX_STATE && alignof(Receiver) <= 8;
}
static_assert(fits<Layers>() && fits<Rdmatcp>());

bool is_mpa(const core_rx *rx) { return rx->framing == CORE_FRAMING_MPA; }

Layers &layers(core_rx *rx) { return *reinterpret_cast<Layers *>(rx->state); }
Rdmatcp &rdmatcp_of(core_rx *rx) { return *reinterpret_cast<Rdmatcp *>(rx->state); }

const Layers &layers(const core_rx *rx) { return *reinterpret_cast<const Layers *>(rx->state); }

const Rdmatcp &rdmatcp_of(const core_rx *rx)
{
	return *reinterpret_cast<const Rdmatcp *>(rx->state);
}

// Counters, events and statuses are those of the error that MPA's peers would be told.
constexpr Error equivalent(core_rdmatcp_fault fault)
{
	switch (fault) {
	case CORE_RDMATCP_VERSION:
		return error(UntaggedError::version);
	case CORE_RDMATCP_NUMBER:
		return error(UntaggedError::msn_range);
	case CORE_RDMATCP_OFFSET:
		return error(UntaggedError::invalid_mo);
	case CORE_RDMATCP_CRC:
		return error(LlpError::crc);
	case CORE_RDMATCP_BUFFER_ID:
		return error(TaggedError::invalid_stag);
	case CORE_RDMATCP_BOUNDS:
		return error(TaggedError::base_or_bounds);
	case CORE_RDMATCP_ACCESS:
		return error(TaggedError::not_associated);
	case CORE_RDMATCP_NO_BUFFER:
		return error(UntaggedError::no_buffer);
	case CORE_RDMATCP_TOO_LONG:
		return error(UntaggedError::too_long);
	case CORE_RDMATCP_LOCAL:
		return local_catastrophic;
	default:
		return error(OperationError::unspecified);
	}
}

struct Terminates {
	core_terminate of[CORE_RDMATCP_FAULTS];
};

consteval Terminates equivalents()
{
	Terminates all{};

	for (u32 i = CORE_RDMATCP_FINE + 1; i < CORE_RDMATCP_FAULTS; i++)
		all.of[i] = terminate_of(equivalent(static_cast<core_rdmatcp_fault>(i)));
	return all;
}

// What would be sent if RDMA/TCP had Terminates.
constexpr Terminates rdmatcp_terminates = equivalents();

const MessageReceiver &messages(const core_rx *rx)
{
	return is_mpa(rx) ? layers(rx).upper.messages : rdmatcp_of(rx).messages;
}

} // namespace
} // namespace srnic

using namespace srnic;

void core_rx_init(struct core_rx *rx, const struct core_rx_params *params)
{
	*rx = {};
	rx->framing = params->framing;
	if (!is_mpa(rx))
		return rdmatcp_of(rx).start(*params);
	layers(rx).upper.start(*params);
	layers(rx).start(params->crc, params->markers);
}

struct core_rx_step core_rx_next(struct core_rx *rx)
{
	return is_mpa(rx) ? layers(rx).next() : rdmatcp_of(rx).next();
}

enum core_rx_event core_rx_took(struct core_rx *rx, u32 n)
{
	if (is_mpa(rx)) [[likely]]
		return layers(rx).took(n);
	return rdmatcp_of(rx).took(n);
}

u32 *core_rx_sum(struct core_rx *rx) { return is_mpa(rx) ? layers(rx).payload_sum() : nullptr; }

enum core_rx_event core_rx_placed(struct core_rx *rx, const u8 *data, u32 n)
{
	return is_mpa(rx) ? layers(rx).placed(data, n) : rdmatcp_of(rx).placed(data, n);
}

enum core_rx_event core_rx_fail(struct core_rx *rx, enum core_region_verdict verdict)
{
	Layers &all = layers(rx);

	if (!is_mpa(rx))
		return rdmatcp_of(rx).fail(verdict);
	return all.upper.fail(all.ulpdu(), all.ulpdu_len(), verdict);
}

enum core_rx_event core_rx_fail_invalidate(struct core_rx *rx, enum core_region_verdict verdict)
{
	Layers &all = layers(rx);

	if (!is_mpa(rx))
		return rdmatcp_of(rx).fail(verdict);
	return all.upper.fail_invalidate(all.ulpdu(), all.ulpdu_len(), verdict);
}

void core_rx_stop(struct core_rx *rx)
{
	if (is_mpa(rx))
		layers(rx).upper.stop();
	else
		rdmatcp_of(rx).stop();
}

bool core_rx_between(const struct core_rx *rx)
{
	return is_mpa(rx) ? layers(rx).between() : rdmatcp_of(rx).between();
}

u64 core_rx_fpdus(const struct core_rx *rx)
{
	return is_mpa(rx) ? layers(rx).fpdus() : rdmatcp_of(rx).segments();
}

const struct core_rx_message *core_rx_delivered(const struct core_rx *rx)
{
	return &messages(rx).message();
}

const struct core_asked *core_rx_asked(const struct core_rx *rx) { return &messages(rx).asked(); }

u64 core_rx_original(const struct core_rx *rx) { return messages(rx).original(); }

const struct core_terminate *core_rx_terminate(const struct core_rx *rx)
{
	return is_mpa(rx) ? &layers(rx).upper.terminate()
			  : &rdmatcp_terminates.of[rdmatcp_of(rx).fault()];
}

u8 core_rx_receive_status(const struct core_rx *rx)
{
	if (is_mpa(rx))
		return core_terminate_receive_status(core_rx_terminate(rx));
	return core_rx_fault(rx) == CORE_RDMATCP_TOO_LONG ? SRNIC_WC_LOC_LEN_ERR
							  : SRNIC_WC_FLUSH_ERR;
}

enum core_rdmatcp_fault core_rx_fault(const struct core_rx *rx)
{
	return is_mpa(rx) ? CORE_RDMATCP_FINE : rdmatcp_of(rx).fault();
}
