// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The hostile peer: goes through the tables, in both roles, each row in one piece and octet by octet. What comes back
// is compared in full; then the victim's program tells what it saw. Output is TAP.
#include "case.hh"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>

namespace hostile {
namespace {

constexpr unsigned victim_port = 7190, attacker_port = 7192;
constexpr int short_while = 100, victim_timeout = 1000; // ms; hostile.sh sets the victim's

struct Options {
	const char *own = nullptr, *victim = nullptr, *only = "";
	unsigned octets_every = 1; // which rows go octet by octet: each, every second, ..., 0: none
};

class Elapsed {
	std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

public:
	long ms() const
	{
		return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start)
			.count();
	}
};

void want_octets(const char *what, const Octets &is, const Octets &want)
{
	if (is != want)
		fail(what, " is ", hex(is.slice(0, 200)), ", not ", hex(want.slice(0, 200)));
}

Octets joined(const std::vector<Octets> &pieces)
{
	Octets out;

	for (const Octets &piece : pieces)
		out.insert(out.end(), piece.begin(), piece.end());
	return out;
}

std::string in_hex(u64 value)
{
	std::ostringstream out;

	out << std::hex << value;
	return out.str();
}

// The number of the async event that a QP has for its owner when it sends such a Terminate.
int event_of(const Cause &cause)
{
	if ((cause.layer == 1 || cause.layer == 0) && cause.type == 1)
		return 3; // QP_ACCESS_ERR
	return cause.layer == 0 && cause.type == 2 ? 2 /* QP_REQ_ERR */ : 1 /* QP_FATAL */;
}

class Attacker {
public:
	Attacker(const Options &opts, VictimLink &link)
		: options(opts), victim(link), listener(Socket::listen(opts.own, attacker_port))
	{
	}

	int run()
	{
		for (const Startup &row : request_rows())
			run_case(
				"listener", row.name, [&](Pace pace) { run_request(row, pace); }, slow(row));
		for (const Startup &row : reply_rows())
			run_case(
				"client", row.name, [&](Pace pace) { run_reply(row, pace); }, slow(row));
		run_case("listener", "RFC 5044 7.1.2, 4: a responder sends nothing before the first FPDU",
			 [&](Pace pace) { responder_waits(pace); });
		run_case("listener", "RFC 5044 7.1.2, 4: nor if that is not valid, a Terminate included",
			 [&](Pace pace) { responder_is_mute(pace); });
		run_case("listener", "RFC 5040 5.5, 13 and 15: requests go out and complete in the order of posting",
			 [&](Pace pace) { posts_keep_their_order(pace); });
		run_case("listener", "RFC 5040 5.5, 2: a Send and a Read Response take turns",
			 [&](Pace pace) { send_and_response_take_turns(pace); });
		run_case("listener", "RFC 5040 5.5, 14: a Write that TCP has not taken is not complete",
			 [&](Pace) { flood_that_nobody_reads(); }, true);
		run_case("listener", "RFC 5040 6.1: no more reads are outstanding than the ORD",
			 [&](Pace pace) { reads_up_to_the_ord(pace); });
		run_case("listener", "RFC 5040 6.1: where no inbound reads were negotiated none is served",
			 [&](Pace pace) { no_reads_at_all(pace); });
		run_case("listener", "RFC 5041 6.2.1: what is posted before a disconnect arrives, what is posted after it does not",
			 [&](Pace pace) { ends_gracefully(pace); });
		run_case("listener", "RFC 5044 7.1.2, 6: who does not accept the private data answers with R",
			 [&](Pace pace) { rejected_by_the_consumer(pace); });
		run_case("listener", "RFC 6581 9.1: the consumer learns the initiator's IRD and ORD",
			 [&](Pace pace) { request_depths_are_told(pace); });
		run_case("client", "RFC 6581 9.1: the consumer learns the responder's IRD and ORD",
			 [&](Pace pace) { reply_depths_are_told(pace); });
		run_case("listener", "RFC 5044 7.1.1: CRCs that only the responder wants are checked",
			 [&](Pace pace) { crc_of_one_side(pace); });
		run_case("listener", "RFC 5044 4.4, 2: CRCs that neither administrator wants are not checked",
			 [&](Pace pace) { crc_of_nobody(pace); });
		run_case("listener", "RFC 5044 4.4, 2: CRCs that only the initiator wants are checked",
			 [&](Pace pace) { crc_of_ours(pace); });
		run_case(
			"listener", "RFC 5044 7.1.2, 10: startups that stall keep others out for a while only",
			[&](Pace) { stalled_crowd(); }, true);
		for (bool reset : {false, true})
			run_case("listener",
				 std::string("RFC 5044 8, 1: the connection is lost by ") + (reset ? "RST" : "FIN") +
					 " before the Reply",
				 [&](Pace pace) { lost_before_reply(pace, reset); });
		for (const Row &row : segment_rows()) {
			run_case("listener", row.name, [&](Pace pace) { attack_listener(row, pace); });
			run_case("client", row.name, [&](Pace pace) { attack_client(row, pace); });
		}
		std::printf("1..%u\n", number);
		return failed ? 1 : 0;
	}

private:
	const Options &options;
	VictimLink &victim;
	Socket listener;
	unsigned number = 0, failed = 0;

