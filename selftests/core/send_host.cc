// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The scheduler's host functions, implemented by the fake.
#include "send_host.hh"

bool core_host_validated(void *ctx) { return SendHost::of(ctx).validated; }

const struct srnic_send_wqe *core_host_next_send(void *ctx)
{
	SendHost &host = SendHost::of(ctx);

	if (host.posted.empty() || host.terminate)
		return nullptr;
	host.current = host.posted.front();
	return reinterpret_cast<const srnic_send_wqe *>(host.current.octets);
}

void core_host_take_send(void *ctx)
{
	SendHost::of(ctx).posted.pop_front();
	SendHost::of(ctx).taken++;
}

bool core_host_verify_list(void *ctx, u32 access)
{
	SendHost::of(ctx).list_access = access;
	return SendHost::of(ctx).list_usable;
}

void core_host_built(void *ctx) { SendHost::of(ctx).built = SendHost::of(ctx).taken; }

void core_host_complete(void *ctx, u8 status)
{
	SendHost &host = SendHost::of(ctx);

	host.completions.push_back({host.taken - 1, status});
}

bool core_host_local_invalidate(void *ctx, u32 stag)
{
	SendHost::of(ctx).invalidated.push_back(stag);
	return SendHost::of(ctx).local_works;
}

bool core_host_register(void *ctx, const struct srnic_send_wqe *wqe)
{
	SendHost::of(ctx).registered.push_back(static_cast<u32>(wqe->arg[1] >> 32));
	return SendHost::of(ctx).local_works;
}

u32 core_host_random(void *ctx) { return SendHost::of(ctx).random; }

void core_host_expect_read(void *ctx, const struct core_read_sink *sink, enum core_read_kind kind)
{
	SendHost::of(ctx).reads.push_back({*sink, kind});
}

u32 core_host_reads(void *ctx) { return static_cast<u32>(SendHost::of(ctx).reads.size()); }

bool core_host_wait_for_reads(void *ctx, u32 most)
{
	bool waits = core_host_reads(ctx) > most;

	SendHost::of(ctx).waits += waits;
	return waits;
}

bool core_host_next_read(void *ctx, struct core_asked *out)
{
	SendHost &host = SendHost::of(ctx);

	if (host.asked.empty())
		return false;
	*out = host.asked.front();
	return true;
}

void core_host_answered(void *ctx)
{
	SendHost::of(ctx).asked.pop_front();
	SendHost::of(ctx).answered++;
}

void core_host_terminate(void *ctx, const struct core_terminate *term)
{
	SendHost::of(ctx).terminate = *term;
}
