// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A peer that speaks RDMA/TCP (draft-williams-rdmatcp-00, Documentation/rdmatcp.rst), in either
// role. Each row of shared/attacks/rdmatcp breaks one rule, or none: the connection is reset
// without a word, the counter of the check that failed goes up by one, and nothing else of the
// victim's changes. Rows are sent in one piece and octet by octet. Output is TAP.
#include "../../shared/attacks/rdmatcp/rows.hh"
#include "../shared/pulse.hh"
#include "peer.hh"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

namespace hostile {
namespace {

using namespace rdmatcp_wire;
using rdmatcp_attacks::all_rows, rdmatcp_attacks::Row, rdmatcp_attacks::Scene;

constexpr unsigned victim_port = 7190, attacker_port = 7194;

class Tester {
public:
	Tester(char **argv)
		: device(argv[3]), host(argv[2]), victim(argv + 4),
		  listener(Socket::listen(argv[1], attacker_port))
	{
	}

	int run()
	{
		for (const Row &row : all_rows())
			for (bool listening : {true, false})
				run_row(row, listening);
		report("3.4: the Connection ID and the first numbers are random", ids_are_random());
		std::printf("1..%u\n", number_of_cases);
		return failed ? 1 : 0;
	}

private:
	const std::string device, host;
	VictimLink victim;
	Socket listener;
	unsigned number_of_cases = 0, failed = 0;
	std::map<std::string, unsigned> counted; // by check
	std::set<u64> ids;			 // that the victim has chosen,
	std::set<u64> numbers;			 // and the numbers of its first messages
	unsigned hellos = 0, chosen = 0;
	Pulse pulse;

	void report(const std::string &name, const std::string &trouble)
	{
		std::printf("%sok %u - %s\n", trouble.empty() ? "" : "not ", ++number_of_cases,
			    name.c_str());
		if (!trouble.empty())
			std::printf("# %s\n", trouble.c_str());
		failed += !trouble.empty();
	}

	void run_row(const Row &row, bool listening)
	{
		std::string trouble;

		for (Pace pace : {Pace::whole, Pace::octets})
			if (trouble.empty())
				trouble = attempt(row, listening, pace);
		report("RDMA/TCP " + row.name + (listening ? " (listener)" : " (client)"), trouble);
	}

	std::string attempt(const Row &row, bool listening, Pace pace)
	{
		return pulse.steadily([&] {
			try {
				play(row, listening, pace);
				return std::string();
			} catch (const Failure &e) {
				victim.ask("verdict 0");
				return (pace == Pace::octets ? "octet by octet: " : "") +
				       std::string(e.what());
			}
		});
	}

	// Each end's first number has 32 bits: two of some hundred may be equal.
	std::string ids_are_random() const
	{
		if (ids.size() < chosen || numbers.size() + 2 < hellos)
			return std::to_string(ids.size()) + " of " + std::to_string(chosen) +
			       " IDs and " + std::to_string(numbers.size()) + " of " +
			       std::to_string(hellos) + " numbers differ";
		return "";
	}

	// ---- startup ----

	enum : u8 { wants_crc = 1, wants_long_segments = 2 };

	static Segment hello(u8 kind, u64 connection, u32 first, u8 flags = wants_crc)
	{
		return {.number = first,
			.control = control(startup_flag, Bytes{kind, flags, 0, 0, 0, 4, 0, 4}),
			.connection = connection};
	}

	// The victim's first message: 24 octets of header, 12 of control data, the CRC.
	Segment take_hello(const Socket &s, u8 kind)
	{
		const Bytes came = s.receive(40);
		const Segment want =
			hello(kind, number(came, 4, 8), static_cast<u32>(number(came, 12, 4)),
			      wants_crc | wants_long_segments);

		if (came != Bytes(want))
			fail("the first message is ", hex(came), ", not ", hex(want));
		hellos++;
		numbers.insert(want.number);
		return want;
	}

	Socket connect_to_listener(Scene &scene, Pace pace)
	{
		Socket s = Socket::connect(host, victim_port);

		scene.connection = 0x1020304050607080;
		scene.first = 0xffffffff; // so the next number is 0
		s.send(hello(1, scene.connection, scene.first++), pace);
		victim.demand("accept 4");
		if (take_hello(s, 2).connection != scene.connection)
			fail("another Connection ID comes back");
		return s;
	}

