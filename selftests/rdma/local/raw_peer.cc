// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RFC 5044 7.1.2, the responder's part, without any DDP.
#include "raw_peer.hh"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pair.hh"

namespace {

// CRC, revision 1, no private data. The string's terminator is the last byte.
constexpr char reply[] = "MPA ID Rep Frame\x40\x01\x00";
constexpr size_t request_len = 24; // header and enhanced data
static_assert(sizeof(reply) == 20);

} // namespace

RawPeer::RawPeer(const std::string &address, const char *port)
{
	addrinfo hints{}, *found;
	const int small = 4096, yes = 1;

	hints.ai_flags = AI_PASSIVE;
	hints.ai_socktype = SOCK_STREAM;
	require(!getaddrinfo(address.c_str(), port, &hints, &found), "getaddrinfo");
	listening = socket(found->ai_family, SOCK_STREAM, 0);
	setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	setsockopt(listening, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	int ret = bind(listening, found->ai_addr, found->ai_addrlen) ?: listen(listening, 1);
	freeaddrinfo(found);
	require(!ret, "bind");
	thread = std::thread([this] {
		char request[request_len];

		connection = accept(listening, nullptr, nullptr);
		if (recv(connection, request, sizeof(request), MSG_WAITALL) == sizeof(request))
			::send(connection, reply, sizeof(reply), MSG_NOSIGNAL);
	});
}

void RawPeer::wait()
{
	if (thread.joinable())
		thread.join();
}

RawPeer::~RawPeer()
{
	shutdown(listening, SHUT_RDWR);
	wait();
	close(connection);
	close(listening);
}

void RawPeer::send(const std::string &octets) const
{
	require(::send(connection, octets.data(), octets.size(), MSG_NOSIGNAL) ==
			static_cast<ssize_t>(octets.size()),
		"send");
}