	// ---- TAP ----

	static bool slow(const Startup &row) { return row.then == Then::times_out; }

	template <class F> void run_case(const char *role, const std::string &name, F run_paced, bool once = false)
	{
		std::string full = name + " (" + role + ")";

		if (full.find(options.only) == std::string::npos)
			return;
		number++;
		bool octets = !once && options.octets_every && number % options.octets_every == 0;
		std::string trouble = attempt(run_paced, Pace::whole, "");

		if (octets && trouble.empty())
			trouble = attempt(run_paced, Pace::octets, "octet by octet: ");
		std::printf("%sok %u - %s\n", trouble.empty() ? "" : "not ", number, full.c_str());
		if (!trouble.empty())
			std::printf("# %s\n", trouble.c_str());
		failed += !trouble.empty();
	}

	// A case that failed half-way leaves a victim behind that has to be cleared up.
	template <class F> std::string attempt(F run_paced, Pace pace, const char *how)
	{
		try {
			run_paced(pace);
			return "";
		} catch (const Failure &e) {
			victim.ask("verdict 0");
			return how + std::string(e.what());
		}
	}

	// ---- what the victim says ----

	void want_verdict(const std::string &is, const std::string &want)
	{
		if (is != want)
			fail("the victim saw ", is, ", not ", want);
	}

	// The program was never bothered, and nothing else happened to it.
	void want_untouched() { want_aftermath(victim.ask("verdict 0")); }

	void want_aftermath(const std::string &verdict)
	{
		if (verdict.find(" memory=ok good=ok") == std::string::npos)
			fail("the victim saw ", verdict);
	}

	void want_result(const Row &row, const Attack &attack)
	{
		std::ostringstream ask, want;
		const More &more = row.more;
		size_t reads = more.reads.size();
		int event = more.event >= 0 ? more.event : row.cause ? event_of(*row.cause) : 0;

		ask << "verdict 1" << std::hex;
		for (const Span &span : attack.may_change)
			ask << " may " << span.at << ' ' << span.length;
		for (const Change &change : attack.lands)
			ask << " is " << change.at << ' ' << hex(change.octets);
		want << "over=1 receives=" << more.delivered << '/' << more.receives - more.delivered - more.refused
		     << '/' << more.refused << " sends=" << more.reads_done << '/' << reads - more.reads_done << "/0"
		     << " event=" << (event ? std::to_string(event) : "none") << " memory=ok good=ok";
		want_verdict(victim.ask(ask.str()), want.str());
	}

	// ---- FPDUs ----

