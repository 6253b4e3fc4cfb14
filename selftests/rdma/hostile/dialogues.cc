// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Cases that do not fit into a table: several exchanges, or more of the victim's program than one
// verdict.
#include "stage.hh"

#include <cstdio>
#include <cstdlib>

namespace hostile {
namespace {

// The next FPDU of the stream.
Bytes next_fpdu(const Socket &s)
{
	Bytes length = s.receive(2);

	return length + s.receive((number(length, 0, 2) + 2 + 3) / 4 * 4 + 4 - 2);
}

// While it lives, the victim's mpa_crc is 0.
class NoCrc {
public:
	explicit NoCrc(VictimLink &link) : victim(link) { victim.demand("crc 0"); }
	NoCrc(const NoCrc &) = delete;
	~NoCrc()
	{
		try {
			victim.demand("crc 1");
		} catch (const std::exception &e) {
			std::printf("# CRCs stay off: %s\n", e.what());
		}
	}

private:
	VictimLink &victim;
};

class Dialogues : public Stage {
public:
	explicit Dialogues(const Stage &stage) : Stage(stage) {}

	void responder_waits(Pace pace)
	{
		Socket s = accepted_by_victim(pace);
		End end;

		victim.demand("send 8");
		if (!s.silent(short_while))
			fail("it does");
		s.send(fpdu(Tagged{}), pace);
		Bytes came = s.receive(2 + 18 + 8 + 4);

		want_octets("the Send's header", came.slice(0, 20), be16(26) + Untagged{});
		s.fin();
		want_octets("what came then", s.rest(&end), {});
		want_verdict(victim.ask("verdict 1"),
			     "over=1 receives=0/4/0 sends=1/0/0 event=none memory=ok good=ok");
	}

	void responder_is_mute(Pace pace)
	{
		Socket s = accepted_by_victim(pace);

		s.send(damaged(fpdu(Tagged{}), 17), pace);
		want_end(s, {}, false);
		want_verdict(victim.ask("verdict 1"),
			     "over=1 receives=0/4/0 sends=0/0/0 event=1 memory=ok good=ok");
	}

	// ibv_wc_opcode: 0 Send, 1 RDMA Write, 2 RDMA Read
	void posts_keep_their_order(Pace pace)
	{
		Socket s = accepted_by_victim(pace);
		Tagged write = {.stag = 0x77, .to = 0x1000};

		s.send(fpdu(Tagged{}), pace);
		victim.demand("mix");
		std::vector<Bytes> came = cut(s.receive(28 + 32 + 52 + 32 + 32)).all;

		if (came.size() != 5)
			fail("the five requests come as ", std::to_string(came.size()), " FPDUs");
		want_fpdu("the first Write", came[0], be16(14 + 5) + write.header());
		want_fpdu("the first Send", came[1], be16(18 + 7) + Untagged{.msn = 1});
		want_fpdu("the Read", came[2], read_request_header(1));
		want_fpdu("the second Send", came[3], be16(18 + 6) + Untagged{.msn = 2});
		want_fpdu("the second Write", came[4], be16(14 + 9) + write.header());
		want_completed("completed 2", "ok 1 0");
		s.send(response_to(came[2], 64), pace);
		want_completed("completed 3", "ok 2 0 1");
		s.fin();
		want_end(s, {}, false);
		want_all_sent(5, 64);
	}

	// Both are posted when the first FPDU lets the responder send; each takes two FPDUs, if
	// those are no larger than TCP segments.
	void send_and_response_take_turns(Pace pace)
	{
		constexpr u32 length = 2000;
		Socket s = accepted_by_victim(pace);
		const Region &both = victim.regions.at("both");
		ReadRequest read = {
			.length = length, .source_stag = both.stag, .source_to = both.to};
		std::string order, turns = terms.large ? "SR" : "SRSR";

		victim.demand("send " + in_hex(length));
		s.send(fpdu(read_request(read)), pace);
		while (order.size() < turns.size())
			order += next_fpdu(s)[3] == op_read_response ? 'R' : 'S';
		if (order != turns && order != std::string(turns.rbegin(), turns.rend()))
			fail("they come in the order ", order);
		s.fin();
		want_end(s, {}, false);
		want_verdict(victim.ask("verdict 1"),
			     "over=1 receives=0/4/0 sends=1/0/0 event=none memory=ok good=ok");
	}

