// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Peer-to-peer mode (RFC 6581 5 and 9.2): each ready-to-receive message, sent and received. It
// comes first, and consumes neither a receive nor a completion.
#include "stage.hh"

namespace hostile {
namespace {

constexpr size_t small_send = 2 + 18 + 8 + 4, small_response = 2 + 14 + 8 + 4;
constexpr u32 nobody = 0xbad;

// Enhanced data with these RTR types, and depths of four.
Bytes offer(u8 ab, u8 cd) { return {ab, 0x04, cd, 0x04}; }
constexpr u8 a = 0x80, b = 0x40, c = 0x80, d = 0x40; // control flags, each in its octet

void want_send(const Socket &s, u32 msn)
{
	want_fpdu("the Send", s.receive(small_send), be16(18 + 8) + Untagged{.msn = msn});
}

Bytes take_read_request(const Socket &s, u32 msn)
{
	Bytes request = s.receive(read_request_size);

	want_fpdu("the Read Request", request, read_request_header(msn));
	return request;
}

class Rtr : public Stage {
public:
	explicit Rtr(const Stage &stage) : Stage(stage) {}

	// ---- the victim responds ----

	void send_takes_no_receive(Pace pace)
	{
		Socket s = invited(offer(a | b, 0), 0, pace);

		waits_for(s, fpdu(Untagged{}), pace);
		leave(s, "receives=0/0/0 sends=1/0/0");
	}

	void only_the_first_send_is_one(Pace pace)
	{
		Socket s = invited(offer(a | b, 0), 4, pace);

		waits_for(s, fpdu(Untagged{}), pace);
		s.send(fpdu(Untagged{.msn = 2}) + fpdu(Untagged{.msn = 3, .data = payload(8)}),
		       pace);
		leave(s, "receives=2/2/0 sends=1/0/0",
		      " is " + in_hex(receive(1)) + " " + hex(payload(8)));
	}

	void a_send_that_was_not_offered_is_the_consumers(Pace pace)
	{
		Socket s = invited(offer(a, c), 4, pace);

		waits_for(s, fpdu(Untagged{}), pace);
		leave(s, "receives=1/3/0 sends=1/0/0");
	}

	void read_is_answered(Pace pace)
	{
		Socket s = invited(offer(a, d), 0, pace);
		const Region &both = victim.regions.at("both");
		ReadRequest real = {.sink_to = 0x2000,
				    .length = 8,
				    .source_stag = both.stag,
				    .source_to = both.to};

		s.send(fpdu(read_request({.source_stag = nobody})), pace);
		want_octets("the answer", s.receive(2 + 14 + 4),
			    fpdu(Tagged{.rdmap = op_read_response, .stag = 0x5151, .to = 0x1000}));
		s.send(fpdu(read_request(real, 2)), pace);
		want_fpdu("the next answer", s.receive(small_response),
			  be16(14 + 8) +
				  Tagged{.rdmap = op_read_response, .stag = 0x5151, .to = 0x2000});
		leave(s, "receives=0/0/0 sends=0/0/0");
	}

	void write_is_placed_nowhere(Pace pace)
	{
		Socket s = invited(offer(a, c), 0, pace);

		waits_for(s, fpdu(Tagged{.stag = nobody, .to = ~u64{0}}), pace);
		leave(s, "receives=0/0/0 sends=1/0/0");
	}

	// ---- the victim initiates, and has something to send already ----

	void sends_a_send(Pace pace)
	{
		Socket s = answered(offer(a | b, 0), pace);

		want_octets("the RTR", s.receive(2 + 18 + 4), fpdu(Untagged{}));
		want_send(s, 2);
		works(s, 1, pace);
	}

	void sends_a_write(Pace pace)
	{
		Socket s = answered(offer(a, c), pace);

		want_octets("the RTR", s.receive(2 + 14 + 4), fpdu(Tagged{.stag = 1}));
		want_send(s, 1);
		works(s, 1, pace);
	}

