// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A stranger that a QP of the kernel consumer (consumer/held.c) sends Writes to, without CRCs: what
// it gets late must be what was posted (Documentation/ib.rst rule 117).
//	borrower VICTIM OWN QPN CONDUCT
// CONDUCT: silent: reads all, and acknowledges nothing; deaf: reads nothing, and says nothing;
// liar: reads nothing, and says that it has all; resets, closes: reads some, and leaves. The ones
// that read nothing do so until a line comes by the standard input: then the requests have ended.
// What has waited in their socket is still the owner's memory, and does not count. The last line is
// "N octets, M younger than their request".
#include "stream.hh"
#include "../byhand/frame.hh"

#include <cstdlib>
#include <iostream>

namespace strangers {
namespace {

using namespace byhand;

constexpr u32 own_qpn = 0x00abcd; // consumer/stranger.c
constexpr int window = 4096;
constexpr size_t some = 20000;
constexpr u32 all_of_them = 8; // requests: consumer/held.c
constexpr u8 younger = 0xbd;   // what the owner puts there when a request has ended
constexpr size_t run = 8;      // of such octets: not by chance

size_t count_younger(const Bytes &octets)
{
	size_t count = 0, here = 0;

	for (const u8 octet : octets) {
		here = octet == younger ? here + 1 : 0;
		count += here == run ? run : here > run;
	}
	return count;
}

Socket dial(const std::string &victim, const std::string &own, u32 qpn, int room)
{
	Socket socket = Socket::connect(victim, port, room, own);
	const Frame request = {.source_gid = gid_of(own),
			       .destination_gid = gid_of(victim),
			       .source_qpn = own_qpn,
			       .destination_qpn = qpn};

	socket.send(request.octets(), Pace::whole);
	if (frame_of(socket.receive(frame_size)).reason != accepts)
		fail("refused");
	return socket;
}

void report(const Socket &socket)
{
	Over over;
	const Bytes octets = socket.rest(&over, 3000);

	std::printf("%zu octets, %zu younger than their request\n", octets.size(),
		    count_younger(octets));
}

void await_line()
{
	std::string line;

	std::printf("ready\n");
	std::fflush(stdout);
	std::getline(std::cin, line);
}

void behave(const std::string &victim, const std::string &own, u32 qpn, const std::string &conduct)
{
	const bool reads = conduct != "deaf" && conduct != "liar";
	Stream stream(dial(victim, own, qpn, reads ? 0 : window), Pace::whole);

	stream.ack({0});
	if (!reads) {
		await_line();
		if (conduct == "liar") {
			stream.ack({all_of_them});
			await_line();
		}
		(void)stream.raw().receive(stream.raw().waiting());
	} else if (conduct != "silent") {
		(void)stream.raw().receive(some);
		if (conduct == "closes")
			stream.fin();
		else
			stream.reset();
	}
	if (conduct != "resets")
		report(stream.raw());
}

} // namespace
} // namespace strangers

int main(int argc, char **argv)
{
	if (argc != 5) {
		std::fprintf(stderr, "usage: borrower VICTIM OWN QPN CONDUCT\n");
		return 2;
	}
	wire::with_crcs = false;
	try {
		strangers::behave(argv[1], argv[2], static_cast<unsigned>(std::atoi(argv[3])),
				  argv[4]);
	} catch (const std::runtime_error &e) {
		std::printf("%s\n", e.what());
		return 1;
	}
	return 0;
}
