// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Two ends of a stream with acknowledgements. The input decides what happens, in any order: either
// end's program, its engine, what arrives of the other's octets, and what goes wrong. The first
// end's peer may also lie: then its Acks and other octets are changed, with good CRCs, or all that
// comes is out of the input. Each end's ledger checks it, whatever its peer says; and where nobody
// lies no end finds an error.
#include "ib_end.hh"

namespace {

using namespace wire;

constexpr u8 syndromes[] = {0, 0, 1, 1, 1, 2, 3, 4, 5, 255};

// As wire::fpdu(), and faster.
Bytes framed(const Bytes &ulpdu, bool crc)
{
	Bytes out = be16(ulpdu.size()) + ulpdu;
	u8 field[4] = {};

	out.resize((out.size() + 3) / 4 * 4);
	if (crc)
		core_crc_field(core_crc32c_table(CORE_CRC_SEED, out.data(), out.size()), field);
	out.insert(out.end(), field, field + 4);
	return out;
}

struct World {
	Input input;
	bool crc, honest;  // honest: nobody lies, and no octets are made up
	u32 acks_sent = 0; // by the second end, or in its name
	IbEnd first, second;
	std::deque<Bytes> to_first, to_second;
	bool cut = false; // a part of the first FPDU to the first end is there

	World(Input its_input, u8 flags)
		: input(its_input), crc(flags & 2), honest(flags & 1), first(choices(flags, true)),
		  second(choices(flags, false))
	{
	}

	IbChoices choices(u8 flags, bool initiator)
	{
		const u8 more = input.octet();

		return {initiator != !!(flags & 8),
			!!(flags & 2),
			!!(flags & 4),
			static_cast<u8>(1 + more % 16),
			static_cast<u8>(more >> 4 & 7),
			flags & 0x10 ? ~2u : 0,
			!!(flags & 0x20)};
	}

	// ---- the network ----

	IbEnd &end(bool which) { return which ? second : first; }

	void arrive(bool at_second, u32 octets)
	{
		std::deque<Bytes> &queue = at_second ? to_second : to_first;

		if (queue.empty())
			return;
		cut = at_second ? cut : octets < queue.front().size();
		if (octets >= queue.front().size()) {
			const Bytes all = queue.front();

			queue.pop_front();
			return end(at_second).feed(all);
		}
		const Bytes some = queue.front().slice(0, octets);

		queue.front() = queue.front().slice(octets, ~size_t{0});
		end(at_second).feed(some);
	}

	// Acks are numbered anew, because some may have been added.
	Bytes renumbered(const Bytes &octets)
	{
		const Bytes ulpdu = octets.slice(2, octets[0] << 8 | octets[1]);

		if (honest || (ulpdu[1] & 0x0f) != 12)
			return octets;
		return framed(ulpdu.slice(0, 10) + be32(++acks_sent) +
				      ulpdu.slice(14, ulpdu.size()),
			      crc);
	}

	void build(bool by_second, u8 how)
	{
		IbEnd &builder = end(by_second);
		u32 questions = how % 4;
		const Bytes out = builder.build([&] {
			if (questions && !--questions)
				arrive(by_second, how & 4 ? ~0u : how >> 3);
		});

		if (out.empty())
			return;
		if (by_second)
			to_first.push_back(renumbered(out));
		else
			to_second.push_back(out);
	}

	// ---- lies ----

	// An Ack that may be true.
	void make_ack()
	{
		const u8 what = input.octet();
		Untagged it = wire::ack({first.sent.acked + (what & 7) - (what == 0xff),
					 syndromes[(what >> 3) % 10], input.octet()});

		it.msn = ++acks_sent;
		it.rdmap |= what >= 0xc0 ? ask : 0;
		to_first.push_back(framed(it, crc));
	}

	// One field of an FPDU on its way to the first end is another one.
	void change()
	{
		const u8 which = input.octet(), at = input.octet(), value = input.octet();

		if (to_first.size() <= cut)
			return;
		Bytes &octets = to_first[cut + which % (to_first.size() - cut)];
		Bytes ulpdu = octets.slice(2, octets[0] << 8 | octets[1]);

		if (ulpdu.empty())
			return;
		ulpdu[at % ulpdu.size()] = value;
		octets = framed(ulpdu, crc);
	}

	Bytes make_tagged(u8 shape)
	{
		const bool response = shape & 1;
		Tagged it = {.rdmap = op_write, .stag = IbEnd::stag, .to = IbEnd::base};

		it.ddp = shape & 2 ? 0x81 : 0xc1;
		it.rdmap = response ? op_read_response : op_write;
		it.rdmap |= shape & 0x0c ? 0 : more;
		it.data = input.take(input.octet() % 64);
		if (!response || first.sends.reads.empty())
			return it;
		const core_read_sink &sink = first.sends.reads.front().sink;

		it.stag = sink.stag;
		it.to = sink.to + sink.placed;
		if (shape & 4)
			it.data.resize(sink.length - sink.placed);
		return it;
	}

	Bytes make_send(u8 shape)
	{
		static constexpr u8 opcodes[] = {op_send,	 op_send_inv,	op_send_se,
						 op_immediate,	 op_send_imm,	op_immediate_se,
						 op_send_se_imm, op_send_se_inv};
		Untagged it = {.rdmap = opcodes[shape % 8]};

		it.ddp = shape & 8 ? 0x01 : 0x41;
		it.msn = first.received.next_send();
		it.mo = first.places.receive_active ? first.places.filled : 0;
		it.data = input.take(input.octet() % 64);
		if ((it.rdmap & 15) == 8 || (it.rdmap & 15) == 9)
			it.data.resize(shape & 0x10 ? it.data.size() : 8);
		return it;
	}

