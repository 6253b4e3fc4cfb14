// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A peer that speaks RDMA/TCP (draft-williams-rdmatcp-00, Documentation/rdmatcp.rst), in either
// role. Each row of its table breaks one rule, or none: the connection is reset without a word, the
// counter of the check that failed goes up by one, and nothing else of the victim's changes. Rows
// are sent in one piece and octet by octet. Output is TAP.
#include "../../shared/rdmatcp.hh"
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

constexpr unsigned victim_port = 7190, attacker_port = 7194;
constexpr u32 receive_size = 64;

// What the attacker knows once it is connected.
struct Scene {
	const std::map<std::string, Region> &regions;
	u64 connection = 0;
	u32 first = 0;		// the number of our next message
	std::vector<u32> reads; // the numbers of the victim's Read Requests

	Segment segment(u8 type, u32 ahead = 0) const
	{
		return {.type = type, .number = first + ahead, .connection = connection};
	}
	Segment send(size_t len, u32 ahead = 0) const
	{
		Segment out = segment(send_type, ahead);

		out.data = payload(len);
		return out;
	}
	Segment buffer(u8 type, const char *name, u64 offset, u32 len) const
	{
		const Region &region = regions.at(name);
		Segment out = segment(type);

		out.id = region.stag;
		out.offset = static_cast<u32>(region.to + offset);
		out.rdma_length = len;
		out.control = control(upper_flag, be32((region.to + offset) >> 32));
		return out;
	}
	Segment write(const char *name, u64 offset, u32 len) const
	{
		Segment out = buffer(write_type, name, offset, len);

		out.data = payload(len);
		return out;
	}
	Segment read(const char *name, u64 offset, u32 len) const
	{
		return buffer(read_request_type, name, offset, len);
	}
	Segment response(size_t read_index, size_t len) const
	{
		Segment out = segment(read_response_type);

		out.number = reads.at(read_index);
		out.data = payload(len);
		return out;
	}
};

struct Row {
	std::string name;
	const char *check; // that fails; nullptr: none does
	std::function<Bytes(const Scene &)> make;
	std::vector<u32> reads = {}; // of the victim, these long
	unsigned delivered = 0;	     // receives that complete
	unsigned refused = 0;	     // in error
	size_t lands = 0;	     // octets at the start of region "both"
	size_t touches = 0;	     // octets there, of receive0 and of the sink that may change
};

template <class Change> auto changed(Segment segment, Change change)
{
	change(segment);
	return segment;
}

// A Send with one change.
template <class Change> auto a_send(size_t len, Change change)
{
	return [=](const Scene &s) -> Bytes { return changed(s.send(len), change); };
}

template <class Change> auto a_write(const char *name, u64 offset, u32 len, Change change)
{
	return [=](const Scene &s) -> Bytes { return changed(s.write(name, offset, len), change); };
}

auto nothing = [](Segment &) {};

// A Send in two segments, the second with a change.
template <class Change> auto two_sends(Change change)
{
	return [=](const Scene &s) -> Bytes {
		Segment one = s.send(8), two = s.send(8);

		one.bits = begin_bit;
		two.bits = end_bit;
		two.offset = 8;
		return Bytes(one) + changed(two, change);
	};
}

template <class Change> auto two_writes(Change change)
{
	return [=](const Scene &s) -> Bytes {
		Segment one = s.write("both", 0, 8), two = s.write("both", 8, 8);

		one.rdma_length = two.rdma_length = 16;
		one.bits = begin_bit;
		two.bits = end_bit;
		return Bytes(one) + changed(two, change);
	};
}

template <class Change> auto a_read(const char *name, u64 offset, u32 len, Change change)
{
	return [=](const Scene &s) -> Bytes { return changed(s.read(name, offset, len), change); };
}

template <class Change> auto a_response(size_t len, Change change)
{
	return [=](const Scene &s) -> Bytes { return changed(s.response(0, len), change); };
}

auto damaged(size_t at)
{
	return [=](const Scene &s) -> Bytes {
		Bytes out = s.send(7);

		out.at(at) ^= 0x10;
		return out;
	};
}

