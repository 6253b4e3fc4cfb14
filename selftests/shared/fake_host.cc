// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The core's host functions for receiving, implemented by the fake.
#include "fake_host.hh"

#include <cstring>

using wire::Bytes;
using Wide = unsigned __int128;

// ---- called by the core ----

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

enum core_region_verdict core_host_place(void *ctx, const struct core_place *at, const u8 *data,
					 u32 n, u32 *sum)
{
	const core_region_verdict verdict = FakeHost::of(ctx).place_checked(*at, data, n);

	if (verdict == CORE_REGION_OK && sum)
		*sum = core_host_crc32c(*sum, data, n);
	return verdict;
}

enum core_take core_host_receive(void *ctx, u32 *room)
{
	return FakeHost::of(ctx).take_receive(*room);
}

bool core_host_read_sink(void *ctx, struct core_read_sink *out)
{
	FakeHost &host = FakeHost::of(ctx);

	if (host.reads.empty()) {
		if (host.after_read_sink)
			host.after_read_sink();
		return false;
	}
	*out = host.reads.front().read;
	return true;
}

enum core_region_verdict core_host_atomic(void *ctx, const struct core_atomic_request *request,
					  u64 *original)
{
	return FakeHost::of(ctx).execute(*request, *original);
}

enum core_region_verdict core_host_atomic_write(void *ctx, const struct core_extended *request)
{
	return FakeHost::of(ctx).execute(*request);
}

bool core_host_read_room(void *ctx) { return FakeHost::of(ctx).read_room > 0; }

u32 core_host_crc32c(u32 crc, const void *data, u64 len)
{
	crcs_computed++;
	return core_crc32c_table(crc, data, len);
}

core_take FakeHost::take_receive(u32 &room)
{
	REQUIRE(!receive_active);
	if (receives.empty())
		return CORE_TAKE_EMPTY;
	Receive taken = std::move(receives.front());
	receives.pop_front();
	if (taken.verdict != CORE_TAKE_OK)
		return taken.verdict;
	receives_taken++;
	receiving = std::move(taken.memory);
	filled = 0;
	receive_active = true;
	room = static_cast<u32>(receiving.size());
	return CORE_TAKE_OK;
}

// ---- placement ----

static u8 *within(Bytes &memory, Wide offset, u32 n)
{
	return offset + n <= memory.size() ? memory.data() + static_cast<size_t>(offset) : nullptr;
}

u8 *FakeHost::region_target(const core_place &at, u32 n)
{
	auto found = regions.find(at.stag);

	if (found == regions.end())
		return nullptr;
	const core_region &grant = found->second.grant;

	if (grant.pd != pd || (grant.qpn && grant.qpn != qpn) ||
	    !(grant.access & CORE_ACCESS_REMOTE_WRITE) || at.to < grant.base ||
	    Wide{at.to} + n > Wide{1} << 64)
		return nullptr;
	return within(found->second.memory, at.to - grant.base, n);
}

u8 *FakeHost::receive_target(const core_place &at, u32 n)
{
	if (!receive_active || at.to != filled)
		return nullptr;
	filled += n;
	return within(receiving, at.to, n);
}

u8 *FakeHost::read_target(const core_place &at, u32 n)
{
	if (reads.empty())
		return nullptr;
	core_read_sink &read = reads.front().read;

	if (at.stag != read.stag || at.to != read.placed || Wide{at.to} + n > read.length)
		return nullptr;
	read.placed += n;
	return within(reads.front().memory, at.to, n);
}

// Where n bytes are to be placed, or nullptr if they must not.
u8 *FakeHost::target(const core_place &at, u32 n)
{
	switch (at.kind) {
	case CORE_PLACE_REGION:
		return region_target(at, n);
	case CORE_PLACE_RECEIVE:
		return receive_target(at, n);
	case CORE_PLACE_READ:
		return read_target(at, n);
	default:
		return nullptr;
	}
}

void FakeHost::place(const core_place &at, const u8 *from, u32 n)
{
	u8 *granted = target(at, n);

	REQUIRE(granted);
	if (granted)
		memcpy(granted, from, n);
}

core_region_verdict FakeHost::place_checked(const core_place &at, const u8 *from, u32 n)
{
	core_region grant;
	core_region_verdict verdict = whole_verdict;

	REQUIRE(n);
	placed_whole++;
	if (at.kind == CORE_PLACE_REGION && verdict == CORE_REGION_OK) {
		if (!core_host_region(this, at.stag, &grant))
			return CORE_REGION_INVALID;
		verdict = core_region_check(&grant, {pd, qpn}, CORE_ACCESS_REMOTE_WRITE, at.to, n);
	}
	if (verdict != CORE_REGION_OK)
		return verdict;
	if (before_placing)
		before_placing(at, n);
	place(at, from, n);
	return verdict;
}

// ---- atomic operations ----

