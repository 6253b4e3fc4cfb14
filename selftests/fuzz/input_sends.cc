// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The core's host functions of the send queue, answered by the fuzzer's input.
#include "input_sends.hh"

// Slots of noise, and plausible ones with opcode, flags, length and list from the input.
const struct srnic_send_wqe *core_host_next_send(void *ctx)
{
	InputSends &host = InputSends::of(ctx);
	auto *wqe = reinterpret_cast<srnic_send_wqe *>(host.slot);

	if (host.terminate || !host.input.left)
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

static bool works(void *ctx) { return InputSends::of(ctx).input.octet() != 0xff; }

void core_host_take_send(void *ctx) { InputSends::of(ctx).taken++; }
bool core_host_verify_list(void *ctx, u32) { return works(ctx); }
void core_host_complete(void *ctx, u8) { REQUIRE(InputSends::of(ctx).taken); }
bool core_host_local_invalidate(void *ctx, u32) { return works(ctx); }
bool core_host_bind(void *ctx, const struct srnic_send_wqe *) { return works(ctx); }
bool core_host_register(void *ctx, const struct srnic_send_wqe *) { return works(ctx); }
