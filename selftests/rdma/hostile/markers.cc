// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A peer with its own implementation of markers (RFC 5044 4.3). Either end asks for them, in either
// role. It writes to the victim's memory and reads it back, and checks every octet; then it sends a
// wrong marker. Output is TAP. The attacker's tables (case.hh) have no markers.
#include "peer.hh"

#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>

namespace hostile {
namespace {

constexpr unsigned victim_port = 7190, attacker_port = 7194;
constexpr size_t interval = 512, emss = 1460; // at most, over the lab's MTU

// ---- Streams ----

// The stream we send, with a marker at every multiple of 512.
class Out {
public:
	explicit Out(bool with_markers) : on(with_markers) {}

	// flip: of the FPDUPTR of the FPDU's last marker. There must be one.
	Bytes fpdu(const Bytes &ulpdu, u16 flip = 0)
	{
		Bytes fields = be16(ulpdu.size()) + ulpdu, out;
		size_t marker = none;

		length_at = none;
		while (fields.size() % 4)
			fields.push_back(0);
		for (u8 octet : fields) {
			marker_if_due(out, marker);
			if (length_at == none)
				length_at = at;
			out.push_back(octet);
			at++;
		}
		marker_if_due(out, marker);
		at += 4;
		if (flip) {
			out.at(marker + 2) ^= static_cast<u8>(flip >> 8);
			out.at(marker + 3) ^= static_cast<u8>(flip);
		}
		return out + crc_field(out);
	}

private:
	static constexpr size_t none = ~size_t{0};
	const bool on;
	size_t at = 0, length_at = none;

	void marker_if_due(Bytes &out, size_t &marker)
	{
		if (!on || at % interval)
			return;
		marker = out.size();
		out = out + be32(length_at == none ? 0 : at - length_at);
		at += 4;
	}
};

// The stream we receive: every marker must be in its place and point to the right one.
class In {
public:
	In(const Socket &socket, bool with_markers) : s(socket), on(with_markers) {}

	Bytes ulpdu()
	{
		start = at;
		covered.clear();
		inside = false;

		Bytes fields = take(4);
		size_t len = static_cast<size_t>(number(fields, 0, 2));

		fields = fields + take((2 + len + 3) / 4 * 4 - 4);
		marker_if_due();
		if (s.receive(4) != crc_field(covered))
			fail("the CRC of ", hex(covered.slice(0, 100)), " is wrong");
		at += 4;
		if (at - start > emss)
			fail("an FPDU of ", std::to_string(at - start), " octets");
		return fields.slice(2, len);
	}

private:
	const Socket &s;
	const bool on;
	size_t at = 0, start = 0, length_at = 0;
	bool inside = false;
	Bytes covered;

	Bytes take(size_t len)
	{
		Bytes out;

		while (out.size() < len) {
			marker_if_due();
			if (!inside)
				length_at = at;
			inside = true;
			Bytes piece = s.receive(
				std::min(len - out.size(), on ? interval - at % interval : len));

			at += piece.size();
			covered.insert(covered.end(), piece.begin(), piece.end());
			out.insert(out.end(), piece.begin(), piece.end());
		}
		return out;
	}
	void marker_if_due()
	{
		if (!on || at % interval)
			return;
		Bytes marker = s.receive(4), want = be32(inside ? at - length_at : 0);

		if (marker != want)
			fail("the marker at octet ", std::to_string(at), " is ", hex(marker),
			     ", not ", hex(want));
		at += 4;
		covered.insert(covered.end(), marker.begin(), marker.end());
	}
};

// ---- Cases ----

struct Case {
	bool listener;	   // the victim's role
	bool ours, theirs; // who asks for markers
	Pace pace;

	std::string name() const
	{
		std::string who = ours && theirs ? "both ask"
				  : ours	 ? "the peer asks"
				  : theirs	 ? "srnic asks"
						 : "nobody asks";

		return "RFC 5044 4.3: " + who + " for markers" +
		       (pace == Pace::octets ? ", octet by octet" : "") +
		       (listener ? " (listener)" : " (client)");
	}
};

class Tester {
public:
	Tester(char **argv)
		: setting(argv[3]), host(argv[2]), victim(argv + 4),
		  listener(Socket::listen(argv[1], attacker_port))
	{
	}

	int run()
	{
		for (bool listening : {true, false})
			for (Pace pace : {Pace::whole, Pace::octets})
				for (unsigned who = 0; who < 4; who++)
					run_case({listening, (who & 1) != 0, (who & 2) != 0, pace});
		set(false);
		std::printf("1..%u\n", number_of_cases);
		return failed ? 1 : 0;
	}

private:
	const std::string setting, host;
	VictimLink victim;
	Socket listener;
	unsigned number_of_cases = 0, failed = 0;

	void set(bool on)
	{
		std::ofstream file(setting);

		if (!(file << on << std::flush))
			throw std::runtime_error("cannot set " + setting);
	}

	void run_case(const Case &c)
	{
		std::string trouble;

		number_of_cases++;
		try {
			set(c.theirs);
			c.listener ? attack_listener(c) : attack_client(c);
		} catch (const Failure &e) {
			victim.ask("verdict 0");
			trouble = e.what();
		}
		std::printf("%sok %u - %s\n", trouble.empty() ? "" : "not ", number_of_cases,
			    c.name().c_str());
		if (!trouble.empty())
			std::printf("# %s\n", trouble.c_str());
		failed += !trouble.empty();
	}

