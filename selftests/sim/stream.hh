// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// One direction of a simulated TCP connection: bytes in order, delivered in pieces of any size, and
// perhaps damaged, or lost with the connection.
#pragma once

#include "model.hh"

namespace sim {

// How the stream is cut for the receiver.
enum class Cut { all, octets, crumbs, segments, mixed };

class Stream {
public:
	Stream(u32 capacity, Cut cut, u32 segment, u64 seed);

	// Takes as much as there is room for: 0 if the buffer is full. Nothing after a reset.
	u32 write(const u8 *data, u32 len);
	// Takes all: the connection has memory for it. The last octets of this direction.
	void write_rest(const u8 *data, u32 len);
	bool reset() const { return is_reset; }
	void do_reset();
	void close() { closed = true; }

	// The next piece for the receiver.
	struct Piece {
		const u8 *data;
		u32 len;
	};
	Piece peek();
	void drop(u32 len);
	// The stream has ended.
	bool over() const { return is_reset || (closed && !queued()); }

	u64 accepted() const { return given; }
	u64 consumed() const { return taken; }
	u32 queued() const { return static_cast<u32>(octets.size() - head); }

	// Flips a bit of the byte at this place in the stream, when it passes. Once only.
	void damage(u64 at, u8 bit);
	bool to_be_damaged() const { return flip_at != ~0ull; }
	bool damaged() const { return flip_at < taken; }
	u64 damaged_at() const { return flip_at; }

private:
	u32 cut_len();

	Bytes octets;
	size_t head = 0;
	u64 given = 0, taken = 0;
	u64 flip_at = ~0ull;
	u8 flip_bit = 0;
	u32 capacity, segment;
	Cut cut;
	bool is_reset = false, closed = false;
	Random random;
};

} // namespace sim