	Bytes make_extended(u8 shape)
	{
		const u8 where = input.octet();

		return extended({.code = static_cast<u8>(shape >> 3 & 3),
				 .type = static_cast<u8>(where & 7),
				 .level = static_cast<u8>(where >> 3 & 3),
				 .stag = where & 0x20 ? 1 : IbEnd::stag,
				 .to = IbEnd::base + (where >> 6) * 8u,
				 .tail = be64(where)},
				first.received.next_extended()) +
		       Bytes(shape & 4 ? shape >> 3 & 1 : 0); // too long
	}

	Bytes make_request(u8 shape)
	{
		if (shape & 1)
			return make_extended(shape);

		const u32 msn = first.received.next_read(), length = input.octet();
		const Bytes tail(shape & 4 ? shape >> 3 & 1 : 0); // too long

		if (shape & 2)
			return read_request({1, 0, length, IbEnd::stag, IbEnd::base}, msn) + tail;
		return atomic_request({.code = shape >> 3 & 3u,
				       .stag = IbEnd::stag,
				       .to = IbEnd::base + (length & 0x18)},
				      msn) +
		       tail;
	}

	Bytes make_atomic_response()
	{
		const u32 id = first.sends.reads.empty() ? 0 : first.sends.reads.front().sink.stag;

		return atomic_response(id, 5, 1 + input.octet() % 4);
	}

	Bytes make_ulpdu(u8 shape)
	{
		switch (shape >> 5) {
		case 0:
		case 1:
			return make_tagged(shape);
		case 2:
		case 3:
		case 4:
			return make_send(shape);
		case 5:
			return make_request(shape);
		case 6:
			return make_atomic_response();
		default:
			return input.take(input.octet());
		}
	}

	void lie(u8 how)
	{
		if (honest)
			return;
		switch (how) {
		case 0:
		case 1:
			make_ack();
			return arrive(false, ~0u);
		case 2:
			return make_ack();
		case 3:
		case 4:
			return change();
		default:
			to_first.push_back(framed(make_ulpdu(input.octet()), crc));
		}
	}

	// ---- programs and hosts ----

	void set(IbEnd &of, u8 what)
	{
		switch (what % 8) {
		case 0:
			of.acks.access = what < 0xe0 ? IbEnd::every_right : what & 0xf;
			break;
		case 1:
			of.acks.rnr_retry = what >> 3 & 7;
			break;
		case 2:
			of.acks.min_rnr_timer = what >> 3;
			break;
		case 3:
			of.fail_placements = what >> 7;
			break;
		case 4:
			of.fail_payloads = what >> 6 == 3;
			break;
		case 5:
			of.fail_invalidations = what >> 5 == 7;
			break;
		case 6:
			of.sends.list_usable = what < 0xe0;
			of.sends.local_works = what < 0xf0;
			break;
		default:
			of.places.regions.at(IbEnd::stag).grant.access =
				what < 0xe0 ? IbEnd::every_right : 0;
		}
	}

	void post_receive(IbEnd &of, u8 what)
	{
		of.places.post_receive(what < 0xf0 ? 255 : what & 7,
				       what == 0xff ? CORE_TAKE_BROKEN : CORE_TAKE_OK);
	}

	void tick(IbEnd &of, u8 what)
	{
		switch (what & 3) {
		case 0:
			return of.resume();
		case 1:
			return of.rewind();
		case 2:
			return of.probe();
		default:
			core_tx_ack_now(&of.tx);
		}
	}

	// The program overwrites a slot that it must not touch.
	void overwrite(IbEnd &of, u8 what)
	{
		if (honest || of.sends.freed == of.sends.posted)
			return;
		srnic_send_wqe &wqe = of.sends.wqe(of.sends.freed + what % 4);

		wqe.opcode = what >> 4;
		wqe.flags = input.octet();
	}

	// All that can happen by itself, for a while.
	void run()
	{
		for (int n = 0; n < 4; n++)
			for (bool which : {false, true}) {
				build(which, 0);
				arrive(!which, ~0u);
				end(which).rewind();
				end(which).resume();
			}
	}

	void step(u8 what)
	{
		const bool which = what & 1;

		switch (what >> 1 & 15) {
		case 0:
		case 1:
			return build(which, 0);
		case 2:
			return build(which, input.octet());
		case 3:
		case 4:
			return arrive(which, ~0u);
		case 5:
			return arrive(which, input.octet());
		case 6:
		case 7:
			return end(which).post(input);
		case 8:
			return post_receive(end(which), input.octet());
		case 9:
			return set(end(which), input.octet());
		case 10:
		case 11:
			return tick(end(which), what >> 5);
		case 12:
		case 13:
			return lie(what >> 5);
		case 14:
			return overwrite(end(which), input.octet());
		default:
			return run();
		}
	}

	void check()
	{
		first.check();
		second.check();
		REQUIRE(!honest || (!first.broken && !second.broken));
	}
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	Input input{data, size};
	const u8 flags = input.octet();
	World world(input, flags);

	while (world.input.left) {
		world.step(world.input.octet());
		world.check();
	}
	return 0;
}
