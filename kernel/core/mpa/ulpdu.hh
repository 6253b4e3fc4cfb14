// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The interface between MPA and the layer above it on the receive side (RFC 5044 3 and 6): ULPDUs
// with their lengths, without FPDUs, markers, pads or CRCs.
//
// The layer above, Upper, is a class that has
//
//	first_header	octets of the shortest header; no ULPDU has fewer
//	max_header	octets of the longest
//	max_gathered	octets that it may want gathered after it
//	header_len(ulpdu, have)
//			least octets of the header, from a ULPDU's first `have` octets
//	begin(ulpdu, len, first, grant)
//			a ULPDU of len octets begins: its header is there. first: of the stream.
//			Returns what to do with the octets after the header
//	place(), placed(n)
//			where the next octets of payload go; n of them were placed
//	deny(ulpdu, len, verdict)
//			the region in which all payload is to be placed was checked just now, and
//			does not allow that
//	fail(ulpdu, len, verdict)
//			the host cannot place
//	host()		the context of its functions
//	end(ulpdu, len)	the ULPDU is whole, with a good CRC: header and gathered octets
//	fault(why)	MPA found an error: the stream is over
//	over(), stop()	is the stream over; end it
//	between()	no message of several ULPDUs is unfinished
//
// end() and fault() return the event for the host.
#pragma once

#include "types.hh"

namespace srnic {

enum class Rest : u8 {
	placed,	  // payload, placed by the host
	gathered, // kept after the header
	skipped,  // dropped; end() is still called when the ULPDU is whole
	over,	  // the stream ended with this header
};

// When a region is checked that payload goes into.
enum class Grant : u8 {
	at_header,    // before its first octet
	when_placed, // by the host, with all of it
};

enum class FramingFault : u8 {
	none,
	crc,   // RFC 5044 8, 2: the CRC is wrong
	start, // 8, 3: a length or a marker shows that an FPDU does not start where expected
};

} // namespace srnic