	void attack_listener(const Row &row, Pace pace)
	{
		Socket s = Socket::connect(options.victim, victim_port, row.more.window);

		s.send(Frame{}.octets(), pace);
		victim.demand("accept " + in_hex(row.more.receives));
		want_octets("the Reply", s.receive(24), Frame{.key = reply_key}.octets());
		attack(row, std::move(s), pace);
	}

	void attack_client(const Row &row, Pace pace)
	{
		victim.demand("connect " + in_hex(attacker_port) + " " + in_hex(row.more.receives));
		Socket s = listener.accept(row.more.window);

		take_request(s);
		s.send(Frame{.key = reply_key, .data = {0x80, 0x04, 0x80, 0x04}}.octets(), pace);
		victim.demand("connected");
		Octets rtr = s.receive(20);

		if (cut(rtr).good != 1 || rtr.slice(0, 4) != Octets{0x00, 0x0e, 0xc1, 0x40})
			fail("the zero-length RDMA Write that is to come first is ", hex(rtr));
		attack(row, std::move(s), pace);
	}

	void take_request(const Socket &s)
	{
		want_octets("the Request", s.receive(24), Frame{.data = {0xc0, 0x04, 0xc0, 0x04}}.octets());
	}

	void attack(const Row &row, Socket s, Pace pace)
	{
		Scene scene = {victim.regions, {}};

		if (!row.more.first)
			s.send(fpdu(Tagged{.stag = 0xbad, .to = ~u64{0}}), pace);
		for (size_t i = 0; i < row.more.reads.size(); i++)
			scene.reads.push_back(take_read(s, row.more.reads[i], static_cast<u32>(i) + 1));

		Attack attack = row.build.make(scene);

		s.send(joined(attack.fpdus), pace);
		strike(row, attack, s);
		s = Socket();
		want_result(row, attack);
	}

	// Has the victim read from us, and looks at its Read Request.
	Read take_read(const Socket &s, u32 length, u32 msn)
	{
		victim.demand("read " + in_hex(length));
		Octets request = s.receive(2 + 18 + 28 + 4);
		Octets header = be16(46) + Octets{0x41, 0x41} + be32(0) + be32(1) + be32(msn) + be32(0);
		Read read = {static_cast<u32>(number_at(request, 20, 4)), number_at(request, 24, 8),
			     static_cast<u32>(number_at(request, 32, 4))};

		want_octets("the Read Request's header", request.slice(0, 20), header);
		if (cut(request).good != 1 || read.length != length)
			fail("the Read Request is ", hex(request));
		return read;
	}

	static u64 number_at(const Octets &octets, size_t at, size_t len) { return hostile::number(octets, at, len); }

	// What comes back, and how it ends.
	void strike(const Row &row, const Attack &attack, Socket &s)
	{
		Octets want = attack.answer, came;
		End end;

		if (row.more.by_reset) {
			s.reset();
			return;
		}
		if (row.more.by_fin)
			s.fin();
		if (row.cause) {
			want = want + terminate(*row.cause, culprit(attack));
		} else {
			came = s.receive(want.size()); // who leaves is not answered any more
			if (!row.more.by_fin)
				s.fin();
		}
		came = came + s.rest(&end);

		if (row.more.responses)
			came = without_responses(came);
		if (came != want && cut(came).all.size() > 1 && attack.answer.empty())
			fail("more than one FPDU came: ", hex(came.slice(0, 300)));
		want_octets(row.cause ? "the Terminate" : "the answer", came, want);
		if (end != End::fin)
			fail(end == End::open ? "the stream was not closed" : "the stream was reset");
	}

	static const Octets &culprit(const Attack &attack)
	{
		return attack.culprit == the_last ? attack.fpdus.back() : attack.fpdus.at(attack.culprit);
	}

	static Octets without_responses(const Octets &stream)
	{
		Fpdus fpdus = cut(stream);
		Octets out;

		if (fpdus.good != fpdus.all.size())
			fail("an FPDU is damaged");
		for (const Octets &one : fpdus.all)
			if (one[3] != op_read_response)
				out = out + one;
		return out;
	}

	// ---- Startup ----

