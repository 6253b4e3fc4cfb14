// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What Documentation/ib.rst says of the FPDUs that one end of a stream with acknowledgements sends
// and receives, without the code under test. Numbers are its rules.
#pragma once

#include <deque>
#include <optional>

#include "../shared/ib.hh"

namespace ledger {

using namespace wire;

// The fields of a ULPDU of at least a header's length.
struct Segment {
	u8 opcode;
	bool tagged, last, ask, more;
	u32 qn = 0, msn = 0, mo = 0, payload;
	Bytes data;

	explicit Segment(const Bytes &ulpdu);

	static u32 header_len(const Bytes &ulpdu) { return ulpdu[0] & 0x80 ? 14 : 18; }
	static bool has_header(const Bytes &ulpdu)
	{
		return !ulpdu.empty() && ulpdu.size() >= header_len(ulpdu);
	}
	bool is_ack() const { return opcode == 12; }
	bool is_immediate() const { return opcode == 8 || opcode == 9; }
	bool is_send() const
	{
		return (opcode >= 3 && opcode <= 6) || opcode == 13 || opcode == 14;
	}
	bool is_for_response() const { return opcode == 1 || opcode == 10; }
	bool is_extended() const { return opcode == 15; }
	bool is_request() const
	{
		return opcode == 0 || is_for_response() || is_immediate() || is_send() ||
		       is_extended();
	}
	Ack ack() const;
	// Have RDMAP's own messages their length? (RFC 5040 4.4, RFC 7306 5 and 6, rule 110)
	bool is_well_formed() const;
};

// A request of which an FPDU was sent, and which is not acknowledged.
struct Request {
	u32 index;	      // in the send queue
	u8 opcode;	      // of its first segment
	bool more;	      // it is a Write that Immediate Data follow,
	bool written = false; //	of which the Write is sent
	bool whole = false;

	bool is_for_response() const { return opcode == 1 || opcode == 10; }
	// 18, 19: may it have found no receive?
	bool may_lack_receive() const
	{
		return more ? whole : opcode != 0 && opcode != 15 && !is_for_response();
	}
};

enum class Means { wrong, done, again, refused };

// The requester: 9, 17, 18, 22, 23.
class Sent {
public:
	u32 acked = 0;		  // the last number
	std::deque<Request> open; // from acked + 1
	bool must_go_back = false;

	// An FPDU is built. index: of the request taken last.
	void note(const Segment &segment, u32 index);
	// What an Ack means now.
	Means judge(const Ack &ack, u8 rnr_retry) const;
	void take(const Ack &ack, Means means);
	// The index in the send queue behind what an Ack acknowledges, or of what it refuses.
	u32 end_of(const Ack &ack, u32 before) const;
	// The response to the oldest unanswered request is complete. Its index.
	u32 take_response();
	// The index in the send queue where the engine has to continue, and that it does.
	u32 first_again() const;
	void go_back();

private:
	std::optional<Request> again; // only its Immediate Data are due
	u32 tries = 0;

	bool continues(const Segment &segment) const;
	void begin(const Segment &segment, u32 index);
	void acknowledge(u32 requests);
};

// The responder: 9, 19 to 21, 24, 25.
class Received {
public:
	u32 count = 0;			     // requests delivered
	bool refusing = false, said = false; // a request that found no receive; is that said?
	bool over = false;		     // one is refused for good

	// Does this segment belong to what is dropped until the refused request comes again?
	bool drops(const Segment &segment) const
	{
		return refusing && segment.is_request() && !comes_again(segment);
	}
	bool comes_again(const Segment &segment) const
	{
		return refusing && (segment.is_send() || segment.is_immediate()) &&
		       segment.msn == send_msn && segment.mo == 0;
	}
	// What was delivered counts as so many requests.
	u32 worth(const Segment &segment) const
	{
		return segment.is_request() && !(segment.opcode == 0 && segment.more);
	}
	void deliver(const Segment &segment);
	u32 next_send() const { return send_msn; }
	u32 next_read() const { return read_msn; }
	u32 next_extended() const { return extended_msn; }

private:
	u32 send_msn = 1, read_msn = 1, extended_msn = 1;
};

} // namespace ledger