std::vector<Row> header_rows()
{
	return {
		{"3.4: Version is 1: 0", "version", a_send(4, [](Segment &s) { s.version = 0; })},
		{"3.4: Version is 1: 2", "version", a_send(4, [](Segment &s) { s.version = 2; })},
		{"3.4: the Connection ID is the connection's", "connection_id",
		 a_send(4, [](Segment &s) { s.connection++; })},
		{"3.4: the Connection ID is the connection's: 0", "connection_id",
		 a_send(4, [](Segment &s) { s.connection = 0; })},
		{"3.4: the Message Number is the next one: one ahead", "number",
		 a_send(4, [](Segment &s) { s.number++; })},
		{"3.4: the Message Number is the next one: again", "number",
		 a_send(4, [](Segment &s) { s.number--; })},
		{"3.4: the first segment has B", "bits",
		 a_send(4, [](Segment &s) { s.bits = end_bit; })},
		{"3.4: the Segment Length has room for the header: 0", "length",
		 a_send(0, [](Segment &s) { s.length_more = -24; })},
		{"3.4: the Segment Length has room for the header: 23", "length",
		 a_send(0, [](Segment &s) { s.length_more = -1; })},
		{"3.4: the Segment Length has room for the header: 31", "length",
		 a_write("both", 0, 0, [](Segment &s) { s.length_more = -1 - 8; })},
		{"3.4: the Segment Length has room for CLEN words", "length",
		 a_send(0,
			[](Segment &s) {
				s.control = control(solicited_flag);
				s.length_more = -1;
			})},
		{"3.4: the CRC covers the header", "crc", damaged(18), {}, 0, 0, 0, 8},
		{"3.4: the CRC covers the payload", "crc", damaged(25), {}, 0, 0, 0, 8},
		{"3.4: the CRC covers the padding", "crc", damaged(31), {}, 0, 0, 0, 8},
		{"3.4: the CRC field", "crc", damaged(35), {}, 0, 0, 0, 8},
		{"3.4: reserved bits and padding are not checked",
		 nullptr,
		 a_send(5,
			[](Segment &s) {
				s.reserved = 0x0f;
				s.pad = 0xee;
			}),
		 {},
		 1,
		 0,
		 0,
		 8},
	};
}

std::vector<Row> send_rows()
{
	return {
		{"3.4: a Data Offset begins with 0", "offset",
		 a_send(4, [](Segment &s) { s.offset = 4; })},
		{"3.4: the Data Offset counts the payload: a gap",
		 "offset",
		 two_sends([](Segment &s) { s.offset = 9; }),
		 {},
		 0,
		 0,
		 0,
		 8},
		{"3.4: the Data Offset counts the payload: again",
		 "offset",
		 two_sends([](Segment &s) { s.offset = 0; }),
		 {},
		 0,
		 0,
		 0,
		 8},
		{"4: a message ends before the next begins",
		 "number",
		 two_sends([](Segment &s) {
			 s.number++;
			 s.bits = both_bits;
		 }),
		 {},
		 0,
		 0,
		 0,
		 8},
		{"3.4: B is set once",
		 "bits",
		 two_sends([](Segment &s) { s.bits = both_bits; }),
		 {},
		 0,
		 0,
		 0,
		 8},
		{"3.4: all segments of a message have one type",
		 "bits",
		 [](const Scene &s) -> Bytes {
			 Segment one = s.send(8), two = s.write("both", 0, 8);

			 one.bits = begin_bit;
			 two.bits = end_bit;
			 return Bytes(one) + two;
		 },
		 {},
		 0,
		 0,
		 0,
		 8},
		{"a Send is no longer than its receive",
		 "too_long",
		 a_send(receive_size + 1, nothing),
		 {},
		 0,
		 1},
		{"a Send needs a receive",
		 "no_buffer",
		 [](const Scene &s) {
			 Bytes out;

			 for (u32 i = 0; i < 5; i++)
				 out = out + s.send(0, i);
			 return out;
		 },
		 {},
		 4},
		{"control data: a Send with Immediate Data",
		 nullptr,
		 a_send(4, [](Segment &s) { s.control = control(immediate_flag, be64(1)); }),
		 {},
		 1,
		 0,
		 0,
		 8},
		{"control data: what need not be known is ignored",
		 nullptr,
		 a_send(4, [](Segment &s) { s.control = control(0xff00) + payload(4 * 254); }),
		 {},
		 1,
		 0,
		 0,
		 8},
		{"control data: another version of the binding", "control",
		 a_send(4,
			[](Segment &s) {
				s.control = {2, 0, 0, 0};
			})},
		{"control data: a flag that must be known", "control",
		 a_send(4, [](Segment &s) { s.control = control(0x0020); })},
		{"control data: a word is missing", "control",
		 a_send(4, [](Segment &s) { s.control = control(invalidate_flag); })},
		{"control data: startup in operation", "control",
		 a_send(4, [](Segment &s) { s.control = control(startup_flag, be64(1)); })},
		{"control data: an upper offset of a Send", "control",
		 a_send(4, [](Segment &s) { s.control = control(upper_flag, be32(0)); })},
		{"control data: solicited before the end", "control",
		 a_send(4,
			[](Segment &s) {
				s.bits = begin_bit;
				s.control = control(solicited_flag);
			})},
		{"control data: both invalidate and Immediate Data", "control",
		 a_send(4,
			[](Segment &s) {
				s.control = control(invalidate_flag | immediate_flag,
						    be32(1) + be64(1));
			})},
	};
}

