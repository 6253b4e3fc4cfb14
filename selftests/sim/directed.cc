// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Bugs found in the receive paths of other software RNICs, each tried on a whole endpoint in every
// cut of the stream: only granted memory may change, the Terminate must be right, nothing may be
// lost.
#include "directed.hh"
#include "../shared/wire.hh"
#include "api/core.h"
#include "endpoint.hh"

using wire::be32, wire::be64, wire::fpdu, wire::payload, wire::Tagged, wire::Untagged,
	wire::op_read_response;

namespace sim {
namespace {

using wire::Bytes;

// An established responder, its memory in two regions, and a hand-written peer.
struct Victim : Witness {
	Stream out;
	std::unique_ptr<Endpoint> end;
	std::vector<core_rx_event> events;
	std::vector<srnic_cqe> cqes;
	std::optional<core_terminate> term;
	sim::Bytes before;

	static constexpr u32 stag = 0x123400, size = 4096;

	explicit Victim(bool crc = true) : out(1 << 20, Cut::all, 0, 1)
	{
		Setup setup{};

		setup.local.ird = setup.local.ord = setup.local.max_ird = 4;
		setup.local.crc = crc;
		setup.local.revision = 2;
		setup.local.rtr = CORE_RTR_ALL;
		setup.sq_entries = 16;
		setup.emss = 1460;
		setup.regions = {{stag, 0x10000, 1024, our_pd, 7, 1024, false, true}};
		setup.memory = sim::Bytes(size, 0x5a);
		before = setup.memory;
		end = std::make_unique<Endpoint>(0, setup, out, *this);
		// RFC 5044 figure 8, RFC 6581 9: revision 2, S, IRD and ORD of 4
		const std::string key = "MPA ID Req Frame";

		feed(Bytes(key.begin(), key.end()) +
		     Bytes{u8(crc ? 0x50 : 0x10), 2, 0, 4, 0, 4, 0, 4});
		feed(fpdu(Tagged{})); // a responder waits for this before it sends
		events.clear();
		out.drop(out.queued());
	}

	void feed(const Bytes &octets)
	{
		end->feed(octets.data(), static_cast<u32>(octets.size()));
	}
	void feed_cut(const Bytes &octets, unsigned seed)
	{
		Random random(seed);

		for (size_t done = 0; done < octets.size();) {
			size_t n = seed == 0   ? octets.size()
				   : seed == 1 ? 1
					       : 1 + below(random, seed);

			n = std::min(n, octets.size() - done);
			feed(Bytes(octets.begin() + done, octets.begin() + done + n));
			done += n;
		}
	}
	void read(u32 length)
	{
		SendRequest request{};

		request.wqe.opcode = SRNIC_OP_READ;
		request.wqe.flags = SRNIC_WQE_SIGNALED;
		request.wqe.rkey = 1;
		request.wqe.num_sge = 1;
		request.sges = {{0x10000, length, stag}};
		end->post_send(request);
		end->run();
	}
	// The sink STag of the Read Request that was sent.
	u32 sink()
	{
		const u8 *fpdu = out.peek().data;

		return u32{fpdu[20]} << 24 | u32{fpdu[21]} << 16 | u32{fpdu[22]} << 8 | fpdu[23];
	}
	void expect_term(u8 layer, u8 etype, u8 code, const char *what) const
	{
		if (!term)
			broken("%s: not refused", what);
		if (term->layer != layer || term->etype != etype || term->code != code)
			broken("%s: Terminate %u %u %u", what, term->layer, term->etype,
			       term->code);
	}
	void expect_unchanged(size_t from, size_t to) const
	{
		for (size_t i = 0; i < size; i++)
			if ((i < from || i >= to) && end->memory()[i] != before[i])
				broken("octet %zu has changed", i);
	}