	// 12 MiB: more than the victim's TCP can hold while we do not read.
	void flood_that_nobody_reads()
	{
		constexpr unsigned posted = 48;
		Socket s = Socket::connect(host, victim_port);
		std::string later;

		s.send(Frame{}.octets(), Pace::whole);
		victim.demand("accept 4");
		want_octets("the Reply", s.receive(24), Frame{.key = reply_key}.octets());
		s.send(fpdu(Tagged{}), Pace::whole);
		victim.demand("flood " + in_hex(posted));
		unsigned early =
			static_cast<unsigned>(std::atoi(victim.demand("done").substr(3).c_str()));

		if (early >= posted)
			fail("all is complete before we have read anything");
		for (unsigned whole = 0; whole < posted;)
			whole += (next_fpdu(s)[2] & 0x40) != 0;
		for (unsigned i = early; i < posted; i++)
			later += " 1";
		want_completed("completed " + in_hex(posted - early), "ok" + later);
		s.fin();
		want_end(s, {}, false);
		want_all_sent(posted, 0);
	}

	// Our Request has an IRD of four.
	void reads_up_to_the_ord(Pace pace)
	{
		constexpr u32 ord = 4, posted = 6, size = read_request_size;
		Socket s = accepted_by_victim(pace);

		s.send(fpdu(Tagged{}), pace);
		for (u32 i = 0; i < posted; i++)
			victim.demand("read 8");
		Bytes requests = s.receive(ord * size);

		if (!s.silent(short_while))
			fail("a read too many");
		for (u32 i = 0; i < posted; i++) {
			Bytes one = requests.slice(i * size, size);

			want_fpdu("a Read Request", one, read_request_header(i + 1));
			s.send(response_to(one, 8), pace);
			if (i + ord < posted)
				requests = requests + s.receive(size);
		}
		want_completed("completed 6", "ok 2 2 2 2 2 2");
		s.fin();
		want_end(s, {}, false);
		want_all_sent(posted, posted * 8);
	}

	// We do not want to read, nor does the victim let us.
	void no_reads_at_all(Pace pace)
	{
		Socket s = Socket::connect(host, victim_port);
		Bytes no_ord = {0x00, 0x04, 0x00, 0x00}, no_depths = {0x00, 0x00, 0x00, 0x00};
		Bytes read = fpdu(read_request({}));

		s.send(Frame{.data = no_ord}.octets(), pace);
		victim.demand("accept-no-reads 4");
		want_octets("the Reply", s.receive(24),
			    Frame{.key = reply_key, .data = no_depths}.octets());
		s.send(read, pace);
		want_end(s, fpdu(terminate(untagged(2), read)), false);
		want_verdict(victim.ask("verdict 1"),
			     "over=1 receives=0/4/0 sends=0/0/0 event=1 memory=ok good=ok");
	}

	void ends_gracefully(Pace pace)
	{
		constexpr u32 posted = 3, size = 2 + 18 + 7 + 1 + 4;
		Socket s = accepted_by_victim(pace);
		End end;

		s.send(fpdu(Tagged{}), pace);
		for (u32 i = 0; i < posted; i++)
			victim.demand("send 7");
		victim.demand("disconnect");
		victim.demand("send 7");
		Bytes came = s.rest(&end);

		if (came.size() != posted * size || end != End::fin)
			fail(end == End::fin ? "not the three Sends came: " : "no FIN came: ",
			     hex(came));
		for (u32 i = 0; i < posted; i++)
			want_fpdu("a Send", came.slice(i * size, size),
				  be16(18 + 7) + Untagged{.msn = i + 1});
		s.fin();
		want_verdict(victim.ask("verdict 1"),
			     "over=1 receives=0/4/0 sends=3/1/0 event=none memory=ok good=ok");
	}

