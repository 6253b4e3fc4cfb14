// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Runs a row of a table: the victim's role, the connection, the octets, and the expected results.
#include "stage.hh"

#include <memory>
#include <sstream>

namespace hostile {
namespace {

// ---- Request and Reply frames ----

class Startups : public Stage {
public:
	explicit Startups(const Stage &stage) : Stage(stage) {}

	void run_request(const Startup &row, Pace pace)
	{
		const auto short_ones = timeouts_for(row);
		Socket s = Socket::connect(host, victim_port);

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

	void run_reply(const Startup &row, Pace pace)
	{
		const auto short_ones = timeouts_for(row);
		victim.demand("connect " + in_hex(attacker_port) + " 4");
		Socket s = listener.accept();

		take_request(s);
		s.send(row.octets, pace);
		if (row.then == Then::replies) {
			victim.demand("connected");
			want_octets("the RTR", s.receive(row.answer.size()), row.answer);
			s.fin();
			want_end(s, {}, false);
			want_verdict(
				victim.ask("verdict 1"),
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

private:
	static std::unique_ptr<Timeouts> timeouts_for(const Startup &row)
	{
		return row.then == Then::times_out
			       ? std::make_unique<Timeouts>(victim_timeout / 1000)
			       : nullptr;
	}

	void in_operation(const Startup &row, const Socket &s)
	{
		std::string private_data = victim.demand("accept 4").substr(3);

		if (private_data != "=" + row.private_data)
			fail("the private data is ", private_data);
		want_octets("the Reply", s.receive(row.answer.size()), row.answer);
		s.fin();
		want_end(s, {}, false);
		want_verdict(victim.ask("verdict 1"),
			     "over=1 receives=0/4/0 sends=0/0/0 event=none memory=ok good=ok");
	}

	void refused(const Socket &s)
	{
		victim.ask("accept 4");
		Bytes reply = s.receive(20);

		if (!(reply[16] & 0x20))
			fail("the connection was not refused: ", hex(reply));
		want_untouched();
	}

	void want_no_connection(const Startup &row)
	{
		std::string said = victim.ask("connected");
		std::string rejected = "RDMA_CM_EVENT_REJECTED =" + row.private_data;

		if (said == "ok" || said.rfind("nothing", 0) == 0 ||
		    (row.then == Then::rejected && said != rejected))
			fail("the victim hears ", said);
		want_untouched();
	}
};

// ---- FPDUs ----

Bytes joined(const std::vector<Bytes> &pieces)
{
	Bytes out;

	for (const Bytes &piece : pieces)
		out.insert(out.end(), piece.begin(), piece.end());
	return out;
}

// The async event that a QP raises when it sends such a Terminate.
int event_of(const Cause &cause)
{
	if ((cause.layer == 1 || cause.layer == 0) && cause.type == 1)
		return 3; // QP_ACCESS_ERR
	return cause.layer == 0 && cause.type == 2 ? 2 /* QP_REQ_ERR */ : 1 /* QP_FATAL */;
}

class Attacks : public Stage {
public:
	explicit Attacks(const Stage &stage) : Stage(stage) {}

	void attack_listener(const Row &row, Pace pace)
	{
		Socket s = Socket::connect(host, victim_port, row.more.window);

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
		Bytes rtr = s.receive(20);

		if (cut(rtr).good != 1 || rtr.slice(0, 4) != Bytes{0x00, 0x0e, 0xc1, 0x40})
			fail("the zero-length RDMA Write that is to come first is ", hex(rtr));
		attack(row, std::move(s), pace);
	}

private:
	void attack(const Row &row, Socket s, Pace pace)
	{
		Scene scene = {victim.regions, {}, {}};

		if (!row.more.first)
			s.send(fpdu(Tagged{.stag = 0xbad, .to = ~u64{0}}), pace);
		for (size_t i = 0; i < row.more.reads.size(); i++)
			scene.reads.push_back(
				take_read(s, row.more.reads[i], static_cast<u32>(i) + 1));

		for (unsigned i = 0; i < row.more.atomics; i++)
			scene.atomics.push_back(
				take_atomic(s, static_cast<u32>(row.more.reads.size()) + i + 1));

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
		Bytes request = s.receive(2 + 18 + 28 + 4);
		Bytes header =
			be16(46) + Bytes{0x41, 0x41} + be32(0) + be32(1) + be32(msn) + be32(0);
		Read read = {static_cast<u32>(number(request, 20, 4)), number(request, 24, 8),
			     static_cast<u32>(number(request, 32, 4))};

		want_octets("the Read Request's header", request.slice(0, 20), header);
		if (cut(request).good != 1 || read.length != length)
			fail("the Read Request is ", hex(request));
		return read;
	}

	// Sends a FetchAdd of 5 to 0x1000 of STag 0x77. Returns its Request Identifier.
	u32 take_atomic(const Socket &s, u32 msn)
	{
		victim.demand("add 5");
		Bytes request = s.receive(2 + 18 + 52 + 4);
		AtomicRequest want = {.id = static_cast<u32>(number(request, 24, 4)),
				      .stag = 0x77,
				      .to = 0x1000,
				      .data = 5};

		want_octets("the Atomic Request", request, fpdu(atomic_request(want, msn)));
		return want.id;
	}

	// What comes back, and how it ends.
	void strike(const Row &row, const Attack &attack, Socket &s)
	{
		Bytes want = attack.answer, came;
		End end;

		if (row.more.by_reset) {
			s.reset();
			return;
		}
		if (row.more.by_fin)
			s.fin();
		if (row.cause) {
			want = want + fpdu(terminate(*row.cause, culprit(attack)));
		} else {
			came = s.receive(want.size()); // before our FIN, which ends answers
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
			fail(end == End::open ? "the stream was not closed"
					      : "the stream was reset");
	}

	static const Bytes &culprit(const Attack &attack)
	{
		return attack.culprit == the_last ? attack.fpdus.back()
						  : attack.fpdus.at(attack.culprit);
	}

	static Bytes without_responses(const Bytes &stream)
	{
		Fpdus fpdus = cut(stream);
		Bytes out;

		if (fpdus.good != fpdus.all.size())
			fail("an FPDU is damaged");
		for (const Bytes &one : fpdus.all)
			if (one[3] != op_read_response)
				out = out + one;
		return out;
	}

	void want_result(const Row &row, const Attack &attack)
	{
		std::ostringstream ask, want;
		const More &more = row.more;
		size_t reads = more.reads.size() + more.atomics;
		int event = more.event >= 0 ? more.event : row.cause ? event_of(*row.cause) : 0;

		ask << "verdict 1" << std::hex;
		for (const Span &span : attack.may_change)
			ask << " may " << span.at << ' ' << span.length;
		for (const Change &change : attack.lands)
			ask << " is " << change.at << ' ' << hex(change.octets);
		want << "over=1 receives=" << more.delivered << '/'
		     << more.receives - more.delivered - more.refused << '/' << more.refused
		     << " sends=" << more.reads_done << '/' << reads - more.reads_done << "/0"
		     << " event=" << (event ? std::to_string(event) : "none")
		     << " memory=ok good=ok";
		want_verdict(victim.ask(ask.str()), want.str());
	}
};

} // namespace

std::vector<Case> startup_cases(const Stage &stage)
{
	std::vector<Case> cases;
	Startups startups(stage);

	for (const Startup &row : request_rows())
		cases.push_back({"listener", row.name,
				 [=](Pace pace) mutable { startups.run_request(row, pace); },
				 row.then == Then::times_out});
	for (const Startup &row : reply_rows())
		cases.push_back({"client", row.name,
				 [=](Pace pace) mutable { startups.run_reply(row, pace); },
				 row.then == Then::times_out});
	return cases;
}

std::vector<Case> segment_cases(const Stage &stage)
{
	std::vector<Case> cases;
	Attacks attacks(stage);

	for (const Row &row : segment_rows()) {
		bool crc = row.cause == bad_crc;

		cases.push_back({"listener", row.name,
				 [=](Pace pace) mutable { attacks.attack_listener(row, pace); },
				 false, crc});
		cases.push_back({"client", row.name,
				 [=](Pace pace) mutable { attacks.attack_client(row, pace); },
				 false, crc});
	}
	return cases;
}

} // namespace hostile
