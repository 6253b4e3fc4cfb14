// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Extended Requests that come on a stream: Flush and Atomic Write, right and wrong
// (Documentation/ib.rst rules 110 to 116).
#include "segments.hh"

namespace strangers {
namespace {

// IBV_ACCESS_FLUSH_GLOBAL and IBV_ACCESS_FLUSH_PERSISTENT, which Debian 12 has no names for.
constexpr int rights_to_flush = 1 << 8 | 1 << 9;

// Nothing but a part of a Flush of the first aligned word of a region is wrong.
Build flush_of(const char *region, Extended wrong = {}, u64 offset = 0)
{
	return [=](const Scene &s) {
		Extended it = wrong;

		it.stag = s[region].stag;
		it.to = word_of(s[region]) + offset;
		return Attack{{fpdu(extended(it))}};
	};
}

Build one_atomic_write(const char *region, u64 offset = 0)
{
	return [=](const Scene &s) {
		return Attack{{fpdu(
			atomic_write(s[region].stag, word_of(s[region]) + offset, payload(8)))}};
	};
}

Build lands_in_word(u8 bits)
{
	return [=](const Scene &s) {
		Untagged it = atomic_write(s["both"].stag, word_of(s["both"]), payload(8, 7));

		it.rdmap |= bits;
		return Attack{{fpdu(write_in(s["both"], 0, 64)), fpdu(it)},
			      the_last,
			      {{s["both"].to, payload(64)}, {word_of(s["both"]), payload(8, 7)}}};
	};
}

// Of a Flush that is right but for its header.
Build wrong_flush(std::function<void(Untagged &)> spoil)
{
	return [=](const Scene &s) {
		Untagged it = flush(s["both"].stag, s["both"].to, 8);

		spoil(it);
		return Attack{{fpdu(it)}};
	};
}

More agreed(int access = rights_to_flush)
{
	More more{.features = feature_extended};

	more.options.access |= access;
	return more;
}

More agreed_but(int access)
{
	More more = agreed();

	more.options.access &= ~access;
	return more;
}

std::vector<Row> extended_done_rows()
{
	return {
		{"ib 110, 114: an Atomic Write, after a Write to its place", done(2),
		 lands_in_word(0), agreed()},
		{"ib 3: a bit of it has no meaning", done(2), lands_in_word(more), agreed()},
		{"ib 113: a Flush", done(), flush_of("both", {.tail = be64(4000)}), agreed()},
		{"ib 113: of no octets, at the end", done(),
		 flush_of("both", {.tail = be64(0)}, 256 * 1024 - 2 * 0x123 - 5), agreed()},
		{"ib 110, 113: of a region: place and length are not checked", done(),
		 flush_of("both", {.level = 1, .tail = Bytes(8, 0xff)}, 1ull << 60), agreed()},
	};
}

std::vector<Row> extended_refused_rows()
{
	const auto access = refused(access_error), invalid = refused(invalid_request);

	return {
		{"ib 115: access: a Flush of an STag of nobody", access,
		 and_then_a_write(fpdu(flush(0xdeadbe00, 0, 1))), agreed()},
		{"ib 115: access: also of no octets", access, fpdu(flush(0xdeadbe00, 0, 0)),
		 agreed()},
		{"ib 115: access: of a region that is no more", access, flush_of("stale"),
		 agreed()},
		{"ib 115: access: of all of it", access, flush_of("stale", {.level = 1}), agreed()},
		{"ib 115: access: of a region of another domain", access,
		 flush_of("foreign", {.level = 1}), agreed()},
		{"ib 115: access: of a region without that right", access, flush_of("write-only"),
		 agreed()},
		{"ib 115: access: of a region for this end alone", access,
		 flush_of("private", {.level = 1}), agreed()},
		{"ib 115: access: persistence, which no region has", access,
		 flush_of("both", {.type = 2, .level = 1}), agreed()},
		{"ib 115: access: both types", access, flush_of("both", {.type = 3}), agreed()},
		{"ib 115: access: beyond the end", access,
		 flush_of("both", {.tail = be64(256 * 1024)}), agreed()},
		{"ib 115: access: of 2^64 - 1 octets", access,
		 flush_of("both", {.tail = be64(~0ull)}), agreed()},
		{"ib 115: access: before the start", access, flush_of("both", {}, ~u64{63}),
		 agreed()},
		{"ib 115: access: an Atomic Write to an STag of nobody", access,
		 and_then_a_write(fpdu(atomic_write(0xdeadbe00, 0, payload(8)))), agreed()},
		{"ib 115: access: to a region that is no more", access, one_atomic_write("stale"),
		 agreed()},
		{"ib 115: access: to a region of another domain", access,
		 one_atomic_write("foreign"), agreed()},
		{"ib 115: access: to a region for reading", access, one_atomic_write("read-only"),
		 agreed()},
		{"ib 115: access: an Atomic Write beyond the end", access,
		 one_atomic_write("both", 256 * 1024), agreed()},
		{"ib 112: invalid: an Atomic Write at an odd multiple of 4", invalid,
		 one_atomic_write("both", 4), agreed()},
		{"ib 112: invalid: also to an STag of nobody", invalid,
		 fpdu(atomic_write(0xdeadbe00, 1, payload(8))), agreed()},
		{"ib 112: invalid: code 0", invalid, flush_of("both", {.code = 0}), agreed()},
		{"ib 112: invalid: code 3", invalid, flush_of("both", {.code = 3}), agreed()},
		{"ib 112: invalid: code 255", invalid, flush_of("both", {.code = 255}), agreed()},
		{"ib 112: invalid: a Flush of no type", invalid, flush_of("both", {.type = 0}),
		 agreed()},
		{"ib 112: invalid: of a type that there is not", invalid,
		 flush_of("both", {.type = 5}), agreed()},
		{"ib 112: invalid: of a level that there is not", invalid,
		 flush_of("both", {.level = 2}), agreed()},
		{"ib 115: invalid: the QP's flags forbid a Flush", invalid, flush_of("both"),
		 agreed_but(1 << 8)},
		{"ib 115: invalid: they forbid that of persistence", invalid,
		 flush_of("both", {.type = 3}), agreed_but(1 << 9)},
		{"ib 115: invalid: they forbid an Atomic Write", invalid, one_atomic_write("both"),
		 agreed_but(IBV_ACCESS_REMOTE_WRITE)},
	};
}

std::vector<Row> extended_broken_rows()
{
	return {
		{"ib 111: there is no queue 5 where it is not agreed", breaks(untagged(1)),
		 fpdu(flush(1, 0, 1))},
		{"ib 110: a Flush that is too long", breaks(untagged(5)),
		 wrong_flush([](Untagged &it) { it.data.push_back(0); }), agreed()},
		{"ib 110: too short", breaks(operation(unspecified)),
		 wrong_flush([](Untagged &it) { it.data.pop_back(); }), agreed()},
		{"ib 110: in two segments", breaks(operation(unspecified)),
		 wrong_flush([](Untagged &it) { it.ddp = more_untagged; }), agreed()},
		{"ib 110: with an offset", breaks(untagged(4)),
		 wrong_flush([](Untagged &it) { it.mo = 24; }), agreed()},
		{"ib 110: with MSN 2", breaks(untagged(3)),
		 wrong_flush([](Untagged &it) { it.msn = 2; }), agreed()},
		{"ib 110: on the queue of Sends", breaks(unexpected),
		 wrong_flush([](Untagged &it) { it.qn = 0; }), agreed()},
		{"ib 110: on a queue that there is not", breaks(untagged(1)),
		 wrong_flush([](Untagged &it) { it.qn = 6; }), agreed()},
		{"ib 110: tagged", breaks(unexpected), fpdu(Tagged{.rdmap = op_extended}),
		 agreed()},
		{"ib 110: a Send on its queue", breaks(unexpected), fpdu(of_queue(5, op_send)),
		 agreed()},
		{"ib 7, 110: a Flush inside an RDMA Write", breaks(no_order),
		 inside_a_write(fpdu(flush(1, 0, 1))), agreed()},
		{"ib 7, 110: an Atomic Write inside a Send", breaks(no_order),
		 inside_a_send(fpdu(atomic_write(1, 0, payload(8)))), agreed()},
		{"ib 6, 110: a Flush before the Immediate Data", breaks(no_order),
		 [](const Scene &s) {
			 return Attack{{fpdu(write_in(s["both"], 0, 8, op_write | more)),
					fpdu(flush(1, 0, 1))},
				       the_last,
				       {{s["both"].to, payload(8)}}};
		 },
		 agreed()},
		{"ib 25, 110: an Atomic Write is done once the CRC is good", breaks(bad_crc),
		 [](const Scene &s) {
			 return Attack{{damaged(
				 fpdu(atomic_write(s["both"].stag, word_of(s["both"]), payload(8))),
				 40)}};
		 },
		 agreed()},
	};
}

} // namespace

std::vector<Row> extended_rows()
{
	std::vector<Row> all = extended_done_rows();

	for (auto more_rows : {extended_refused_rows, extended_broken_rows})
		for (const Row &row : more_rows())
			all.push_back(row);
	return all;
}

} // namespace strangers
