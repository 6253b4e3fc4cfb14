// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The core's host functions of the send queue, for streams with acknowledgements.
#include "ib_sends.hh"

const struct srnic_send_wqe *core_host_next_send(void *ctx)
{
	RingSends &host = RingSends::of(ctx);

	host.runs_meanwhile();
	if (host.next == host.posted)
		return nullptr;
	host.current = host.slots[host.next % RingSends::entries];
	return reinterpret_cast<const srnic_send_wqe *>(host.current.octets);
}

void core_host_take_send(void *ctx)
{
	RingSends::of(ctx).next++;
	RingSends::of(ctx).taken++;
}

bool core_host_verify_list(void *ctx, u32)
{
	RingSends::of(ctx).runs_meanwhile();
	return RingSends::of(ctx).list_usable;
}

void core_host_complete(void *ctx, u8 status)
{
	RingSends &host = RingSends::of(ctx);

	REQUIRE(host.next != host.freed);
	host.failed |= status != SRNIC_WC_SUCCESS;
	host.finish(host.next - 1);
}

bool core_host_local_invalidate(void *ctx, u32) { return RingSends::of(ctx).local_works; }
bool core_host_register(void *ctx, const struct srnic_send_wqe *)
{
	return RingSends::of(ctx).local_works;
}

bool core_host_bind(void *ctx, const struct srnic_send_wqe *)
{
	return RingSends::of(ctx).local_works;
}