	// Whatever is said before.
	void want_closed(const Socket &s)
	{
		End end;

		s.rest(&end);
		if (end == End::open)
			fail("the connection was not closed");
	}

	void want_end(const Socket &s, const Octets &want, bool late)
	{
		Elapsed elapsed;
		End end;
		Octets came = s.rest(&end, 4 * victim_timeout);

		want_octets("what the victim said", came, want);
		if (end == End::open)
			fail("the connection was not closed");
		if (!late && elapsed.ms() >= victim_timeout - 2 * short_while)
			fail("the connection was closed late");
		if (late && elapsed.ms() < victim_timeout / 2)
			fail("the connection was closed early");
	}

	void run_request(const Startup &row, Pace pace)
	{
		Socket s = Socket::connect(options.victim, victim_port);

		s.send(row.octets, pace);
		if (row.then == Then::replies)
			return in_operation(row, s);
		if (row.then == Then::rejected)
			return refused(s);
		if (row.then == Then::reset)
			s.reset();
		else if (row.then == Then::fin)
			s.fin();
		if (row.then != Then::reset)
			want_end(s, {}, row.then == Then::times_out);
		victim.demand("quiet");
		want_untouched();
	}

	void in_operation(const Startup &row, const Socket &s)
	{
		std::string private_data = victim.demand("accept 4").substr(3);

		if (private_data != "=" + row.private_data)
			fail("the private data is ", private_data);
		want_octets("the Reply", s.receive(row.answer.size()), row.answer);
		s.fin();
		want_end(s, {}, false);
		want_verdict(victim.ask("verdict 1"), "over=1 receives=0/4/0 sends=0/0/0 event=none memory=ok good=ok");
	}

	void refused(const Socket &s)
	{
		victim.ask("accept 4");
		Octets reply = s.receive(20);

		if (!(reply[16] & 0x20))
			fail("the connection was not refused: ", hex(reply));
		want_untouched();
	}

	void run_reply(const Startup &row, Pace pace)
	{
		victim.demand("connect " + in_hex(attacker_port) + " 4");
		Socket s = listener.accept();

		take_request(s);
		s.send(row.octets, pace);
		if (row.then == Then::replies) {
			victim.demand("connected");
			want_octets("the RTR", s.receive(row.answer.size()), row.answer);
			s.fin();
			want_end(s, {}, false);
			want_verdict(victim.ask("verdict 1"),
				     "over=1 receives=0/4/0 sends=0/0/0 event=none memory=ok good=ok");
			return;
		}
		if (row.then == Then::reset)
			s.reset();
		else if (row.then == Then::fin)
			s.fin();
		if (row.then != Then::reset)
			want_end(s, row.answer, row.then == Then::times_out);
		want_no_connection(row);
	}

	void want_no_connection(const Startup &row)
	{
		std::string said = victim.ask("connected");
		std::string rejected = "RDMA_CM_EVENT_REJECTED =" + row.private_data;

		if (said == "ok" || said.rfind("nothing", 0) == 0 || (row.then == Then::rejected && said != rejected))
			fail("the victim hears ", said);
		want_untouched();
	}

	Socket accepted_by_victim(Pace pace)
	{
		Socket s = Socket::connect(options.victim, victim_port);

		s.send(Frame{}.octets(), pace);
		victim.demand("accept 4");
		want_octets("the Reply", s.receive(24), Frame{.key = reply_key}.octets());
		return s;
	}

	void responder_waits(Pace pace)
	{
		Socket s = accepted_by_victim(pace);
		End end;

		victim.demand("send 8");
		if (!s.silent(short_while))
			fail("it does");
		s.send(fpdu(Tagged{}), pace);
		Octets came = s.receive(2 + 18 + 8 + 4);

		want_octets("the Send's header", came.slice(0, 20), be16(26) + Untagged{}.octets());
		s.fin();
		want_octets("what came then", s.rest(&end), {});
		want_verdict(victim.ask("verdict 1"), "over=1 receives=0/4/0 sends=1/0/0 event=none memory=ok good=ok");
	}