	void delivered(unsigned, core_rx_event event) override { events.push_back(event); }
	void completed(unsigned, const srnic_cqe &cqe, bool) override { cqes.push_back(cqe); }
	void failed(unsigned, Cause, const core_terminate *why, core_rdmatcp_fault) override
	{
		if (why && !term)
			term = *why;
	}
};

constexpr unsigned cut_seeds = 12;

// A ULPDU_Length shorter than the header that the control octets announce: the difference must not
// wrap to a payload of four billion octets.
void length_below_header()
{
	for (u32 opcode = 0; opcode < 16; opcode++)
		for (u32 tagged = 0; tagged < 2; tagged++)
			for (u32 len = 0; len < (tagged ? 14 : 18); len++)
				for (unsigned cut = 0; cut < cut_seeds; cut++) {
					Victim victim(cut % 2);
					Bytes ulpdu =
						Bytes{u8(tagged ? 0xc1 : 0x41), u8(0x40 | opcode)} +
						be32(Victim::stag) + be64(0x10000) +
						Bytes(12, 0xff);

					ulpdu.resize(len);
					victim.feed_cut(fpdu(ulpdu) + Bytes(200, 0xff), cut);
					victim.expect_term(2, 0, 3, "a length below the header's");
					victim.expect_unchanged(0, 0);
					if (!victim.events.empty())
						broken("delivered all the same");
				}
}

// A Read Response longer than requested, whose segments never set Last: nothing may land beyond the
// sink.
void read_response_without_last()
{
	for (u32 segment : {1u, 7u, 100u, 256u, 1000u})
		for (unsigned cut = 0; cut < cut_seeds; cut++) {
			Victim victim;
			u32 to = 0;

			victim.read(256);
			for (u32 sink = victim.sink(); to < 2000 && !victim.term; to += segment)
				victim.feed_cut(fpdu(Tagged{.ddp = 0x81,
							    .rdmap = op_read_response,
							    .stag = sink,
							    .to = to,
							    .data = payload(segment)}),
						cut);
			// The first excess octet lies outside the sink; there is no error code
			// for a full sink without Last.
			if (256 % segment)
				victim.expect_term(1, 1, 1, "a response too long");
			else
				victim.expect_term(0, 2, 0xff, "a response without end");
			victim.expect_unchanged(1024, 1024 + 256);
			victim.end->run();
			if (victim.cqes.size() != 1 || victim.cqes[0].status != SRNIC_WC_FLUSH_ERR)
				broken("the read completes as if nothing had happened");
		}
}

// Every length modulo four, the stream cut in two at every octet, pad and CRC included: nothing
// stalls or is lost.
void trailer_split()
{
	for (bool crc : {true, false})
		for (size_t len = 0; len < 9; len++) {
			Bytes data = payload(len),
			      one = fpdu(Tagged{.stag = Victim::stag, .to = 0x10000, .data = data});
			Bytes stream = one + one + fpdu(Untagged{.data = data});

			for (size_t cut = 1; cut < stream.size(); cut++)
				for (size_t again = cut; again < stream.size();
				     again += crc ? 1 : 5) {
					Victim victim(crc);
					RecvRequest receive{};

					receive.sges = {{0x10100, 16, Victim::stag}};
					victim.end->post_recv(receive);
					victim.feed(Bytes(stream.begin(), stream.begin() + cut));
					victim.feed(Bytes(stream.begin() + cut,
							  stream.begin() + again));
					victim.feed(Bytes(stream.begin() + again, stream.end()));
					if (victim.term || victim.events.size() != 3 ||
					    victim.cqes.size() != 1 ||
					    victim.cqes[0].byte_len != len)
						broken("cut at %zu and %zu: %zu events", cut, again,
						       victim.events.size());
					auto at = [&](size_t place) {
						return victim.end->memory().begin() + place;
					};

					if (!std::equal(data.begin(), data.end(), at(1024)) ||
					    !std::equal(data.begin(), data.end(), at(1280)))
						broken("cut at %zu and %zu: wrong octets", cut,
						       again);
				}
		}
}

} // namespace

const std::vector<Directed> &directed_tests()
{
	static const std::vector<Directed> tests = {
		{"an MPA length below the header", length_below_header},
		{"a Read Response that never sets Last", read_response_without_last},
		{"pad and CRC split across buffers", trailer_split},
	};

	return tests;
}

} // namespace sim