// As the module does it: access and bounds, then alignment in memory.
core_region_verdict FakeHost::find_word(u32 stag, u64 to, u32 access, u8 *&word)
{
	core_region grant;
	core_region_verdict verdict;

	if (!core_host_region(this, stag, &grant))
		return CORE_REGION_INVALID;
	verdict = core_region_check(&grant, {pd, qpn}, access, to, sizeof(u64));
	if (verdict != CORE_REGION_OK)
		return verdict;
	if ((to - grant.base) % sizeof(u64))
		return CORE_REGION_ALIGNMENT;
	word = within(regions.at(stag).memory, to - grant.base, sizeof(u64));
	REQUIRE(word);
	return word ? CORE_REGION_OK : CORE_REGION_BOUNDS;
}

core_region_verdict FakeHost::execute(const core_atomic_request &request, u64 &original)
{
	const u8 code = request.op.code;
	u8 *word = nullptr;
	u64 before, after;

	REQUIRE(code == CORE_ATOMIC_FETCH_ADD || code == CORE_ATOMIC_CMP_SWAP ||
		(swaps && code == CORE_ATOMIC_SWAP));
	const core_region_verdict verdict =
		find_word(request.stag, request.to, CORE_ACCESS_REMOTE_ATOMIC, word);

	if (verdict != CORE_REGION_OK)
		return verdict;
	memcpy(&before, word, sizeof(before));
	after = before;
	original = core_atomic_execute(&request.op, &after);
	REQUIRE(original == before);
	memcpy(word, &after, sizeof(after));
	atomics_done++;
	return CORE_REGION_OK;
}

core_region_verdict FakeHost::execute(const core_extended &request)
{
	u8 *word = nullptr;
	u64 after = 0;

	REQUIRE(request.code == CORE_EXTENDED_ATOMIC_WRITE && request.to % sizeof(u64) == 0);
	const core_region_verdict verdict =
		find_word(request.stag, request.to, CORE_ACCESS_REMOTE_WRITE, word);

	if (verdict != CORE_REGION_OK)
		return verdict;
	core_atomic_write(request.data, &after);
	memcpy(word, &after, sizeof(after));
	atomics_done++;
	return CORE_REGION_OK;
}

// ---- delivery ----

Bytes FakeHost::deliver_send(const core_rx &rx)
{
	const core_rx_message &message = *core_rx_delivered(&rx);
	const Bytes immediate(message.immediate, message.immediate + sizeof(message.immediate));
	Bytes data = std::move(receiving);

	REQUIRE(message.rtr != receive_active);
	receiving.clear();
	receive_active = false;
	if (message.is_immediate) {
		REQUIRE(!message.invalidate && !filled);
		return immediate;
	}
	if (message.rtr) {
		REQUIRE(!message.length && core_rx_fpdus(&rx) == 1);
		return {};
	}
	REQUIRE(message.length == filled);
	return data.slice(0, message.length);
}

Bytes FakeHost::deliver_read_response()
{
	REQUIRE(!reads.empty() && !reads.front().read.atomic &&
		reads.front().read.placed == reads.front().read.length);
	if (reads.empty())
		return {};
	Bytes data = std::move(reads.front().memory);

	reads.pop_front();
	return data;
}

Bytes FakeHost::deliver_atomic_response(u64 original)
{
	REQUIRE(!reads.empty() && reads.front().read.atomic);
	if (!reads.empty())
		reads.pop_front();
	return wire::be64(original);
}

// RFC 5040 7.2, 4.
void FakeHost::check_source(const core_read_request &request) const
{
	auto found = regions.find(request.source_stag);

	REQUIRE(found != regions.end());
	if (found == regions.end())
		return;
	const core_region &grant = found->second.grant;

	REQUIRE(grant.pd == pd && grant.access & CORE_ACCESS_REMOTE_READ);
	REQUIRE(!grant.qpn || grant.qpn == qpn);
	REQUIRE(request.source_to >= grant.base &&
		Wide{request.source_to} + request.length <= Wide{grant.base} + grant.length);
}

void FakeHost::deliver_request(const core_asked &asked)
{
	REQUIRE(read_room);
	read_room--;
	if (asked.kind != CORE_ASKED_ATOMIC && asked.read.length)
		check_source(asked.read);
}

Bytes FakeHost::deliver(core_rx &rx, core_rx_event event)
{
	switch (event) {
	case CORE_RX_SEND:
		return deliver_send(rx);
	case CORE_RX_READ_REQUEST:
	case CORE_RX_ATOMIC_REQUEST:
		REQUIRE((core_rx_asked(&rx)->kind == CORE_ASKED_ATOMIC) ==
			(event == CORE_RX_ATOMIC_REQUEST));
		deliver_request(*core_rx_asked(&rx));
		return {};
	case CORE_RX_READ_RESPONSE:
		return deliver_read_response();
	case CORE_RX_ATOMIC_RESPONSE:
		return deliver_atomic_response(core_rx_original(&rx));
	case CORE_RX_TERMINATE:
	case CORE_RX_ERROR:
		REQUIRE(core_rx_next(&rx).kind == CORE_RX_STOP);
		return {};
	default:
		return {};
	}
}