	static u8 flags(bool markers) { return static_cast<u8>(0x50 | (markers ? 0x80 : 0)); }

	static void want(const char *what, const Bytes &is, const Bytes &wanted)
	{
		if (is != wanted)
			fail(what, " is ", hex(is.slice(0, 200)), ", not ",
			     hex(wanted.slice(0, 200)));
	}

	void attack_listener(const Case &c)
	{
		Socket s = Socket::connect(host, victim_port);
		Out out(c.theirs);
		In in(s, c.ours);

		s.send(Frame{.flags = flags(c.ours)}.octets(), c.pace);
		victim.demand("accept 4");
		want("the Reply", s.receive(24),
		     Frame{.key = reply_key, .flags = flags(c.theirs)}.octets());
		s.send(out.fpdu(Tagged{.stag = 1}), c.pace);
		work(c, s, out, in);
	}

	void attack_client(const Case &c)
	{
		victim.demand("connect 1c1a 4");
		static_assert(attacker_port == 0x1c1a);
		Socket s = listener.accept();
		Out out(c.theirs);
		In in(s, c.ours);

		want("the Request", s.receive(24),
		     Frame{.flags = flags(c.theirs), .data = {0xc0, 0x04, 0xc0, 0x04}}.octets());
		s.send(Frame{.key = reply_key,
			     .flags = flags(c.ours),
			     .data = {0x80, 0x04, 0x80, 0x04}}
			       .octets(),
		       c.pace);
		victim.demand("connected");
		want("the RTR", in.ulpdu(), Tagged{.stag = 1});
		work(c, s, out, in);
	}

	void work(const Case &c, Socket &s, Out &out, In &in)
	{
		u32 msn = 0;

		for (size_t size : sizes(c.pace))
			write_and_read_back(c, s, out, in, size, ++msn);
		victim.demand("send 8");
		want("the Send's header", in.ulpdu().slice(0, 18), Untagged{});
		if (c.theirs)
			lie(s, out, in);
		leave(s, c.theirs);
	}

	// Every position that a marker can have in an FPDU, and many markers.
	static std::vector<size_t> sizes(Pace pace)
	{
		std::vector<size_t> out;

		for (size_t size = 1; size < 530; size += pace == Pace::octets ? 13 : 3)
			out.push_back(size);
		if (pace == Pace::whole)
			out.insert(out.end(), {1000, 1413, 1426, 1427, 1428, 1440, 5000, 64753,
					       64754, 200001});
		return out;
	}

	void write_and_read_back(const Case &c, const Socket &s, Out &out, In &in, size_t size,
				 u32 msn)
	{
		const Region &region = victim.regions.at("both");
		Bytes data = payload(size, msn), back;
		size_t most = 64768 - 14;

		for (size_t at = 0; at < size; at += most) {
			u8 control = at + most < size ? 0x81 : 0xc1;
			Tagged segment{.ddp = control,
				       .stag = region.stag,
				       .to = region.to + at,
				       .data = data.slice(at, most)};

			s.send(out.fpdu(segment), c.pace);
		}
		ReadRequest request{.length = static_cast<u32>(size),
				    .source_stag = region.stag,
				    .source_to = region.to};

		s.send(out.fpdu(read_request(request, msn)), c.pace);
		for (bool last = false; !last;) {
			Bytes segment = in.ulpdu();
			u64 to = 0x1000 + back.size();

			last = segment.size() < 14 || segment[0] & 0x40;
			want("a Read Response's header", segment.slice(0, 14),
			     Tagged{.ddp = static_cast<u8>(last ? 0xc1 : 0x81),
				    .rdmap = op_read_response,
				    .stag = 0x5151,
				    .to = to});
			back = back + segment.slice(14, segment.size());
		}
		if (back != data)
			fail("of ", std::to_string(size), " octets others came back");
	}

	// RFC 5044 8, 3.
	void lie(const Socket &s, Out &out, In &in)
	{
		const Region &region = victim.regions.at("both");
		Bytes segment = Tagged{.stag = region.stag, .to = region.to, .data = payload(600)};

		s.send(out.fpdu(segment, 0x0100), Pace::whole);
		want("the Terminate", in.ulpdu(), terminate(bad_framing));
	}

	void leave(Socket &s, bool lied)
	{
		const Region &region = victim.regions.at("both");
		std::ostringstream ask;
		End end;

		s.fin();
		if (!s.rest(&end).empty() || end != End::fin)
			fail("the stream does not end as it should");
		s = Socket();
		ask << "verdict 1 may " << std::hex << region.to << ' ' << region.length;
		std::string said = victim.ask(ask.str()),
			    wanted = "over=1 receives=0/4/0 sends=1/0/0 event=" +
				     std::string(lied ? "1" : "none") + " memory=ok good=ok";

		if (said != wanted)
			fail("the victim saw ", said, ", not ", wanted);
	}
};

} // namespace
} // namespace hostile

int main(int argc, char **argv)
{
	if (argc < 5) {
		std::fprintf(
			stderr,
			"usage: markers OWN-ADDRESS VICTIM-ADDRESS MPA_MARKERS-FILE COMMAND...\n"
			"COMMAND starts the victim's program.\n");
		return 2;
	}
	return hostile::run_tap([argv] { return hostile::Tester(argv).run(); });
}
