// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Bytes that a peer's TCP marks as urgent (RFC 9293 3.8.5): MPA ignores the mark, and they stay in
// their place in the stream (RFC 6093 3.1).
#include "stage.hh"

namespace hostile {
namespace {

class Marks : public Stage {
public:
	explicit Marks(const Stage &stage) : Stage(stage) {}

	// In the length, the header, the payload and the CRC.
	void in_fpdus()
	{
		Socket s = accepted_by_victim(Pace::whole);
		std::string verdict = "verdict 1";
		u32 msn = 0;

		s.send(fpdu(Tagged{}), Pace::whole);
		for (size_t mark : {1, 9, 24, 30}) {
			std::string receive = "receive" + std::to_string(msn);

			send_marked(s, fpdu(Untagged{.msn = ++msn, .data = payload(8, msn)}), mark);
			verdict += " is " + in_hex(victim.regions.at(receive).to) + " " +
				   hex(payload(8, msn));
		}
		s.fin();
		want_end(s, {}, false);
		want_verdict(victim.ask(verdict),
			     "over=1 receives=4/0/0 sends=0/0/0 event=none memory=ok good=ok");
	}

	void in_a_request()
	{
		Socket s = Socket::connect(host, victim_port);

		send_marked(s, Frame{}.octets(), 7);
		victim.demand("accept 4");
		want_octets("the Reply", s.receive(24), Frame{.key = reply_key}.octets());
		leave(s);
	}

	void in_a_reply()
	{
		victim.demand("connect " + in_hex(attacker_port) + " 4");
		Socket s = listener.accept();

		take_request(s);
		send_marked(s, Frame{.key = reply_key, .data = {0x80, 0x04, 0x80, 0x04}}.octets(),
			    22);
		victim.demand("connected");
		s.receive(20);
		leave(s);
	}

private:
	static void send_marked(const Socket &s, const Bytes &octets, size_t mark)
	{
		s.send_urgent(octets.slice(0, mark + 1));
		s.send(octets.slice(mark + 1, octets.size()), Pace::whole);
	}

	void leave(const Socket &s)
	{
		s.fin();
		want_end(s, {}, false);
		want_verdict(victim.ask("verdict 1"),
			     "over=1 receives=0/4/0 sends=0/0/0 event=none memory=ok good=ok");
	}
};

} // namespace

std::vector<Case> urgent_cases(const Stage &stage)
{
	Marks marks(stage);
	auto play = [&](void (Marks::*act)()) { return [=](Pace) mutable { (marks.*act)(); }; };

	return {
		{"listener", "RFC 9293 3.8.5: urgent octets of FPDUs are octets of the stream",
		 play(&Marks::in_fpdus), true},
		{"listener", "RFC 9293 3.8.5: an urgent octet of a Request is one of the stream",
		 play(&Marks::in_a_request), true},
		{"client", "RFC 9293 3.8.5: an urgent octet of a Reply is one of the stream",
		 play(&Marks::in_a_reply), true},
	};
}

} // namespace hostile
