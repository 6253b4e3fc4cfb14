// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Shared by the attacker's cases: a connection with the victim, in either role, and checks of the
// answer, of the connection's end, and of the victim's program.
#pragma once

#include "../shared/timeouts.hh"
#include "case.hh"

namespace hostile {

inline constexpr unsigned victim_port = 7190, attacker_port = 7192;
inline constexpr int short_while = 100;	    // ms
inline constexpr int victim_timeout = 1000; // ms; set by Timeouts if the victim has to wait

void want_octets(const char *what, const Bytes &is, const Bytes &want);
// An FPDU that begins like this, and whose pad is zero (RFC 5044 4.1).
void want_fpdu(const char *what, const Bytes &is, const Bytes &header);
std::string in_hex(u64 value);

// The victim's Read Requests, FPDUs of this size, and the response to one.
inline constexpr size_t read_request_size = 2 + 18 + 28 + 4;
Bytes read_request_header(u32 msn);
Bytes response_to(const Bytes &request, size_t len);

class Stage {
public:
	Stage(const char *address, VictimLink &link, const Socket &listening)
		: host(address), victim(link), listener(listening)
	{
	}

protected:
	const char *host; // the victim's
	VictimLink &victim;
	const Socket &listener; // that the victim connects to

	Socket accepted_by_victim(Pace pace, int window = 0);
	void take_request(const Socket &s);

	void want_closed(const Socket &s); // whatever comes before
	void want_end(const Socket &s, const Bytes &want, bool late);

	void want_verdict(const std::string &is, const std::string &want);
	void want_untouched(); // the program got no event, and nothing else changed

private:
	void want_aftermath(const std::string &verdict);
};

struct Case {
	const char *role; // the victim's
	std::string name;
	std::function<void(Pace)> play;
	bool once = false; // not also octet by octet
	bool checks_crc = false; // nothing to test where there are none
};

std::vector<Case> startup_cases(const Stage &stage);  // rows.cc
std::vector<Case> segment_cases(const Stage &stage);  // rows.cc
std::vector<Case> dialogue_cases(const Stage &stage); // dialogues.cc
std::vector<Case> ending_cases(const Stage &stage);   // endings.cc
std::vector<Case> urgent_cases(const Stage &stage);   // urgent.cc
std::vector<Case> rtr_cases(const Stage &stage);      // rtr.cc

} // namespace hostile
