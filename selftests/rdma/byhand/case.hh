// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The cases. Each has both devices to itself.
#pragma once
#include "../shared/case.hh"
#include "ends.hh"

// From the command line: a device and an address of each host.
struct Place {
	std::string device, address, address6;
};
struct Settings {
	Place here, there;
	int rounds;	   // of what is repeated, 200 by default
	int crowd;	   // pairs at once
	std::string until; // a file that will be there when a case is to end
};
extern Settings settings;

// Runs a shell command. It must succeed.
void command(const std::string &line);

// The command that brings an interface up again, and waits until the hosts reach each other.
std::string up_again(const std::string &ns, const std::string &link, const Place &at);

// What a command changed is changed back, whatever happens in between.
class Undo {
	const std::string line;

public:
	explicit Undo(const std::string &line_) : line(line_) {}
	Undo(const std::string &now, const std::string &line_) : line(line_) { command(now); }
	Undo(const Undo &) = delete;
	~Undo();
};

// The devices of both hosts, with an address each.
struct Ports {
	Port here, there;

	Ports() : Ports(settings.here.address, settings.there.address) {}
	Ports(const std::string &address, const std::string &other)
		: here(settings.here.device, address), there(settings.there.device, other)
	{
	}
};

Cases transfer_cases(); // transfers.cc: each operation, over each kind of address
Cases meeting_cases();	// meetings.cc: orders in which two ends become ready
Cases last_ack_cases(); // last_acks.cc: an end that goes right after its last completion
Cases conversation_cases(); // conversations.cc: Acks that wait for an answer that does not come
Cases event_cases();	// events.cc: CQs that are armed while completions are there
Cases error_cases();	// errors.cc: what fails, as what, and when
Cases wall_cases();	// walls.cc: firewalls, and SYNs that are lost
Cases release_cases();	// releases.cc: a peer of another release
Cases window_cases();	// windows.cc: memory windows
Cases extended_cases(); // extended.cc: Flush and Atomic Write
Cases life_cases();	// life.cc: interfaces, addresses, devices, strangers and crowds
