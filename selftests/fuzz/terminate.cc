// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The Terminate parser: any octets of any length. A Terminate that it accepts can be built and
// parsed to the same. A refusal of our request fits the DDP header in the Terminate.
#include <rdma/srnic-abi.h>

#include "host.hh"

static void require_sense(const core_terminate &term)
{
	core_refusal refusal = core_terminate_refusal(&term);
	bool tagged = term.ddp[0] & 0x80;

	REQUIRE(core_terminate_code(&term) <= 0xffff);
	REQUIRE(core_terminate_event(&term) <= CORE_STREAM_REQUEST_ERROR);
	if (refusal.what == CORE_REFUSED_NOTHING)
		return;
	if (refusal.what == CORE_REFUSED_ATOMIC) {
		REQUIRE(!term.has_ddp && refusal.status == SRNIC_WC_REM_OP_ERR);
		return;
	}
	REQUIRE(term.has_ddp && tagged == (refusal.what == CORE_REFUSED_WRITE));
	REQUIRE(refusal.status == SRNIC_WC_REM_ACCESS_ERR ||
		refusal.status == SRNIC_WC_REM_INV_REQ_ERR ||
		refusal.status == SRNIC_WC_REM_OP_ERR);
	REQUIRE(refusal.status != SRNIC_WC_REM_OP_ERR ||
		(refusal.what == CORE_REFUSED_READ && (term.ddp[1] & 15) == 10));
}

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	auto exact = std::make_unique<u8[]>(size);
	auto built = std::make_unique<u8[]>(CORE_TERM_MAX);
	core_terminate term{}, again{};
	u32 len, needed = 4;

	if (size)
		memcpy(exact.get(), data, size);
	if (!core_terminate_parse(exact.get(), static_cast<u32>(size), &term))
		return 0;
	REQUIRE(size >= 4);
	needed += data[2] & 0xc0 ? 2 : 0;
	needed += data[2] & 0x40 ? (data[needed] & 0x80 ? 14 : 18) : 0;
	needed += data[2] & 0x20 ? 28 : 0;
	REQUIRE(size >= needed);
	REQUIRE(term.layer == data[0] >> 4 && term.etype == (data[0] & 15) && term.code == data[1]);
	REQUIRE(term.has_ddp == (data[2] >> 6 & 1) && term.has_rdmap == (data[2] >> 5 & 1));
	REQUIRE(term.ddp_header_len == 0 || term.ddp_header_len == 14 || term.ddp_header_len == 18);

	len = core_terminate_build(&term, built.get());
	REQUIRE(len <= CORE_TERM_MAX);
	REQUIRE(core_terminate_parse(built.get(), len, &again));
	REQUIRE(term.layer == again.layer && term.etype == again.etype && term.code == again.code);
	REQUIRE(term.has_ddp == again.has_ddp && term.has_rdmap == again.has_rdmap);
	REQUIRE(memcmp(term.ddp, again.ddp, sizeof(term.ddp)) == 0);
	REQUIRE(memcmp(term.read_request, again.read_request, sizeof(term.read_request)) == 0);
	require_sense(term);
	return 0;
}
