// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A host for the core's scheduler: outstanding reads, the peer's requests, and the calls it got.
// Its users add the send queue: posted_sends of core, input_sends of fuzz.
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "api/core.h"
#include "require.hh"

struct SendHost {
	struct Expected {
		core_read_sink sink;
		core_read_kind kind;
	};

	// Its answers.
	bool validated = true;
	u32 random = 0x1000;
	std::deque<core_asked> asked; // by the peer
	std::deque<Expected> reads;   // outstanding

	// The receive half, which may run at any time: called when an answer is decided, before the
	// engine has it.
	std::function<void()> meanwhile;

	// The calls it got.
	u32 taken = 0, built = 0, answered = 0, waits = 0;
	std::optional<core_terminate> terminate;

	static SendHost &of(void *ctx) { return *static_cast<SendHost *>(ctx); }

	void ask(const core_read_request &read)
	{
		core_asked what{};

		what.read = read;
		asked.push_back(what);
	}
	void ask_atomic(u32 id, u64 original)
	{
		core_asked what{};

		what.kind = CORE_ASKED_ATOMIC;
		what.atomic = {id, original};
		asked.push_back(what);
	}
};
