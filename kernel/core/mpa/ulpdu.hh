// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The border between MPA and the layer above it on the receive side (RFC 5044 3 and 6): ULPDUs one
// after the other, each with its length, and nothing of FPDUs, markers, pads or CRCs.
//
// The layer above, Upper, is a class that has
//
//	first_header	octets of the shortest header; no ULPDU has fewer
//	max_header	octets of the longest
//	max_gathered	octets that it may want gathered behind it
//	header_len(ulpdu, have)
//			octets of the header that a ULPDU's first `have` octets announce, at least
//	begin(ulpdu, len, first)
//			a ULPDU of len octets begins: its header is there. first: of the stream.
//			Returns what is to become of the octets behind the header
//	place(), placed(n)
//			where the next octets of payload go; n of them went there
//	end(ulpdu, len)	it is whole, and undamaged: header, and what was to be gathered
//	fault(why)	MPA lost its way: the stream is over
//	over(), stop()	nothing is taken any more
//	between()	no message of several ULPDUs is unfinished
//
// and returns from end() and fault() what the host is told.
#pragma once

#include "types.hh"

namespace srnic {

enum class Rest : u8 {
	placed,	  // payload, placed by the host
	gathered, // kept behind the header
	skipped,  // nobody wants it; the ULPDU still ends when it is whole
	over,	  // the stream ended with this header
};

enum class FramingFault : u8 {
	none,
	crc,   // RFC 5044 8, 2: the CRC is wrong
	start, // 8, 3: a length or a marker shows that FPDUs do not start where it was believed
};

} // namespace srnic
