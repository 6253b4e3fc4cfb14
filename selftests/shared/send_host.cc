// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The core's host functions for sending, but for those of the send queue.
#include "send_host.hh"

bool core_host_validated(void *ctx) { return SendHost::of(ctx).validated; }
void core_host_built(void *ctx) { SendHost::of(ctx).built = SendHost::of(ctx).taken; }
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
	const bool found = !host.asked.empty();

	if (found)
		*out = host.asked.front();
	if (host.meanwhile)
		host.meanwhile();
	return found;
}

void core_host_answered(void *ctx)
{
	SendHost &host = SendHost::of(ctx);

	REQUIRE(!host.asked.empty());
	if (!host.asked.empty())
		host.asked.pop_front();
	host.answered++;
}

void core_host_terminate(void *ctx, const struct core_terminate *term)
{
	REQUIRE(!SendHost::of(ctx).terminate);
	SendHost::of(ctx).terminate = *term;
}
