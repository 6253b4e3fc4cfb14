// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// One segment of a message, its header understood: what every wire format makes of its headers, and
// all that receive.hh knows of them.
#pragma once

#include "types.hh"

namespace srnic {

// What a message is for. Control: the wire format's own, of which no rule here knows.
enum class Message : u8 { write, read_response, send, read_request, control };

struct Segment {
	Message message;
	u8 type; // on the wire; all segments of one message have the same
	bool last;
	bool solicited = false, invalidate = false; // Sends
	u32 length;				    // octets of payload
	u32 stag = 0; // Writes, Read Responses: the buffer,
	u64 to = 0;   //	and where in it the payload starts
	u32 msn = 0;  // the others: which message of its kind,
	u32 mo = 0;   //	and where in it
	u32 inv_stag = 0;
};

} // namespace srnic
