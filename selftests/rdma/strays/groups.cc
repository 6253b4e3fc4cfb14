// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Datagrams to multicast groups: QPs of the victim that have joined, and what is for none of them.
#include "sockets.hh"
#include "stage.hh"

namespace strays {
namespace {

constexpr u32 group_qpn = 0xffffff;

Way to_group(const Stage &stage, bool v6, const std::string &group)
{
	Way way = stage.way(v6);

	way.destination = v6 ? group + "%" + stage.interface() : group;
	way.hops = 1; // what IPv4 sends to groups unless a program asks for more
	return way;
}

Way usual(const Stage &stage, bool v6)
{
	return to_group(stage, v6, v6 ? "ff02::1234:5678" : "239.1.2.3");
}

// Of which each host is, by IP.
Way to_all_hosts(const Stage &stage, bool v6)
{
	return to_group(stage, v6, v6 ? "ff02::1" : "224.0.0.1");
}

ibv_gid gid_of(const Way &way)
{
	const Bytes octets = octets_of(way.destination);
	ibv_gid gid{};

	gid.raw[10] = gid.raw[11] = 0xff;
	std::copy(octets.begin(), octets.end(), gid.raw + sizeof(gid.raw) - octets.size());
	return gid;
}

void join(const Receiver &receiver, const Way &way)
{
	const ibv_gid gid = gid_of(way);
	const int error = ibv_attach_mcast(receiver.qp, &gid, 0);

	expect(!error, "ibv_attach_mcast: " + std::string(strerror(error)));
}

void leave(const Receiver &receiver, const Way &way)
{
	const ibv_gid gid = gid_of(way);

	expect(!ibv_detach_mcast(receiver.qp, &gid, 0), "ibv_detach_mcast");
}

// A QP that is in a group.
struct Member : Receiver {
	const Way way;

