// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// One segment of a message, decoded: a wire format makes it of a header, and message_rules.hh uses
// nothing else of the header.
#pragma once

#include "types.hh"

namespace srnic {

// The purpose of a message. Extended, ack: ib.rst. Control: a message of the wire format itself.
enum class Message : u8 {
	write,
	read_response,
	send,
	immediate,
	read_request,
	atomic_request,
	atomic_response,
	extended,
	ack,
	control,
};

struct Segment {
	Message message;
	u8 type; // on the wire; the same in all segments of a message
	bool last;
	bool solicited = false, invalidate = false; // Sends
	u32 length;				    // octets of payload
	u32 stag = 0; // Writes, Read Responses: the buffer,
	u64 to = 0;   //	and where the payload starts in it
	u32 msn = 0;  // untagged: the number of the message,
	u32 mo = 0;   //	and where the payload starts in it
	u32 inv_stag = 0; // Sends: to be invalidated, or their Immediate Data
};

} // namespace srnic
