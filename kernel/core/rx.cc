// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Receive, the interface to C: combines a stream's layers in the order of RFC 5040 figure 1. MPA
// (mpa/receive.hh) turns the stream's octets into ULPDUs, DDP and RDMAP (rdmap/receive.hh) these
// into segments, and the rules (receive.hh) decide about segments.
#include "mpa/receive.hh"
#include "rdmap/receive.hh"

namespace srnic {
namespace {

using Layers = FpduReceiver<RdmapReceiver>;

static_assert(sizeof(Layers) <= CORE_RX_STATE && alignof(Layers) <= 8);

Layers &layers(core_rx *rx) { return *reinterpret_cast<Layers *>(rx->state); }
const Layers &layers(const core_rx *rx) { return *reinterpret_cast<const Layers *>(rx->state); }

} // namespace
} // namespace srnic

using namespace srnic;

void core_rx_init(struct core_rx *rx, const struct core_rx_params *params)
{
	*rx = {};
	layers(rx).upper.start(*params);
	layers(rx).start(params->crc, params->markers);
}

struct core_rx_step core_rx_next(struct core_rx *rx) { return layers(rx).next(); }

enum core_rx_event core_rx_took(struct core_rx *rx, u32 n) { return layers(rx).took(n); }

enum core_rx_event core_rx_placed(struct core_rx *rx, const u8 *data, u32 n)
{
	return layers(rx).placed(data, n);
}

enum core_rx_event core_rx_fail(struct core_rx *rx, enum core_region_verdict verdict)
{
	Layers &all = layers(rx);

	return all.upper.fail(all.ulpdu(), all.ulpdu_len(), verdict);
}

enum core_rx_event core_rx_fail_invalidate(struct core_rx *rx, enum core_region_verdict verdict)
{
	Layers &all = layers(rx);

	return all.upper.fail_invalidate(all.ulpdu(), all.ulpdu_len(), verdict);
}

void core_rx_stop(struct core_rx *rx) { layers(rx).upper.stop(); }

bool core_rx_between(const struct core_rx *rx) { return layers(rx).between(); }

u64 core_rx_fpdus(const struct core_rx *rx) { return layers(rx).fpdus(); }

const struct core_rx_message *core_rx_delivered(const struct core_rx *rx)
{
	return &layers(rx).upper.messages.message();
}

const struct core_asked *core_rx_asked(const struct core_rx *rx)
{
	return &layers(rx).upper.messages.asked();
}

u64 core_rx_original(const struct core_rx *rx) { return layers(rx).upper.messages.original(); }

const struct core_terminate *core_rx_terminate(const struct core_rx *rx)
{
	return &layers(rx).upper.terminate();
}
