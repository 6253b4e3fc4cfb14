// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Rows of FPDUs that come on a stream, which segments.cc plays: what becomes of the stream, and
// helpers to write them.
#pragma once

#include "../../shared/attacks/attack.hh"
#include "stage.hh"

namespace strangers {

using attacks::Attack;
using attacks::Build;
using attacks::Scene;
using attacks::the_last;

enum class Kind { done, refused, breaks };

// What becomes of the stream. delivered: requests.
struct Fate {
	Kind kind;
	u32 delivered;
	u8 syndrome = nothing;
	Cause cause = {};
};

inline Fate done(u32 delivered = 1) { return {Kind::done, delivered}; }
inline Fate refused(u8 syndrome, u32 delivered = 0) { return {Kind::refused, delivered, syndrome}; }
inline Fate breaks(const Cause &cause, u32 delivered = 0)
{
	return {Kind::breaks, delivered, nothing, cause};
}

struct More {
	unsigned good = 0;			    // receives
	ibv_wc_status broken = IBV_WC_WR_FLUSH_ERR; // of the next one
	Options options = {};
	unsigned acks = 0; // of the stranger's, in the attack
	u32 features = 0;  // that both ends know
};

struct Row {
	std::string name;
	Fate fate;
	Build build;
	More more = {};
};

inline Untagged send(const Bytes &data, u8 rdmap = op_send, u32 msn = 1)
{
	return {.rdmap = rdmap, .msn = msn, .data = data};
}

// The part of a message that is not its last.
inline Bytes begun(Untagged segment)
{
	segment.ddp = more_untagged;
	return fpdu(segment);
}

inline Bytes begun(Tagged segment)
{
	segment.ddp = more_tagged;
	return fpdu(segment);
}

inline Tagged write_in(const Region &region, u64 offset, size_t len, u8 rdmap = op_write)
{
	return {.rdmap = rdmap,
		.stag = region.stag,
		.to = region.to + offset,
		.data = payload(len)};
}

// Offsets count from the first aligned word of the region.
inline u64 word_of(const Region &region) { return (region.to + 7) & ~u64{7}; }

// Requests behind the one that is refused have no effect.
inline Build and_then_a_write(Build first)
{
	return [=](const Scene &s) {
		Attack attack = first.make(s);

		attack.fpdus.push_back(fpdu(write_in(s["both"], 0, 16)));
		attack.fpdus.push_back(fpdu(send(payload(3))));
		return attack;
	};
}

// A Write that begins well, and another FPDU. What is placed of it is not taken back.
inline Build inside_a_write(Bytes second, u8 bits = 0)
{
	return [=](const Scene &s) {
		return Attack{{begun(write_in(s["both"], 0, 8, op_write | bits)), second},
			      the_last,
			      {{s["both"].to, payload(8)}}};
	};
}

inline Build inside_a_send(Bytes second)
{
	return [=](const Scene &s) {
		return Attack{
			{begun(send(payload(8))), second}, the_last, {}, {{s["receive0"].to, 8}}};
	};
}

inline Untagged of_queue(u32 queue, u8 rdmap)
{
	return {.rdmap = rdmap, .qn = queue, .data = Bytes(8)};
}

inline constexpr Cause unexpected = operation(6), no_order = operation(6);
inline constexpr u8 unspecified = 0xff;

std::vector<Row> extended_rows(); // extended.cc: Flush and Atomic Write

} // namespace strangers
