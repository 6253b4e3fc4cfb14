// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Receive, the interface to C: a stream's receiver, by its framing. For MPA it combines the layers
// in the order of RFC 5040 figure 1: MPA (mpa/fpdu_receiver.hh) turns the stream's octets into
// ULPDUs, DDP and RDMAP (rdmap/rdmap_receiver.hh) these into segments. For RDMA/TCP it is
// rdmatcp/segment_receiver.hh. The rules (message_rules.hh) decide about segments.
#include "ib/receiver.hh"
#include "mpa/fpdu_receiver.hh"
#include "rdmap/rdmap_receiver.hh"
#include "rdmatcp/segment_receiver.hh"

namespace srnic {
namespace {

// MPA, and a layer above it.
template <class Upper> class LayeredReceiver : public FpduReceiver<Upper> {
	using Fpdus = FpduReceiver<Upper>;

public:
	using Fpdus::upper;

	void start(const core_rx_params &params)
	{
		upper.start(params);
		Fpdus::start(params.crc, params.markers);
	}
	core_rx_event fail(core_region_verdict verdict)
	{
		return upper.fail(this->ulpdu(), this->ulpdu_len(), verdict);
	}
	core_rx_event fail_invalidate(core_region_verdict verdict)
	{
		return upper.fail_invalidate(this->ulpdu(), this->ulpdu_len(), verdict);
	}
	void stop() { upper.stop(); }
	u64 segments() const { return this->fpdus(); }
	const MessageRules &message_rules() const { return upper.rules; }
	const core_terminate &terminate() const { return upper.terminate(); }
	u8 receive_status() const { return upper.receive_status(); }
	core_rdmatcp_fault fault() const { return CORE_RDMATCP_FINE; }
};

using IbReceiver = LayeredReceiver<ib::Receiver>;

template <class Receiver, class Rx> auto &receiver_in(Rx *rx)
{
	static_assert(sizeof(Receiver) <= CORE_RX_STATE && alignof(Receiver) <= 8);
	if constexpr (__is_same(Rx, const core_rx))
		return *reinterpret_cast<const Receiver *>(rx->state);
	else
		return *reinterpret_cast<Receiver *>(rx->state);
}

// Calls `what` with the stream's receiver. The only place that chooses it.
template <class Rx, class What> [[gnu::always_inline]] inline auto by_framing(Rx *rx, What what)
{
	switch (static_cast<core_framing>(rx->framing)) {
	case CORE_FRAMING_MPA:
		[[likely]] return what(receiver_in<LayeredReceiver<RdmapReceiver>>(rx));
	case CORE_FRAMING_RDMATCP:
		return what(receiver_in<rdmatcp::SegmentReceiver>(rx));
	case CORE_FRAMING_IB:
		return what(receiver_in<IbReceiver>(rx));
	}
	__builtin_unreachable();
}

const MessageRules &rules(const core_rx *rx)
{
	return *by_framing(rx, [](auto &receiver) { return &receiver.message_rules(); });
}

} // namespace
} // namespace srnic

using namespace srnic;

void core_rx_init(struct core_rx *rx, const struct core_rx_params *params)
{
	*rx = {};
	rx->framing = params->framing;
	by_framing(rx, [&](auto &receiver) { receiver.start(*params); });
}

struct core_rx_taken core_rx_whole(struct core_rx *rx, const u8 *data, u32 n)
{
	return by_framing(rx, [&](auto &receiver) { return receiver.take_whole(data, n); });
}

struct core_rx_step core_rx_next(struct core_rx *rx)
{
	return by_framing(rx, [](auto &receiver) { return receiver.next(); });
}

enum core_rx_event core_rx_took(struct core_rx *rx, u32 n)
{
	return by_framing(rx, [&](auto &receiver) { return receiver.took(n); });
}

u32 *core_rx_sum(struct core_rx *rx)
{
	return by_framing(rx, [](auto &receiver) { return receiver.payload_sum(); });
}

enum core_rx_event core_rx_placed(struct core_rx *rx, const u8 *data, u32 n)
{
	return by_framing(rx, [&](auto &receiver) { return receiver.placed(data, n); });
}

enum core_rx_event core_rx_fail(struct core_rx *rx, enum core_region_verdict verdict)
{
	return by_framing(rx, [&](auto &receiver) { return receiver.fail(verdict); });
}

enum core_rx_event core_rx_fail_invalidate(struct core_rx *rx, enum core_region_verdict verdict)
{
	return by_framing(rx, [&](auto &receiver) { return receiver.fail_invalidate(verdict); });
}

void core_rx_stop(struct core_rx *rx)
{
	by_framing(rx, [](auto &receiver) { receiver.stop(); });
}

bool core_rx_between(const struct core_rx *rx)
{
	return by_framing(rx, [](auto &receiver) { return receiver.between(); });
}

u64 core_rx_fpdus(const struct core_rx *rx)
{
	return by_framing(rx, [](auto &receiver) { return receiver.segments(); });
}

const struct core_rx_message *core_rx_delivered(const struct core_rx *rx)
{
	return &rules(rx).message();
}

const struct core_asked *core_rx_asked(const struct core_rx *rx) { return &rules(rx).asked(); }

u64 core_rx_original(const struct core_rx *rx) { return rules(rx).original(); }

const struct core_terminate *core_rx_terminate(const struct core_rx *rx)
{
	return by_framing(rx, [](auto &receiver) { return &receiver.terminate(); });
}

u8 core_rx_receive_status(const struct core_rx *rx)
{
	return by_framing(rx, [](auto &receiver) { return receiver.receive_status(); });
}

enum core_rdmatcp_fault core_rx_fault(const struct core_rx *rx)
{
	return by_framing(rx, [](auto &receiver) { return receiver.fault(); });
}

void core_rx_done(struct core_rx *rx) { receiver_in<IbReceiver>(rx).upper.done(); }

const struct core_acked *core_rx_acked(const struct core_rx *rx)
{
	return &receiver_in<IbReceiver>(rx).upper.acked();
}
