// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Slow graceful ends (RFC 5041 6.2.1): they last while bytes flow, and no longer.
#include "stage.hh"

#include <chrono>
#include <thread>

namespace hostile {
namespace {

using std::chrono::milliseconds;

constexpr u32 reads = 4; // the victim's IRD
constexpr int window = 16384;
constexpr size_t piece = 32768;
constexpr milliseconds pause{100}, silence{7000}; // silence: longer than a drain waits

// The Read Responses in the stream, each from TO 0 on, without gaps.
void want_responses(const Bytes &stream, u64 length)
{
	Fpdus fpdus = cut(stream);
	u64 next = 0;

	if (fpdus.good != fpdus.all.size())
		fail("FPDU ", std::to_string(fpdus.good), " of ", std::to_string(fpdus.all.size()),
		     " is not whole");
	for (const Bytes &one : fpdus.all) {
		if (one[3] != op_read_response || number(one, 8, 8) != next % length)
			fail("not the response's next FPDU: ", hex(one.slice(0, 16)));
		next += number(one, 0, 2) - 14;
	}
	if (next != reads * length)
		fail("of the responses ", std::to_string(next), " octets came");
}

class Endings : public Stage {
public:
	explicit Endings(const Stage &stage) : Stage(stage) {}

	// About 1 MiB, which we read in three seconds.
	void answer_to_a_slow_reader()
	{
		u64 length = 0;
		Socket s = asked_and_half_closed(&length);
		Bytes came;
		End end;

		for (unsigned i = 0; i < 30; i++) {
			came = came + s.receive(piece);
			std::this_thread::sleep_for(pause);
		}
		want_responses(came + s.rest(&end), length);
		if (end != End::fin)
			fail("no FIN comes behind the responses");
		want_verdict(victim.ask("verdict 1"),
			     "over=1 receives=0/4/0 sends=0/0/0 event=none memory=ok good=ok");
	}

	void answer_to_nobody()
	{
		u64 length = 0;
		Socket s = asked_and_half_closed(&length);
		End end;

		std::this_thread::sleep_for(silence);
		if (cut(s.rest(&end)).good * 1500 >= reads * length)
			fail("all of it came, after so long");
		want_verdict(victim.ask("verdict 1"),
			     "over=1 receives=0/4/0 sends=0/0/0 event=none memory=ok good=ok");
	}

	// The victim ends the connection while its read is being answered.
	void response_that_trickles()
	{
		Bytes response;
		Socket s = read_and_disconnect(&response);

		for (size_t at = 0; at < response.size(); at += 100) {
			std::this_thread::sleep_for(pause);
			s.send(response.slice(at, 100), Pace::whole);
		}
		want_end(s, {}, false);
		want_read("1/0/0");
	}

	void response_that_stops()
	{
		Bytes response;
		Socket s = read_and_disconnect(&response);

		s.send(response.slice(0, 1000), Pace::whole);
		std::this_thread::sleep_for(silence);
		want_end(s, {}, false);
		want_read("0/1/0");
	}

private:
	static constexpr u32 read_length = 2500;

	// The victim is busy answering our Reads and sends nothing else.
	Socket asked_and_half_closed(u64 *length)
	{
		const Region &both = victim.regions.at("both");
		Socket s = accepted_by_victim(Pace::whole, window);
		Bytes requests;

		*length = both.length;
		for (u32 i = 0; i < reads; i++) {
			ReadRequest read = {.sink_to = 0,
					    .length = static_cast<u32>(both.length),
					    .source_stag = both.stag,
					    .source_to = both.to};

			requests = requests + fpdu(read_request(read, i + 1));
		}
		s.send(requests, Pace::whole);
		s.fin();
		return s;
	}

	// Nothing has come back yet: neither data nor FIN.
	Socket read_and_disconnect(Bytes *response)
	{
		Socket s = accepted_by_victim(Pace::whole);

		s.send(fpdu(Tagged{}), Pace::whole);
		victim.demand("read " + in_hex(read_length));
		*response = response_to(s.receive(read_request_size), read_length);
		victim.demand("disconnect");
		if (!s.silent(short_while))
			fail("the connection ends although a read is outstanding");
		return s;
	}

	void want_read(const std::string &completions)
	{
		const Region &sink = victim.regions.at("sink");

		want_verdict(
			victim.ask("verdict 1 may " + in_hex(sink.to) + " " + in_hex(read_length)),
			"over=1 receives=0/4/0 sends=" + completions +
				" event=none memory=ok good=ok");
	}
};

} // namespace

std::vector<Case> ending_cases(const Stage &stage)
{
	Endings endings(stage);
	auto play = [&](void (Endings::*act)()) { return [=](Pace) mutable { (endings.*act)(); }; };

	return {
		{"listener",
		 "RFC 5041 6.2.1: what is asked before a FIN is answered for as long as the peer "
		 "reads",
		 play(&Endings::answer_to_a_slow_reader), true},
		{"listener",
		 "RFC 5041 6.2.1: a peer that asks, sends FIN and does not read is not waited for",
		 play(&Endings::answer_to_nobody), true},
		{"listener",
		 "RFC 5041 6.2.1: a read is completed before a disconnect for as long as its "
		 "response comes",
		 play(&Endings::response_that_trickles), true},
		{"listener",
		 "RFC 5041 6.2.1: a disconnect does not wait for a response that has stopped",
		 play(&Endings::response_that_stops), true},
	};
}

} // namespace hostile
