// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Where strangers meet the victim: a QP in RTS that its program has connected with one of the
// strangers' addresses, and whose memory is an arena full of canaries.
//
// After each row a pair of sound QPs of the victim's device still works, and so does the victim
// with another peer.
#pragma once

#include "../byhand/ends.hh"
#include "../byhand/frame.hh"
#include "../hostile/arena.hh"
#include "../shared/timeouts.hh"
#include "../../shared/attacks/attack.hh"
#include "stream.hh"

#include <deque>

namespace strangers {

using namespace byhand;
using attacks::Region;

inline constexpr u32 stranger_qpn = 0x00abcd;

enum class Role { listener, connector }; // the victim's
inline const char *name_of(Role role) { return role == Role::listener ? "listener" : "connector"; }

struct Settings {
	std::string device, address, address6; // the victim's
	std::string own, own6, greater;	       // the strangers'; the last one is above the victim's
	std::string beside;		       // of the victim's host, outside of its VRF; or empty
};

// Memory of the victim that is registered once more, until this ends.
using Loan = std::unique_ptr<ibv_mr, int (*)(ibv_mr *)>;

// Changes network namespaces while it lives.
class Elsewhere {
	int back;

public:
	explicit Elsewhere(const std::string &ns);
	Elsewhere(const Elsewhere &) = delete;
	~Elsewhere();
};

class Stage {
	const Settings settings;
	const Port victims_port, victims_port6;
	ibv_pd *other;
	victim::Arena arena;
	Pair good; // two ends of the victim's device
	::End sound;
	std::unique_ptr<::End> qp;
	std::optional<Socket> listening;
	unsigned posted = 0, taken = 0; // receives
	int window = 0;
	u32 its_features = 0;
	std::string at, from; // the addresses of this row: the victim's, the stranger's

	void want_receives(unsigned count, ibv_wc_status broken);
	Name stranger() const;

public:
	std::map<std::string, Region> regions;
	Frame request; // the last one that was right
	Frame reply;

	explicit Stage(const Settings &all);
	Stage(const Stage &) = delete;
	~Stage();

	// ---- the victim ----

	// Which addresses the next victim has, if not the usual ones.
	void meet_at(const std::string &victims, const std::string &strangers);
	void meet_at_greater() { meet_at(settings.address, settings.greater); }
	void meet_at_ipv6() { meet_at(settings.address6, settings.own6); }
	void meet_itself() { meet_at(settings.address, settings.address); }
	// To RTS, with so many receives. As a connector it finds somebody who listens.
	void ready(Role role, const Options &options = {}, unsigned receives = 4);
	// The device's features (rule 46), and the stranger's of this row.
	u32 knows() const;
	void know(u32 all) { its_features = all; }
	// To INIT only.
	void half_ready(const Options &options = {});
	::End &victim() { return *qp; }
	int enter_rtr() { return qp->rtr(stranger()); }
	void post_receives(unsigned count);
	ibv_sge sink(u32 offset, u32 len) const;
	Loan lend(const std::string &region, size_t len) const; // its first octets
	void may_change(u64 at_, size_t len) { arena.may_change(at_, len); }
	void has_changed(u64 at_, const Bytes &octets) { arena.has_changed(at_, octets); }
	std::optional<ibv_event_type> event(int ms) const { return victims_port.event(ms); }
	u64 counter(const std::string &name) const;
	void has_tried(u64 attempts) const;

	// ---- the stranger ----

	// Of this row: has little room for what comes.
	void take_little() { window = 4096; }
	Frame right_request() const;
	Frame right_reply(const Frame &to) const;
	Socket dial() const;
	// From an address that the victim is not connected with, and its GID.
	Socket dial_from_another() const { return Socket::connect(at, port, 0, settings.greater); }
	// From the right address, to an address outside of the victim's VRF.
	Socket dial_beside() const { return Socket::connect(settings.beside, port, 0, from); }
	Bytes another_gid() const;
	Socket accept() const;
	bool is_called(int ms) const { return !listening->silent(ms); }
	void stop_listening() { listening.reset(); }
	// A stream: the startup is as it has to be, and both ends have sent an FPDU, if not
	// `quiet`.
	Stream meet(Role role, Pace pace, bool quiet = false);
	Stream dialled(Pace pace, const Frame &with);
	Stream accepted(Pace pace);
	void want_acceptance(const Frame &is, const Frame &asked) const;

	// ---- what became of it ----

	void want_state(ibv_qp_state state);
	void want_event(std::optional<ibv_event_type> type) const;
	// The victim goes on: a Send of it arrives, which is so often the next one, and one comes
	// back.
	void want_to_go_on(Stream &stream, u32 sends = 0, u32 requests = 0, u32 delivered = 0);
	// The victim is in the error state: so many receives are good, one of the rest may have
	// failed with another status, the others are flushed.
	void want_failed(unsigned count, std::optional<ibv_event_type> type,
			 ibv_wc_status broken = IBV_WC_WR_FLUSH_ERR);
	void want_delivered(unsigned count);
	// Nobody else was disturbed.
	void want_aftermath();
	// After a row that failed, too.
	void clear() noexcept;
};

struct Case {
	std::string name;
	std::function<void(Stage &stage, Pace pace)> play;
	bool once = false; // not also octet by octet
	u32 needs = 0;	   // features of the device
};
using Cases = std::vector<Case>;

// A case for each role of the victim, which play(stage, pace, role) gets.
template <class Play> void add_both(Cases &all, const std::string &name, Play play, u32 needs = 0)
{
	for (const Role role : {Role::listener, Role::connector})
		all.push_back({name + " (" + name_of(role) + ")",
			       [=](Stage &stage, Pace pace) { play(stage, pace, role); }, false,
			       needs});
}

Cases request_cases();	 // requests.cc: what the port answers
Cases reply_cases();	 // replies.cc: what the end that connects does with an answer
Cases segment_cases();	 // segments.cc: FPDUs, in both roles
Cases ack_cases();	 // acks.cc: what is said of the victim's requests
Cases dialogue_cases();	 // dialogues.cc: receiver not ready, and what is said when
Cases encounter_cases(); // encounters.cc: streams that replace each other, and when who tries again
Cases ending_cases();	 // endings.cc: peers that die
Cases revoked_cases();	 // revoked.cc: memory that is deregistered meanwhile
Cases beside_cases();	 // requests.cc: those of another VRF

} // namespace strangers
