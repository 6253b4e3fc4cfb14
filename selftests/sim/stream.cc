// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "stream.hh"

namespace sim {

Stream::Stream(u32 capacity_, Cut cut_, u32 segment_, u64 seed)
	: capacity(capacity_), segment(std::max(segment_, 1u)), cut(cut_), random(seed)
{
}

u32 Stream::write(const u8 *data, u32 len)
{
	u32 n = std::min(len, capacity - std::min(capacity, queued()));
	u64 start = given;

	if (is_reset || closed)
		return 0;
	given += n;
	octets.insert(octets.end(), data, data + n);
	if (flip_at >= start && flip_at < start + n)
		octets[octets.size() - n + (flip_at - start)] ^= flip_bit;
	return n;
}

void Stream::write_rest(const u8 *data, u32 len)
{
	capacity = ~0u;
	write(data, len);
}

void Stream::do_reset()
{
	is_reset = true;
	octets.clear();
	head = 0;
}

void Stream::damage(u64 at, u8 bit)
{
	flip_at = std::max(at, given);
	flip_bit = bit;
}

u32 Stream::cut_len()
{
	switch (cut) {
	case Cut::octets:
		return 1;
	case Cut::crumbs:
		return 1 + static_cast<u32>(below(random, 9));
	case Cut::segments:
		return segment;
	case Cut::mixed:
		return 1 + static_cast<u32>(below(random, one_in(random, 3) ? 24 : 3000));
	default:
		return ~0u;
	}
}

Stream::Piece Stream::peek() { return {octets.data() + head, std::min(queued(), cut_len())}; }

void Stream::drop(u32 len)
{
	len = std::min(len, queued()); // there may have been a reset
	head += len;
	taken += len;
	if (head == octets.size() || head > 1 << 16) {
		octets.erase(octets.begin(), octets.begin() + static_cast<ptrdiff_t>(head));
		head = 0;
	}
}

} // namespace sim
