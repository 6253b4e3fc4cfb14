// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The core's host functions, implemented by the fake.
#include "fake_host.hh"

bool core_host_region(void *ctx, u32 stag, struct core_region *out)
{
	FakeHost &host = FakeHost::of(ctx);
	auto found = host.regions.find(stag);

	host.regions_asked++;
	if (found == host.regions.end())
		return false;
	*out = found->second.grant;
	return true;
}

enum core_take core_host_receive(void *ctx, u32 *room)
{
	FakeHost &host = FakeHost::of(ctx);

	if (host.receives.empty())
		return CORE_TAKE_EMPTY;
	FakeHost::Receive taken = std::move(host.receives.front());
	host.receives.pop_front();
	if (taken.verdict != CORE_TAKE_OK)
		return taken.verdict;
	host.receives_taken++;
	host.receiving = std::move(taken.memory);
	*room = static_cast<u32>(host.receiving.size());
	return CORE_TAKE_OK;
}

bool core_host_read_sink(void *ctx, struct core_read_sink *out)
{
	FakeHost &host = FakeHost::of(ctx);

	if (host.reads.empty())
		return false;
	*out = host.reads.front().read;
	return true;
}

bool core_host_read_room(void *ctx) { return FakeHost::of(ctx).read_room > 0; }
u32 core_host_crc32c(u32 crc, const void *data, u64 len)
{
	crcs_computed++;
	return core_crc32c_table(crc, data, len);
}