	void responder_is_mute(Pace pace)
	{
		Socket s = accepted_by_victim(pace);

		s.send(damaged(fpdu(Tagged{}), 17), pace);
		want_end(s, {}, false);
		want_verdict(victim.ask("verdict 1"), "over=1 receives=0/4/0 sends=0/0/0 event=1 memory=ok good=ok");
	}

	// An FPDU that begins like this, and whose pad is zero (RFC 5044 4.1).
	static void want_fpdu(const char *what, const Octets &is, const Octets &header)
	{
		size_t end = 2 + number_at(is, 0, 2);

		if (cut(is).good != 1)
			fail(what, " is no FPDU: ", hex(is));
		want_octets(what, is.slice(0, header.size()), header);
		want_octets("the pad", is.slice(end, is.size() - 4 - end), Octets(is.size() - 4 - end));
	}

	static Octets read_request_header(u32 msn)
	{
		return be16(46) + Untagged{.rdmap = op_read_request, .qn = 1, .msn = msn}.octets();
	}

	static Octets response_to(const Octets &request, size_t len)
	{
		return fpdu(Tagged{.rdmap = op_read_response,
				   .stag = static_cast<u32>(number_at(request, 20, 4)),
				   .to = number_at(request, 24, 8),
				   .payload = filler(len)});
	}

	void want_all_sent(unsigned sends, u64 sunk)
	{
		const Region &sink = victim.regions.at("sink");

		want_verdict(victim.ask("verdict 1 may " + in_hex(sink.to) + " " + in_hex(sunk)),
			     "over=1 receives=0/4/0 sends=" + std::to_string(sends) + "/0/0 event=none memory=ok good=ok");
	}

	void want_completed(const std::string &ask, const std::string &want)
	{
		std::string said = victim.demand(ask);

		if (said != want)
			fail("the completions are ", said, ", not ", want);
	}

	// ibv_wc_opcode: 0 Send, 1 RDMA Write, 2 RDMA Read
	void posts_keep_their_order(Pace pace)
	{
		Socket s = accepted_by_victim(pace);
		Tagged write = {.stag = 0x77, .to = 0x1000};

		s.send(fpdu(Tagged{}), pace);
		victim.demand("mix");
		std::vector<Octets> came = cut(s.receive(28 + 32 + 52 + 32 + 32)).all;

		if (came.size() != 5)
			fail("the five requests come as ", std::to_string(came.size()), " FPDUs");
		want_fpdu("the first Write", came[0], be16(14 + 5) + write.octets());
		want_fpdu("the first Send", came[1], be16(18 + 7) + Untagged{.msn = 1}.octets());
		want_fpdu("the Read", came[2], read_request_header(1));
		want_fpdu("the second Send", came[3], be16(18 + 6) + Untagged{.msn = 2}.octets());
		want_fpdu("the second Write", came[4], be16(14 + 9) + write.octets());
		want_completed("completed 2", "ok 1 0");
		s.send(response_to(came[2], 64), pace);
		want_completed("completed 3", "ok 2 0 1");
		s.fin();
		want_end(s, {}, false);
		want_all_sent(5, 64);
	}

	// Both are there when the first FPDU lets the responder speak; each of them takes two FPDUs.
	void send_and_response_take_turns(Pace pace)
	{
		constexpr u32 length = 2000;
		Socket s = accepted_by_victim(pace);
		const Region &both = victim.regions.at("both");
		ReadRequest read = {.length = length, .source_stag = both.stag, .source_to = both.to};
		std::string order;

		victim.demand("send " + in_hex(length));
		s.send(fpdu(read.segment()), pace);
		for (int i = 0; i < 4; i++)
			order += next_fpdu(s)[3] == op_read_response ? 'R' : 'S';
		if (order != "SRSR" && order != "RSRS")
			fail("they come in the order ", order);
		s.fin();
		want_end(s, {}, false);
		want_verdict(victim.ask("verdict 1"), "over=1 receives=0/4/0 sends=1/0/0 event=none memory=ok good=ok");
	}

