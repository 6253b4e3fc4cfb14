// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The scheduler's host functions, answered by the fuzzer's input.
#include "send_host.hh"

bool core_host_validated(void *ctx) { return SendHost::of(ctx).validated; }

// Slots of noise, and plausible ones with opcode, flags, length and list from the input.
const struct srnic_send_wqe *core_host_next_send(void *ctx)
{
	SendHost &host = SendHost::of(ctx);
	auto *wqe = reinterpret_cast<srnic_send_wqe *>(host.slot);

	if (host.terminating || (host.queue_empty = !host.input.left))
		return nullptr;
	memset(host.slot, 0, sizeof(host.slot));
	wqe->opcode = host.input.octet() % 9;
	wqe->flags = host.input.octet() & 0x1f;
	wqe->num_sge = host.input.octet() % 3;
	wqe->inline_len = host.input.octet();
	auto *sges = reinterpret_cast<srnic_sge *>(wqe + 1);

	for (u32 i = 0; i < wqe->num_sge; i++)
		sges[i].length = host.input.number(2);
	return wqe;
}

void core_host_take_send(void *ctx) { SendHost::of(ctx).taken++; }
bool core_host_verify_list(void *ctx, u32) { return SendHost::of(ctx).input.octet() != 0xff; }
void core_host_built(void *ctx) { SendHost::of(ctx).built = SendHost::of(ctx).taken; }
void core_host_complete(void *ctx, u8) { REQUIRE(SendHost::of(ctx).taken); }

bool core_host_local_invalidate(void *ctx, u32) { return SendHost::of(ctx).input.octet() != 0xff; }
bool core_host_register(void *ctx, const struct srnic_send_wqe *)
{
	return SendHost::of(ctx).input.octet() != 0xff;
}

u32 core_host_random(void *) { return 0x1234; }

void core_host_expect_read(void *ctx, const struct core_read_sink *sink, enum core_read_kind)
{
	REQUIRE(sink->stag || !SendHost::of(ctx).mpa); // RDMA/TCP: the request's number
	SendHost::of(ctx).reads++;
}

u32 core_host_reads(void *ctx) { return SendHost::of(ctx).reads; }
bool core_host_wait_for_reads(void *ctx, u32 most) { return SendHost::of(ctx).reads > most; }

bool core_host_next_read(void *ctx, struct core_asked *out)
{
	SendHost &host = SendHost::of(ctx);

	*out = {};
	if (host.asked % 3 == 2) {
		out->kind = CORE_ASKED_ATOMIC;
		out->atomic = {5, 6};
	} else {
		out->read = {1, 700 * host.asked, 2, 3, 4};
	}
	return host.asked;
}

void core_host_answered(void *ctx)
{
	SendHost &host = SendHost::of(ctx);

	REQUIRE(host.asked);
	host.asked--;
	host.answered++;
}

void core_host_terminate(void *ctx, const struct core_terminate *)
{
	REQUIRE(!SendHost::of(ctx).terminating);
	SendHost::of(ctx).terminating = true;
}