std::vector<Row> write_rows()
{
	return {
		{"a Write lands", nullptr, a_write("both", 0, 8, nothing), {}, 0, 0, 8},
		{"a Write of no octets is not checked against a buffer", nullptr,
		 a_write("both", 0, 0, [](Segment &s) { s.id = 0xdeadbe00; })},
		{"4: Writes of several segments",
		 nullptr,
		 two_writes([](Segment &s) { s.data = payload(16).slice(8, 8); }),
		 {},
		 0,
		 0,
		 16},
		{"the buffer exists: never given out", "buffer_id",
		 a_write("both", 0, 8, [](Segment &s) { s.id = 0xdeadbe00; })},
		{"the buffer exists: right but for its key", "buffer_id",
		 a_write("both", 0, 8, [](Segment &s) { s.id ^= 1; })},
		{"the buffer exists: given back", "buffer_id", a_write("stale", 0, 8, nothing)},
		{"the buffer is the peer's: of another protection domain", "access",
		 a_write("foreign", 0, 8, nothing)},
		{"the buffer allows Writes: for remote reads only", "access",
		 a_write("read-only", 0, 8, nothing)},
		{"the buffer allows Writes: for nobody remote", "access",
		 a_write("private", 0, 8, nothing)},
		{"in bounds: one below", "bounds", a_write("both", ~u64{0}, 8, nothing)},
		{"in bounds: 4 GiB below", "bounds",
		 a_write("both", 0 - (u64{1} << 32), 8, nothing)},
		{"in bounds: 4 GiB above", "bounds", a_write("both", u64{1} << 32, 8, nothing)},
		{"in bounds: the offset wraps", "bounds",
		 a_write("both", 0, 8,
			 [](Segment &s) {
				 s.offset = ~u32{0} - 3;
				 s.control = control(upper_flag, be32(~u32{0}));
			 })},
		{"in bounds: one above", "bounds",
		 [](const Scene &s) -> Bytes {
			 return s.write("both", s.regions.at("both").length - 7, 8);
		 }},
		{"3.4: the RDMA Length is that of the message: less", "length",
		 a_write("both", 0, 8, [](Segment &s) { s.rdma_length = 7; })},
		{"3.4: the RDMA Length is that of the message: more", "length",
		 a_write("both", 0, 8, [](Segment &s) { s.rdma_length = 9; })},
		{"3.4: the RDMA Length is that of the message: all ones", "length",
		 a_write("both", 0, 8, [](Segment &s) { s.rdma_length = ~u32{0}; })},
		{"4: a Write is ended by a segment without payload",
		 nullptr,
		 [](const Scene &s) -> Bytes {
			 Segment one = s.write("both", 0, 8), two = s.write("both", 8, 0);

			 one.bits = begin_bit;
			 two.bits = end_bit;
			 two.rdma_length = 8;
			 return Bytes(one) + two;
		 },
		 {},
		 0,
		 0,
		 8},
		{"3.4: the Buffer ID is constant",
		 "buffer_id",
		 two_writes([](Segment &s) { s.id ^= 1; }),
		 {},
		 0,
		 0,
		 0,
		 8},
		{"3.4: the RDMA Length is repeated",
		 "length",
		 two_writes([](Segment &s) { s.rdma_length++; }),
		 {},
		 0,
		 0,
		 0,
		 8},
		{"3.4: the Buffer Offset is incremented: a gap",
		 "offset",
		 two_writes([](Segment &s) { s.offset++; }),
		 {},
		 0,
		 0,
		 0,
		 8},
		{"3.4: the Buffer Offset is incremented: again",
		 "offset",
		 two_writes([](Segment &s) { s.offset -= 8; }),
		 {},
		 0,
		 0,
		 0,
		 8},
		{"control data: a Write that invalidates", "control",
		 a_write("both", 0, 8,
			 [](Segment &s) {
				 s.control = control(upper_flag | invalidate_flag, be64(1));
			 })},
		{"a Write with Immediate Data needs a receive",
		 "no_buffer",
		 [](const Scene &s) {
			 Bytes out;
			 Segment fifth = s.write("both", 0, 0);

			 for (u32 i = 0; i < 4; i++)
				 out = out + s.send(0, i);
			 fifth.number += 4;
			 fifth.control = control(immediate_flag, be64(1));
			 return out + fifth;
		 },
		 {},
		 4},
	};
}