	void rejected_by_the_consumer(Pace pace)
	{
		Socket s = Socket::connect(host, victim_port);
		// The depths it would have offered, and the private data.
		Bytes data = {0x00, 0x04, 0x00, 0x00, 0x6e, 0x6f, 0x21};

		s.send(Frame{}.octets(), pace);
		victim.demand("reject 6e6f21");
		want_octets("the Reply", s.receive(27),
			    Frame{.key = reply_key, .flags = terms.flags(0x30), .data = data}
				    .octets());
		s.fin();
		want_end(s, {}, false);
		want_untouched();
	}

	void request_depths_are_told(Pace pace)
	{
		Socket s = Socket::connect(host, victim_port);

		s.send(Frame{.data = {0x00, 0x02, 0x00, 0x06}}.octets(), pace);
		victim.demand("accept 4");
		want_depths("ok 2 6");
		s.receive(24);
		s.fin();
		want_end(s, {}, false);
		want_all_sent(0, 0);
	}

	void reply_depths_are_told(Pace pace)
	{
		victim.demand("connect " + in_hex(attacker_port) + " 4");
		Socket s = listener.accept();

		take_request(s);
		s.send(Frame{.key = reply_key, .data = {0x80, 0x03, 0x80, 0x02}}.octets(), pace);
		victim.demand("connected");
		want_depths("ok 3 2");
		s.receive(20);
		s.fin();
		want_end(s, {}, false);
		want_all_sent(0, 0);
	}

	void crc_of_one_side(Pace pace)
	{
		Socket s = Socket::connect(host, victim_port);
		Bytes second = damaged(fpdu(Untagged{.data = payload(8)}), 28);

		s.send(Frame{.flags = 0x00, .rev = 1, .data = {}}.octets(), pace);
		victim.demand("accept 4");
		want_octets("the Reply", s.receive(20),
			    Frame{.key = reply_key, .flags = 0x40, .rev = 1, .data = {}}.octets());
		s.send(fpdu(Tagged{}) + second, pace);
		want_end(s, fpdu(terminate(bad_crc)), false);
		want_verdict(victim.ask("verdict 1 may " +
					in_hex(victim.regions.at("receive0").to) + " 40"),
			     "over=1 receives=0/4/0 sends=0/0/0 event=1 memory=ok good=ok");
	}

	void crc_of_nobody(Pace pace)
	{
		NoCrc off(victim);
		Socket s = send_damaged(0x10, pace);

		s.fin();
		want_end(s, {}, false);
		want_verdict(victim.ask("verdict 1 is " + in_hex(victim.regions.at("receive0").to) +
					" " + hex(payload(8))),
			     "over=1 receives=1/3/0 sends=0/0/0 event=none memory=ok good=ok");
	}

	void crc_of_ours(Pace pace)
	{
		NoCrc off(victim);
		Socket s = send_damaged(0x50, pace);

		want_end(s, fpdu(terminate(bad_crc)), false);
		want_verdict(victim.ask("verdict 1 may " +
					in_hex(victim.regions.at("receive0").to) + " 40"),
			     "over=1 receives=0/4/0 sends=0/0/0 event=1 memory=ok good=ok");
	}

	// More than the victim's backlog, all in the middle of their Request.
	void stalled_crowd()
	{
		const Timeouts short_ones(victim_timeout / 1000);
		std::vector<Socket> crowd;

		for (int i = 0; i < 100; i++) {
			try {
				crowd.push_back(Socket::connect(host, victim_port));
				crowd.back().send(Frame{}.octets().slice(0, 10), Pace::whole);
			} catch (const Failure &) {
				// reset at once, which is allowed
			}
		}
		for (const Socket &s : crowd)
			want_closed(s);
		victim.demand("quiet");
		Socket s = accepted_by_victim(Pace::whole);

		s.fin();
		want_end(s, {}, false);
		want_verdict(victim.ask("verdict 1"),
			     "over=1 receives=0/4/0 sends=0/0/0 event=none memory=ok good=ok");
	}

	void lost_before_reply(Pace pace, bool reset)
	{
		Socket s = Socket::connect(host, victim_port);

		s.send(Frame{}.octets(), pace);
		victim.demand("request");
		if (reset)
			s.reset();
		else
			s.fin();
		victim.ask("accept 4");
		if (!reset)
			want_closed(s);
		want_untouched();
	}

private:
	void want_all_sent(unsigned sends, u64 sunk)
	{
		const Region &sink = victim.regions.at("sink");

		want_verdict(victim.ask("verdict 1 may " + in_hex(sink.to) + " " + in_hex(sunk)),
			     "over=1 receives=0/4/0 sends=" + std::to_string(sends) +
				     "/0/0 event=none memory=ok good=ok");
	}