	Socket connect_to_client(Scene &scene, Pace pace)
	{
		victim.demand("connect 1c1a 4");
		static_assert(attacker_port == 0x1c1a);
		Socket s = listener.accept();

		scene.connection = take_hello(s, 1).connection;
		ids.insert(scene.connection);
		chosen++;
		scene.first = 77;
		s.send(hello(2, scene.connection, scene.first++), pace);
		victim.demand("connected");
		return s;
	}

	// ---- a row ----

	void play(const Row &row, bool listening, Pace pace)
	{
		Scene scene = {victim.regions};
		Socket s = listening ? connect_to_listener(scene, pace)
				     : connect_to_client(scene, pace);
		End end;

		for (u32 len : row.reads)
			scene.reads.push_back(take_read(s, len));
		const bool cut = !s.send(row.make(scene), pace);
		if (!row.check)
			s.fin();
		const Bytes came = s.rest(&end);

		if (!came.empty())
			fail("the victim says ", hex(came));
		if (cut) // send() saw the reset
			end = End::reset;
		if (end != (row.check ? End::reset : End::fin))
			fail(row.check ? "the connection is not reset" : "no FIN comes");
		want_verdict(row);
		if (row.check)
			want_counted(row.check);
	}

	void want_counted(const std::string &check)
	{
		const unsigned is = counter(check), was = std::exchange(counted[check], is);

		if (is != was + 1)
			fail("rdmatcp_", check, " is ", std::to_string(is), " after ",
			     std::to_string(was));
	}

	u32 take_read(const Socket &s, u32 len)
	{
		std::ostringstream ask;

		ask << "read " << std::hex << len;
		victim.demand(ask.str());
		const Bytes request = s.receive(36);

		return static_cast<u32>(number(request, 12, 4));
	}

	// The RDMA core keeps counters for 10 ms, in ticks of a slow clock.
	unsigned counter(const std::string &check) const
	{
		std::this_thread::sleep_for(std::chrono::milliseconds(35));
		std::ifstream file(device + "/ports/1/hw_counters/rdmatcp_" + check);
		unsigned value;

		if (!(file >> value))
			fail("there is no counter rdmatcp_", check);
		return value;
	}

	// enum ibv_event_type of the errors that MPA's peers would get.
	static std::string event_of(const Row &row)
	{
		const std::string check = row.check ? row.check : "";

		if (check.empty())
			return "none";
		if (check == "buffer_id" || check == "bounds" || check == "access")
			return "3"; // IBV_EVENT_QP_ACCESS_ERR
		if (check == "connection_id" || check == "bits" || check == "length" ||
		    check == "control")
			return "2"; // IBV_EVENT_QP_REQ_ERR
		return "1";	    // IBV_EVENT_QP_FATAL
	}

	void want_verdict(const Row &row)
	{
		const Region &both = victim.regions.at("both"),
			     &receive = victim.regions.at("receive0"),
			     &sink = victim.regions.at("sink");
		std::ostringstream ask, want;

		ask << "verdict 1 may " << std::hex << both.to << ' ' << row.touches << " may "
		    << receive.to << ' ' << row.touches << " may " << sink.to << ' '
		    << (row.reads.empty() ? 0 : 40);
		if (row.lands)
			ask << " is " << both.to << ' ' << hex(payload(row.lands));
		want << "over=1 receives=" << row.delivered << '/'
		     << 4 - row.delivered - row.refused << '/' << row.refused << " sends=0/"
		     << row.reads.size() << "/0 event=" << event_of(row) << " memory=ok good=ok";
		const std::string said = victim.ask(ask.str());

		if (said != want.str())
			fail("the victim saw ", said, ", not ", want.str());
	}
};

} // namespace
} // namespace hostile

int main(int argc, char **argv)
{
	if (argc < 5) {
		std::fprintf(stderr, "usage: rdmatcp OWN-ADDRESS VICTIM-ADDRESS DEVICE COMMAND...\n"
				     "DEVICE: the victim's, below /sys/class/infiniband; COMMAND "
				     "starts its program.\n");
		return 2;
	}
	return hostile::run_tap([argv] { return hostile::Tester(argv).run(); });
}
