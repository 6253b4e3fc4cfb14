// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Where strays meet the victim. After each row a good datagram still arrives, and nothing but it.
#pragma once

#include "receiver.hh"
#include "sender.hh"

#include <map>

namespace strays {

struct Settings {
	std::string device, address, address6; // the victim's
	std::string own, own6;		       // the stranger's
	std::string interface;		       // the stranger's, for link-local addresses
	std::string link_local;		       // its own
	std::string beside;		       // of the victim's host, not of its device
};

// Why a datagram is dropped: the counter that grows. The last two are IP's or UDP's own business.
enum class Drop { malformed, no_qp, qkey, no_receive, too_long, unseen, arrives };

class Stage {
	const Settings settings;
	unsigned seed = 0;

	std::map<std::string, u64> counters() const;

public:
	const Port port, port6, link_local;
	Receiver victim;

	explicit Stage(const Settings &all);
	Stage(const Stage &) = delete;

	// The usual ways of both families, and that between the link-local addresses.
	Way way(bool v6) const;
	Way local_way() const;
	const std::string &interface() const { return settings.interface; }
	std::string broadcast() const;
	const std::string &beside() const { return settings.beside; }
	// Of the victim's GID that this way leads to.
	int index_of(const Way &way) const;
	// To this QP, with a payload that no other has.
	Datagram datagram_to(const ibv_qp *qp, size_t payload = 100);
	Datagram datagram(size_t length = 100) { return datagram_to(victim.qp, length); }
	// One more arrives.
	void exercise(const Way &way);
	// As this is sent so many datagrams are dropped for this reason, and none for another.
	void want_drops(Drop why, unsigned count, const std::function<void()> &send_them);
};

struct Case {
	std::string name;
	std::function<void(Stage &stage)> play;
};
using Cases = std::vector<Case>;

// A case for each family.
template <class Play> void add_both(Cases &all, const std::string &name, Play play)
{
	for (const bool v6 : {false, true})
		all.push_back({name + (v6 ? " (IPv6)" : " (IPv4)"),
			       [=](Stage &stage) { play(stage, stage.way(v6)); }});
}

Cases field_cases();	// fields.cc: each field wrong, one by one
Cases packet_cases();	// packets.cc: what IP and UDP do with it on its way
Cases receiver_cases(); // receivers.cc: QPs that cannot take it
Cases group_cases();	// groups.cc: to multicast groups
Cases answer_cases();	// answers.cc: what the victim sends

} // namespace strays