	void want_completed(const std::string &ask, const std::string &want)
	{
		std::string said = victim.demand(ask);

		if (said != want)
			fail("the completions are ", said, ", not ", want);
	}

	void want_depths(const char *want)
	{
		std::string said = victim.demand("depths");

		if (said != want)
			fail("the consumer gets ", said, ", not ", want);
	}

	// Startup with or without C, then a Send whose CRC field is wrong.
	Socket send_damaged(u8 flags, Pace pace)
	{
		Socket s = Socket::connect(host, victim_port);

		s.send(Frame{.flags = flags}.octets(), pace);
		victim.demand("accept 4");
		want_octets("the Reply", s.receive(24),
			    Frame{.key = reply_key, .flags = flags}.octets());
		s.send(fpdu(Tagged{}) + damaged(fpdu(Untagged{.data = payload(8)}), 29), pace);
		return s;
	}
};

} // namespace

std::vector<Case> dialogue_cases(const Stage &stage)
{
	Dialogues dialogues(stage);
	auto play = [&](void (Dialogues::*act)(Pace)) {
		return [=](Pace pace) mutable { (dialogues.*act)(pace); };
	};
	std::vector<Case> cases = {
		{"listener", "RFC 5044 7.1.2, 4: a responder sends nothing before the first FPDU",
		 play(&Dialogues::responder_waits)},
		{"listener", "RFC 5044 7.1.2, 4: nor if that is not valid, a Terminate included",
		 play(&Dialogues::responder_is_mute), false, true},
		{"listener",
		 "RFC 5040 5.5, 13 and 15: requests go out and complete in the order of posting",
		 play(&Dialogues::posts_keep_their_order)},
		{"listener", "RFC 5040 5.5, 2: a Send and a Read Response take turns",
		 play(&Dialogues::send_and_response_take_turns)},
		{"listener", "RFC 5040 5.5, 14: a Write that TCP has not taken is not complete",
		 [=](Pace) mutable { dialogues.flood_that_nobody_reads(); }, true},
		{"listener", "RFC 5040 6.1: no more reads are outstanding than the ORD",
		 play(&Dialogues::reads_up_to_the_ord)},
		{"listener", "RFC 5040 6.1: where no inbound reads were negotiated none is served",
		 play(&Dialogues::no_reads_at_all)},
		{"listener",
		 "RFC 5041 6.2.1: what is posted before a disconnect arrives, what is posted after "
		 "it does not",
		 play(&Dialogues::ends_gracefully)},
		{"listener",
		 "RFC 5044 7.1.2, 6: without accepting the private data it answers with R",
		 play(&Dialogues::rejected_by_the_consumer)},
		{"listener", "RFC 6581 9.1: the consumer learns the initiator's IRD and ORD",
		 play(&Dialogues::request_depths_are_told)},
		{"client", "RFC 6581 9.1: the consumer learns the responder's IRD and ORD",
		 play(&Dialogues::reply_depths_are_told)},
		{"listener", "RFC 5044 7.1.1: CRCs that only the responder wants are checked",
		 play(&Dialogues::crc_of_one_side), false, true},
		{"listener",
		 "RFC 5044 4.4, 2: CRCs that neither administrator wants are not checked",
		 play(&Dialogues::crc_of_nobody), false, true},
		{"listener", "RFC 5044 4.4, 2: CRCs that only the initiator wants are checked",
		 play(&Dialogues::crc_of_ours), false, true},
		{"listener",
		 "RFC 5044 7.1.2, 10: startups that stall keep others out for a while only",
		 [=](Pace) mutable { dialogues.stalled_crowd(); }, true},
	};

	for (bool reset : {false, true})
		cases.push_back(
			{"listener",
			 std::string("RFC 5044 8, 1: the connection is lost by ") +
				 (reset ? "RST" : "FIN") + " before the Reply",
			 [=](Pace pace) mutable { dialogues.lost_before_reply(pace, reset); }});
	return cases;
}

} // namespace hostile
