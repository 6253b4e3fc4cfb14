// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Connections with the victim, and its verdict at their end.
#include "stage.hh"

#include <chrono>
#include <sstream>

namespace hostile {
namespace {

class Elapsed {
	std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

public:
	long ms() const
	{
		return std::chrono::duration_cast<std::chrono::milliseconds>(
			       std::chrono::steady_clock::now() - start)
			.count();
	}
};

} // namespace

void want_octets(const char *what, const Bytes &is, const Bytes &want)
{
	if (is != want)
		fail(what, " is ", hex(is.slice(0, 200)), ", not ", hex(want.slice(0, 200)));
}

void want_fpdu(const char *what, const Bytes &is, const Bytes &header)
{
	size_t end = 2 + number(is, 0, 2);

	if (cut(is).good != 1)
		fail(what, " is no FPDU: ", hex(is));
	want_octets(what, is.slice(0, header.size()), header);
	want_octets("the pad", is.slice(end, is.size() - 4 - end), Bytes(is.size() - 4 - end));
}

Bytes read_request_header(u32 msn)
{
	return be16(46) + Untagged{.rdmap = op_read_request, .qn = 1, .msn = msn};
}

Bytes response_to(const Bytes &request, size_t len)
{
	return fpdu(Tagged{.rdmap = op_read_response,
			   .stag = static_cast<u32>(number(request, 20, 4)),
			   .to = number(request, 24, 8),
			   .data = payload(len)});
}

std::string in_hex(u64 value)
{
	std::ostringstream out;

	out << std::hex << value;
	return out.str();
}

Socket Stage::accepted_by_victim(Pace pace, int window)
{
	Socket s = Socket::connect(host, victim_port, window);

	s.send(Frame{}.octets(), pace);
	victim.demand("accept 4");
	want_octets("the Reply", s.receive(24), Frame{.key = reply_key}.octets());
	return s;
}

void Stage::take_request(const Socket &s)
{
	want_octets("the Request", s.receive(24), Frame{.data = {0xc0, 0x04, 0xc0, 0x04}}.octets());
}

void Stage::want_closed(const Socket &s)
{
	End end;

	s.rest(&end);
	if (end == End::open)
		fail("the connection was not closed");
}

void Stage::want_end(const Socket &s, const Bytes &want, bool late)
{
	Elapsed elapsed;
	End end;
	Bytes came = s.rest(&end, 10 * victim_timeout);

	want_octets("what the victim said", came, want);
	if (end == End::open)
		fail("the connection was not closed");
	if (!late && elapsed.ms() >= victim_timeout - 2 * short_while)
		fail("the connection was closed late");
	if (late && elapsed.ms() < victim_timeout / 2)
		fail("the connection was closed early");
}

void Stage::want_verdict(const std::string &is, const std::string &want)
{
	if (is != want)
		fail("the victim saw ", is, ", not ", want);
}

void Stage::want_untouched() { want_aftermath(victim.ask("verdict 0")); }

void Stage::want_aftermath(const std::string &verdict)
{
	if (verdict.find(" memory=ok good=ok") == std::string::npos)
		fail("the victim saw ", verdict);
}

} // namespace hostile