	// The next FPDU of the stream.
	static Octets next_fpdu(const Socket &s)
	{
		Octets length = s.receive(2);

		return length + s.receive((number_at(length, 0, 2) + 2 + 3) / 4 * 4 + 4 - 2);
	}

	// 12 MiB, of which the victim's TCP can hold only a part as long as we do not read.
	void flood_that_nobody_reads()
	{
		constexpr unsigned posted = 48;
		Socket s = Socket::connect(options.victim, victim_port);
		std::string later;

		s.send(Frame{}.octets(), Pace::whole);
		victim.demand("accept 4");
		want_octets("the Reply", s.receive(24), Frame{.key = reply_key}.octets());
		s.send(fpdu(Tagged{}), Pace::whole);
		victim.demand("flood " + in_hex(posted));
		unsigned early = static_cast<unsigned>(std::atoi(victim.demand("done").substr(3).c_str()));

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
		constexpr u32 ord = 4, posted = 6, size = 2 + 18 + 28 + 4;
		Socket s = accepted_by_victim(pace);

		s.send(fpdu(Tagged{}), pace);
		for (u32 i = 0; i < posted; i++)
			victim.demand("read 8");
		Octets requests = s.receive(ord * size);

		if (!s.silent(short_while))
			fail("a read too many");
		for (u32 i = 0; i < posted; i++) {
			Octets one = requests.slice(i * size, size);

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
		Octets came = s.rest(&end);

		if (came.size() != posted * size || end != End::fin)
			fail(end == End::fin ? "not the three Sends came: " : "no FIN came: ", hex(came));
		for (u32 i = 0; i < posted; i++)
			want_fpdu("a Send", came.slice(i * size, size), be16(18 + 7) + Untagged{.msn = i + 1}.octets());
		s.fin();
		want_verdict(victim.ask("verdict 1"), "over=1 receives=0/4/0 sends=3/1/0 event=none memory=ok good=ok");
	}

	// Neither we want to read nor does the victim let us.
	void no_reads_at_all(Pace pace)
	{
		Socket s = Socket::connect(options.victim, victim_port);
		Octets no_ord = {0x00, 0x04, 0x00, 0x00}, no_depths = {0x00, 0x00, 0x00, 0x00};
		Octets read = fpdu(ReadRequest{}.segment());

		s.send(Frame{.data = no_ord}.octets(), pace);
		victim.demand("accept-no-reads 4");
		want_octets("the Reply", s.receive(24), Frame{.key = reply_key, .data = no_depths}.octets());
		s.send(read, pace);
		want_end(s, terminate(untagged(2), read), false);
		want_verdict(victim.ask("verdict 1"), "over=1 receives=0/4/0 sends=0/0/0 event=1 memory=ok good=ok");
	}

	void rejected_by_the_consumer(Pace pace)
	{
		Socket s = Socket::connect(options.victim, victim_port);
		Octets data = {0x00, 0x04, 0x00, 0x00, 0x6e, 0x6f, 0x21}; // what it would have offered, and its reason

		s.send(Frame{}.octets(), pace);
		victim.demand("reject 6e6f21");
		want_octets("the Reply", s.receive(27), Frame{.key = reply_key, .flags = 0x70, .data = data}.octets());
		s.fin();
		want_end(s, {}, false);
		want_untouched();
	}

	void want_depths(const char *want)
	{
		std::string said = victim.demand("depths");

		if (said != want)
			fail("the consumer is told ", said, ", not ", want);
	}

	void request_depths_are_told(Pace pace)
	{
		Socket s = Socket::connect(options.victim, victim_port);

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
		Socket s = Socket::connect(options.victim, victim_port);
		Octets second = damaged(fpdu(Untagged{.payload = filler(8)}), 28);

		s.send(Frame{.flags = 0x00, .rev = 1, .data = {}}.octets(), pace);
		victim.demand("accept 4");
		want_octets("the Reply", s.receive(20),
			    Frame{.key = reply_key, .flags = 0x40, .rev = 1, .data = {}}.octets());
		s.send(fpdu(Tagged{}) + second, pace);
		want_end(s, terminate(bad_crc), false);
		want_verdict(victim.ask("verdict 1 may " + in_hex(victim.regions.at("receive0").to) + " 40"),
			     "over=1 receives=0/4/0 sends=0/0/0 event=1 memory=ok good=ok");
	}

	// As long as it lives, the victim's administrator can do without CRCs.
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

	// Startup with or without C, then a Send whose CRC field is wrong.
	Socket send_damaged(u8 flags, Pace pace)
	{
		Socket s = Socket::connect(options.victim, victim_port);

		s.send(Frame{.flags = flags}.octets(), pace);
		victim.demand("accept 4");
		want_octets("the Reply", s.receive(24), Frame{.key = reply_key, .flags = flags}.octets());
		s.send(fpdu(Tagged{}) + damaged(fpdu(Untagged{.payload = filler(8)}), 29), pace);
		return s;
	}

	void crc_of_nobody(Pace pace)
	{
		NoCrc off(victim);
		Socket s = send_damaged(0x10, pace);

		s.fin();
		want_end(s, {}, false);
		want_verdict(victim.ask("verdict 1 is " + in_hex(victim.regions.at("receive0").to) + " " + hex(filler(8))),
			     "over=1 receives=1/3/0 sends=0/0/0 event=none memory=ok good=ok");
	}

	void crc_of_ours(Pace pace)
	{
		NoCrc off(victim);
		Socket s = send_damaged(0x50, pace);

		want_end(s, terminate(bad_crc), false);
		want_verdict(victim.ask("verdict 1 may " + in_hex(victim.regions.at("receive0").to) + " 40"),
			     "over=1 receives=0/4/0 sends=0/0/0 event=1 memory=ok good=ok");
	}

	// More than the victim's backlog, all in the middle of their Request.
	void stalled_crowd()
	{
		std::vector<Socket> crowd;

		for (int i = 0; i < 100; i++) {
			try {
				crowd.push_back(Socket::connect(options.victim, victim_port));
				crowd.back().send(Frame{}.octets().slice(0, 10), Pace::whole);
			} catch (const Failure &) {
				// turned away at once, which is fair
			}
		}
		for (const Socket &s : crowd)
			want_closed(s);
		victim.demand("quiet");
		Socket s = accepted_by_victim(Pace::whole);

		s.fin();
		want_end(s, {}, false);
		want_verdict(victim.ask("verdict 1"), "over=1 receives=0/4/0 sends=0/0/0 event=none memory=ok good=ok");
	}

	void lost_before_reply(Pace pace, bool reset)
	{
		Socket s = Socket::connect(options.victim, victim_port);

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
};

int usage()
{
	std::fprintf(stderr, "usage: attacker [--octets-every N] [--only TEXT] OWN-ADDRESS VICTIM-ADDRESS COMMAND...\n"
			     "COMMAND starts the victim's program.\n");
	return 2;
}

} // namespace
} // namespace hostile

int main(int argc, char **argv)
{
	hostile::Options options;
	int i = 1;

	for (; i + 1 < argc && !std::strncmp(argv[i], "--", 2); i += 2) {
		if (!std::strcmp(argv[i], "--octets-every"))
			options.octets_every = static_cast<unsigned>(std::atoi(argv[i + 1]));
		else if (!std::strcmp(argv[i], "--only"))
			options.only = argv[i + 1];
		else
			return hostile::usage();
	}
	if (argc - i < 3)
		return hostile::usage();
	options.own = argv[i];
	options.victim = argv[i + 1];
	setvbuf(stdout, nullptr, _IOLBF, 0);
	try {
		hostile::VictimLink victim(argv + i + 2);

		return hostile::Attacker(options, victim).run();
	} catch (const std::exception &e) {
		std::printf("Bail out! %s\n", e.what());
		return 1;
	}
}
