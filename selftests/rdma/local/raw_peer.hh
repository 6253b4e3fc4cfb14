// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A responder on plain TCP: accepts one connection, answers the Request with the simplest Reply
// (RFC 5044 7.1.1), and then does what its owner says, which may be nothing.
#pragma once
#include <string>
#include <thread>

class RawPeer {
	int listening, connection = -1;
	std::thread thread;

public:
	RawPeer(const std::string &address, const char *port);
	RawPeer(const RawPeer &) = delete;
	~RawPeer();
	// Once connected.
	void wait();
	void send(const std::string &octets) const;
};