std::vector<Row> read_rows()
{
	return {
		{"3.3: a Read Request is one segment", "bits",
		 a_read("both", 0, 8, [](Segment &s) { s.bits = begin_bit; })},
		{"3.3: a Read Request has no payload", "length",
		 a_read("both", 0, 8, [](Segment &s) { s.data = payload(4); })},
		{"the source exists", "buffer_id",
		 a_read("both", 0, 8, [](Segment &s) { s.id = 0xdeadbe00; })},
		{"the source allows Reads", "access", a_read("private", 0, 8, nothing)},
		{"the source is the peer's", "access", a_read("foreign", 0, 8, nothing)},
		{"the source is in bounds: a length of 2^32 - 1", "bounds",
		 a_read("both", 0, ~u32{0}, nothing)},
		{"the source is in bounds: one below", "bounds",
		 a_read("both", ~u64{0}, 8, nothing)},
		{"3.4: a Read Response has the number of a Read Request: of none", "number",
		 [](const Scene &s) -> Bytes {
			 Segment out = s.segment(read_response_type);

			 return out;
		 }},
		{"3.4: a Read Response has the number of a Read Request: of the second",
		 "number",
		 [](const Scene &s) -> Bytes { return s.response(1, 16); },
		 {40, 16}},
		{"a Read Response is as long as its Read: shorter",
		 "length",
		 a_response(39, nothing),
		 {40}},
		{"a Read Response is as long as its Read: longer",
		 "bounds",
		 a_response(41, nothing),
		 {40}},
		{"3.4: a Read Response begins with B",
		 "bits",
		 a_response(40, [](Segment &s) { s.bits = end_bit; }),
		 {40}},
		{"3.4: the Data Offset of a Read Response begins with 0",
		 "offset",
		 a_response(40, [](Segment &s) { s.offset = 8; }),
		 {40}},
		{"control data: a Read Response has none",
		 "control",
		 a_response(40, [](Segment &s) { s.control = control(solicited_flag); }),
		 {40}},
	};
}

// ---- running them ----

class Tester {
public:
	Tester(char **argv)
		: device(argv[3]), host(argv[2]), victim(argv + 4),
		  listener(Socket::listen(argv[1], attacker_port))
	{
	}

	int run()
	{
		for (const auto &rows : {header_rows(), send_rows(), write_rows(), read_rows()})
			for (const Row &row : rows)
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
