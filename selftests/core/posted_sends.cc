// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The core's host functions of the send queue.
#include "posted_sends.hh"

const struct srnic_send_wqe *core_host_next_send(void *ctx)
{
	PostedSends &host = PostedSends::of(ctx);

	if (host.posted.empty() || host.terminate)
		return nullptr;
	host.current = host.posted.front();
	return reinterpret_cast<const srnic_send_wqe *>(host.current.octets);
}

void core_host_take_send(void *ctx)
{
	PostedSends::of(ctx).posted.pop_front();
	PostedSends::of(ctx).taken++;
}

bool core_host_verify_list(void *ctx, u32 access)
{
	PostedSends::of(ctx).list_access = access;
	return PostedSends::of(ctx).list_usable;
}

void core_host_complete(void *ctx, u8 status)
{
	PostedSends &host = PostedSends::of(ctx);

	REQUIRE(host.taken);
	host.completions.push_back({host.taken - 1, status});
	if (host.on_completion)
		host.on_completion();
}

bool core_host_local_invalidate(void *ctx, u32 stag)
{
	PostedSends::of(ctx).invalidated.push_back(stag);
	return PostedSends::of(ctx).local_works;
}

bool core_host_register(void *ctx, const struct srnic_send_wqe *wqe)
{
	PostedSends::of(ctx).registered.push_back(static_cast<u32>(wqe->arg[1] >> 32));
	return PostedSends::of(ctx).local_works;
}

bool core_host_bind(void *ctx, const struct srnic_send_wqe *wqe)
{
	PostedSends::of(ctx).bound.push_back(wqe->rkey);
	return PostedSends::of(ctx).local_works;
}