	// It reads no memory, so only its length has to be zero; hardware needs nonzero STags.
	void sends_a_read(Pace pace)
	{
		Socket s = answered(offer(a, d), pace);
		Bytes request = take_read_request(s, 1);

		want_octets("its sink's TO and its length", request.slice(24, 12), Bytes(12));
		if (!number(request, 20, 4) || !number(request, 36, 4))
			fail("it has an STag of zero: ", hex(request));
		want_send(s, 1);
		s.send(response_to(request, 0), pace);
		works(s, 2, pace);
	}

private:
	u64 receive(unsigned n) const
	{
		return victim.regions.at("receive" + std::to_string(n)).to;
	}

	// A connection whose Reply offers what we do.
	Socket invited(const Bytes &data, unsigned receives, Pace pace)
	{
		Socket s = Socket::connect(host, victim_port);

		s.send(Frame{.data = data}.octets(), pace);
		victim.demand("accept " + in_hex(receives));
		want_octets("the Reply", s.receive(24),
			    Frame{.key = reply_key, .data = data}.octets());
		return s;
	}

	// The responder sends nothing before the RTR, then what was posted.
	void waits_for(const Socket &s, const Bytes &rtr, Pace pace)
	{
		victim.demand("send 8");
		if (!s.silent(short_while))
			fail("it speaks first");
		s.send(rtr, pace);
		want_send(s, 1);
	}

	Socket answered(const Bytes &data, Pace pace)
	{
		victim.demand("connect " + in_hex(attacker_port) + " 4");
		victim.demand("send 8");
		Socket s = listener.accept();

		take_request(s);
		s.send(Frame{.key = reply_key, .data = data}.octets(), pace);
		victim.demand("connected");
		return s;
	}

	// A Send in, and a Read out with this MSN.
	void works(const Socket &s, u32 msn, Pace pace)
	{
		const std::string sink = in_hex(victim.regions.at("sink").to);

		s.send(fpdu(Untagged{.data = payload(8)}), pace);
		victim.demand("read 8");
		s.send(response_to(take_read_request(s, msn), 8), pace);
		leave(s, "receives=1/3/0 sends=2/0/0",
		      " is " + in_hex(receive(0)) + " " + hex(payload(8)) + " is " + sink + " " +
			      hex(payload(8)));
	}

	void leave(const Socket &s, const std::string &counts, const std::string &changes = "")
	{
		s.fin();
		want_end(s, {}, false);
		want_verdict(victim.ask("verdict 1" + changes),
			     "over=1 " + counts + " event=none memory=ok good=ok");
	}
};

} // namespace

std::vector<Case> rtr_cases(const Stage &stage)
{
	Rtr rtr(stage);
	auto play = [&](void (Rtr::*act)(Pace)) {
		return [=](Pace pace) mutable { (rtr.*act)(pace); };
	};

	return {
		{"listener", "RFC 6581 9.2: a zero-length Send as RTR takes no receive",
		 play(&Rtr::send_takes_no_receive)},
		{"listener", "RFC 6581 9.2: the zero-length Sends that follow it take receives",
		 play(&Rtr::only_the_first_send_is_one)},
		{"listener",
		 "RFC 6581 9.2: where none was offered the first zero-length Send takes a receive",
		 play(&Rtr::a_send_that_was_not_offered_is_the_consumers)},
		{"listener", "RFC 6581 9.2: a zero-length Read as RTR is answered",
		 play(&Rtr::read_is_answered)},
		{"listener", "RFC 6581 9.2: a zero-length Write as RTR is placed nowhere",
		 play(&Rtr::write_is_placed_nowhere)},
		{"client",
		 "RFC 6581 5: a zero-length Send as RTR comes before what was posted earlier",
		 play(&Rtr::sends_a_send)},
		{"client",
		 "RFC 6581 5: a zero-length Write as RTR comes before what was posted earlier",
		 play(&Rtr::sends_a_write)},
		{"client",
		 "RFC 6581 5: a zero-length Read as RTR comes before what was posted earlier",
		 play(&Rtr::sends_a_read)},
	};
}

} // namespace hostile
