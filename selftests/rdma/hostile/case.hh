// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Tables of the hostile peer. A case is a row: what an RFC says, the octets that break it (or do
// not), and the expected results.
#pragma once

#include "../../shared/attacks/rows.hh"
#include "peer.hh"

namespace hostile {

std::vector<Row> segment_rows(); // once a connection is there: segments.cc

// ---- Request and Reply frames (startup.cc) ----

enum class Then {
	closed,	    // at once, without an answer
	times_out,  // the same, after a timeout
	replies,    // `answer` comes, and the stream lives
	terminates, // `answer` comes, and the stream ends
	rejected,   // by us; the victim gets an event
	fin,	    // we leave, by FIN or by RST; the victim closes
	reset,
};

struct Startup {
	std::string name;
	Bytes octets;
	Then then;
	Bytes answer = {};
	std::string private_data = ""; // as the victim's program sees it
};

std::vector<Startup> request_rows(); // we initiate
std::vector<Startup> reply_rows();   // the victim does

} // namespace hostile