	Member(Stage &stage, const Way &group, unsigned count = 4)
		: Receiver(group.is_v6() ? stage.port6 : stage.port, count), way(group)
	{
		join(*this, way);
	}
	~Member()
	{
		const ibv_gid gid = gid_of(way);

		ibv_detach_mcast(qp, &gid, 0);
	}
};

Datagram datagram_to_group(Stage &stage, size_t payload = 100)
{
	Datagram datagram = stage.datagram(payload);

	datagram.to = group_qpn;
	return datagram;
}

void want_drops_of(Stage &stage, Drop why, unsigned count, const Datagram &datagram, const Way &way)
{
	stage.want_drops(why, count, [&] {
		send(datagram, way);
		stage.exercise(stage.way(way.is_v6()));
	});
}

// ---- cases ----

void each_gets_a_copy(Stage &stage, bool v6, size_t payload)
{
	const Way way = usual(stage, v6);
	Member one(stage, way), other(stage, way);
	const Datagram datagram = datagram_to_group(stage, payload);

	want_drops_of(stage, Drop::arrives, 0, datagram, way);
	one.want(datagram, way);
	other.want(datagram, way);
	one.want_nothing();
	other.want_nothing();
	stage.victim.want_nothing();
}

// Each QP for itself: one has no receive.
void one_cannot_take_it(Stage &stage, bool v6)
{
	const Way way = usual(stage, v6);
	Member none(stage, way, 0), good(stage, way);
	const Datagram datagram = datagram_to_group(stage);

	want_drops_of(stage, Drop::no_receive, 1, datagram, way);
	none.want_nothing();
	good.want(datagram, way);
}

void another_qkey(Stage &stage, bool v6)
{
	const Way way = usual(stage, v6);
	Member one(stage, way), other(stage, way);
	Datagram datagram = datagram_to_group(stage);

	datagram.qkey ^= 1;
	want_drops_of(stage, Drop::qkey, 2, datagram, way);
	one.want_nothing();
	other.want_nothing();
}

void the_qpn_of_a_member(Stage &stage, bool v6)
{
	const Way way = usual(stage, v6);
	Member member(stage, way);

	want_drops_of(stage, Drop::no_qp, 1, stage.datagram_to(member.qp), way);
	member.want_nothing();
}

void to_an_address(Stage &stage, bool v6)
{
	Member member(stage, usual(stage, v6));

	want_drops_of(stage, Drop::no_qp, 1, datagram_to_group(stage), stage.way(v6));
	member.want_nothing();
}

// UDP has no socket for it.
void of_nobody(Stage &stage, bool v6)
{
	Member member(stage, usual(stage, v6));
	const Way way = to_group(stage, v6, v6 ? "ff02::9999" : "239.9.9.9");

	want_drops_of(stage, Drop::unseen, 0, datagram_to_group(stage), way);
	member.want_nothing();
}

void of_the_host_alone(Stage &stage, bool v6)
{
	Member member(stage, usual(stage, v6));

	want_drops_of(stage, Drop::no_qp, 1, datagram_to_group(stage), to_all_hosts(stage, v6));
	member.want_nothing();
}

void from_another_port(Stage &stage, bool v6)
{
	Way way = usual(stage, v6);
	Member member(stage, way);

	way.source_port = 4791;
	want_drops_of(stage, Drop::malformed, 1, datagram_to_group(stage), way);
	member.want_nothing();
}

void leaves_and_comes_back(Stage &stage, bool v6)
{
	const Way way = usual(stage, v6);
	Member stays(stage, way), goes(stage, way);
	const Datagram first = datagram_to_group(stage), second = datagram_to_group(stage);

	leave(goes, way);
	want_drops_of(stage, Drop::arrives, 0, first, way);
	stays.want(first, way);
	goes.want_nothing();
	join(goes, way);
	want_drops_of(stage, Drop::arrives, 0, second, way);
	stays.want(second, way);
	goes.want(second, way);
}

// Whatever is received in between, the last one is in no group.
void leaves_in_between(Stage &stage, bool v6)
{
	const Way way = usual(stage, v6);
	Member member(stage, way, 0);

	for (int n = 0; n < 300; n++) {
		send(datagram_to_group(stage), way);
		leave(member, way);
		send(datagram_to_group(stage), way);
		join(member, way);
	}
	leave(member, way);
	want_drops_of(stage, Drop::unseen, 0, datagram_to_group(stage), way);
	member.want_nothing();
}

void while_in_error(Stage &stage, bool v6)
{
	const Way way = usual(stage, v6);
	Member member(stage, way, 0);

	member.to(IBV_QPS_ERR);
	want_drops_of(stage, Drop::no_qp, 1, datagram_to_group(stage), way);
	member.to(IBV_QPS_RESET);
	member.to_rts();
	want_drops_of(stage, Drop::no_receive, 1, datagram_to_group(stage), way);
}

void cannot_be_destroyed(Stage &stage, bool v6)
{
	Member member(stage, usual(stage, v6));

	expect(ibv_destroy_qp(member.qp) == EBUSY, "a QP in a group is busy");
}

void add(Cases &all, const std::string &name, void (*play)(Stage &stage, bool v6))
{
	for (const bool v6 : {false, true})
		all.push_back({name + (v6 ? " (IPv6)" : " (IPv4)"),
			       [=](Stage &stage) { play(stage, v6); }});
}

} // namespace

Cases group_cases()
{
	Cases all;

	add(all, "ib 103: each QP in a group gets a copy",
	    [](Stage &stage, bool v6) { each_gets_a_copy(stage, v6, 100); });
	add(all, "ib 103: of a datagram in fragments, too",
	    [](Stage &stage, bool v6) { each_gets_a_copy(stage, v6, most_payload); });
	add(all, "ib 103: QPs in a group that cannot take it", one_cannot_take_it);
	add(all, "ib 103: to a group, with another Q_Key", another_qkey);
	add(all, "ib 104: to a group, and the QPN of a QP in it", the_qpn_of_a_member);
	add(all, "ib 104: QPN 0xffffff, and an address of the device", to_an_address);
	add(all, "ib 102: to a group of nobody", of_nobody);
	add(all, "ib 102: to a group that only the host has joined", of_the_host_alone);
	add(all, "ib 84: to a group, from another port", from_another_port);
	add(all, "ib 100: a QP leaves a group, and comes back", leaves_and_comes_back);
	add(all, "ib 100: a QP leaves a group and comes back while datagrams come",
	    leaves_in_between);
	add(all, "ib 103: a QP in a group and in ERR", while_in_error);
	add(all, "ib 100: a QP in a group cannot be destroyed", cannot_be_destroyed);
	return all;
}

} // namespace strays
