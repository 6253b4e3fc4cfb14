// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The victim: a QP of type UD of the device, whose receives lie among canaries.
#pragma once

#include "../byhand/ends.hh"
#include "grh.hh"

namespace strays {

class Receiver {
	static constexpr u64 slots = 8, room = 8192; // octets of a slot; the rest is canary
	static constexpr u8 canary = 0xa5;
	const Port &port;
	Bytes memory = Bytes(slots * room, canary);
	ibv_mr *mr;
	u64 posted = 0, taken = 0;
	Bytes last_grh;

	Bytes slot(u64 number) const { return memory.slice(number % slots * room, room); }
	void post_with(u32 len, u32 lkey);
	void want_canaries(u64 number, size_t from) const;

public:
	static constexpr u32 all = grh_octets + most_payload;
	Queue sends, receives;
	ibv_qp *qp;

	// In RTS, with so many receives of `len` octets.
	explicit Receiver(const Port &at, unsigned receives = 4, u32 len = all);
	Receiver(const Receiver &) = delete;
	~Receiver();

	void to(ibv_qp_state state);
	void to_rts();
	void post(u32 len = all);
	// A receive with a key of nobody.
	void post_bad();
	// By a Send to no address handle, which fails.
	void to_sqe();
	ibv_qp_state state() const;
	// The next receive is filled with this datagram and with nothing else, and posted again. So
	// many others have come after it.
	ibv_wc want(const Datagram &datagram, const Way &way, u64 behind = 0);
	// None has come, and no receive has changed.
	void want_nothing();
	// That of the last datagram.
	const Bytes &grh() const { return last_grh; }
};

} // namespace strays
