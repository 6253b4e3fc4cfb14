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

// As the module does it: access and bounds, then alignment in memory.
enum core_region_verdict core_host_atomic(void *ctx, const struct core_atomic_request *request,
					  u64 *original)
{
	FakeHost &host = FakeHost::of(ctx);
	auto found = host.regions.find(request->stag);
	core_region_verdict verdict;
	u64 word;

	if (found == host.regions.end())
		return CORE_REGION_INVALID;
	verdict = core_region_check(&found->second.grant, FakeHost::pd, CORE_ACCESS_REMOTE_ATOMIC,
				    request->to, sizeof(word));
	if (verdict != CORE_REGION_OK)
		return verdict;
	u8 *at = found->second.memory.data() + (request->to - found->second.grant.base);
	if ((request->to - found->second.grant.base) % sizeof(word))
		return CORE_REGION_ALIGNMENT;
	memcpy(&word, at, sizeof(word));
	*original = core_atomic_execute(&request->op, &word);
	memcpy(at, &word, sizeof(word));
	host.atomics_done++;
	return CORE_REGION_OK;
}

bool core_host_read_room(void *ctx) { return FakeHost::of(ctx).read_room > 0; }
u32 core_host_crc32c(u32 crc, const void *data, u64 len)
{
	crcs_computed++;
	return core_crc32c_table(crc, data, len);
}
