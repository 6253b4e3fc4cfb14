// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The stranger's end of a stream with the victim: Acks in their order, and FPDUs one by one.
#pragma once

#include "../../shared/ib.hh"
#include "../hostile/peer.hh"

namespace strangers {

using namespace wire;
using hostile::fail;
using hostile::hex;
using hostile::number;
using hostile::Pace;
using hostile::Socket;
using Over = hostile::End; // how the victim left its direction of the stream

// Syndromes: ib.rst rule 17.
enum Syndrome : u8 { nothing, receiver_not_ready, invalid_request, access_error, operation_error };

void want_octets(const std::string &what, const Bytes &is, const Bytes &want);

class Stream {
	Socket socket;
	Pace pace;
	u32 own_acks = 0, their_acks = 0, acknowledged = 0;

	bool is_true_ack(const Bytes &ulpdu, Ack &out);

public:
	Stream(Socket connection, Pace how) : socket(std::move(connection)), pace(how) {}

	// Of many octets only those at both ends go one by one, if the others do.
	void say(const Bytes &octets) const;
	// The FPDU of a segment; this end's next Ack.
	void send(const Bytes &ulpdu) const { say(fpdu(ulpdu)); }
	Bytes next_ack(const Ack &what, u8 bits = 0); // an FPDU
	void ack(const Ack &what, u8 bits = 0) { say(next_ack(what, bits)); }
	void skip_own_ack() { own_acks++; } // one that was built by hand

	Bytes fpdu_that_comes(int ms = 10000) const; // its CRC is good
	// The next FPDU is the Ack, with the next MSN; the timer counts only if it refuses.
	void want_ack(const Ack &what, u8 bits = 0);
	// These FPDUs come, in this order, and Acks may come between them, which refuse nothing and
	// are not beyond `delivered`.
	void want(const std::vector<Bytes> &fpdus, u32 delivered);
	// And then this Ack, or a later one if it is only to say what is delivered.
	void want_last(const std::vector<Bytes> &fpdus, const Ack &last);
	// The FPDU that comes behind such Acks.
	Bytes behind_acks(u32 delivered);
	// What comes before a refusal, but Acks; and the refusal.
	std::vector<Bytes> until_refusal(Ack &refusal);
	// An Ack comes that says no more than this. Does it ask?
	bool is_asked(u32 delivered);
	void want_silence(int ms = 50) const;
	// Nothing comes any more, but the end.
	Over want_end(int ms = 10000) const;
	void want_fin() const;
	// Nothing comes any more but this Ack, and then the victim's half is closed. How often.
	unsigned want_last_acks(const Ack &last);

	void fin() const { socket.fin(); }
	void reset() { socket.reset(); }
	const Socket &raw() const { return socket; }
};

} // namespace strangers
