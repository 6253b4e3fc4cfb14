// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Both ends of a connection between two network namespaces, in one process.
#pragma once
#include <string>

#include "../local/pair.hh"

struct Route {
	std::string client_ns, server_ns, address; // the server's
};

struct Ends {
	End client, server;

	// With one receive of so many octets.
	Ends(const Route &route, uint32_t receive);
};

// From the client. rkey: what is written, read or invalidated.
int post(Ends &ends, ibv_wr_opcode opcode, uint32_t len, unsigned int flags, uint32_t rkey);
// The same, to the server's region, and done.
void succeeds(Ends &ends, ibv_wr_opcode opcode, uint32_t len, unsigned int flags = 0);
