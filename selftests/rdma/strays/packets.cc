// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What IP and UDP do with a datagram on its way: ports, lengths and checksums that lie, fragments,
// options, and addresses that are not the device's.
#include "stage.hh"

namespace strays {
namespace {

// A packet that is dropped, or arrives as the datagram does.
struct Row {
	std::string name;
	Drop v4, v6;
	std::function<void(Udp &udp, Datagram &datagram)> change;
	size_t behind = 0; // octets behind those that UDP's length covers
};

void play(Stage &stage, const Row &row, const Way &way)
{
	const Drop why = way.is_v6() ? row.v6 : row.v4;
	Datagram datagram = stage.datagram();
	Udp udp;

	row.change(udp, datagram);
	stage.want_drops(why, 1, [&] {
		send_packet(udp.octets(datagram.octets() + Bytes(row.behind), way), way);
		if (why == Drop::arrives)
			stage.victim.want(datagram, way);
		stage.exercise(way);
	});
}

constexpr int of(const Datagram &datagram, int more)
{
	return static_cast<int>(8 + header_octets + datagram.payload.size()) + more;
}

const Row rows[] = {
	{"UDP by hand arrives", Drop::arrives, Drop::arrives, [](auto &, auto &) {}},
	{"ib 84: from port 0", Drop::malformed, Drop::malformed,
	 [](auto &udp, auto &) { udp.source = 0; }},
	{"a wrong checksum", Drop::unseen, Drop::unseen,
	 [](auto &udp, auto &) { udp.checksum = 0x1234; }},
	{"no checksum, which IPv4 allows", Drop::arrives, Drop::unseen,
	 [](auto &udp, auto &) { udp.checksum = 0; }},
	{"UDP's length is 0", Drop::unseen, Drop::unseen, [](auto &udp, auto &) { udp.says = 0; }},
	{"UDP's length is 7", Drop::unseen, Drop::unseen, [](auto &udp, auto &) { udp.says = 7; }},
	{"UDP's length is one more than there is", Drop::unseen, Drop::unseen,
	 [](auto &udp, auto &d) { udp.says = of(d, 1); }},
	{"ib 82: UDP's length leaves out the last octet", Drop::malformed, Drop::malformed,
	 [](auto &udp, auto &d) { udp.says = of(d, -1); }},
	{"octets behind those of UDP are not of the datagram", Drop::arrives, Drop::arrives,
	 [](auto &udp, auto &d) { udp.says = of(d, 0); }, 64},
};

// ---- fragments ----

using Cuts = std::vector<size_t>; // where one ends and the next begins

struct Parts {
	Bytes packet;
	Cuts cuts;
	u16 id;

	size_t count() const { return cuts.size() + 1; }
	void send(size_t number, const Way &way) const
	{
		const size_t from = number ? cuts[number - 1] : 0;
		const bool more = number < cuts.size();
		const size_t end = more ? cuts[number] : packet.size();

		send_fragment(packet.slice(from, end - from), from, more, id, way);
	}
};

Parts parts_of(const Datagram &datagram, const Way &way, const Cuts &cuts)
{
	static u16 id = 1000;

	return {Udp{}.octets(datagram.octets(), way), cuts, ++id};
}

void arrives_in(Stage &stage, const Way &way, const Cuts &cuts, bool backwards)
{
	const Datagram datagram = stage.datagram(1200);
	const Parts parts = parts_of(datagram, way, cuts);

	stage.want_drops(Drop::arrives, 0, [&] {
		for (size_t i = 0; i < parts.count(); i++)
			parts.send(backwards ? parts.count() - 1 - i : i, way);
		stage.victim.want(datagram, way);
		stage.exercise(way);
	});
}

void lacks(Stage &stage, const Way &way, size_t missing)
{
	const Parts parts = parts_of(stage.datagram(1200), way, {400, 800});

	stage.want_drops(Drop::unseen, 0, [&] {
		for (size_t i = 0; i < parts.count(); i++)
			if (i != missing)
				parts.send(i, way);
		stage.exercise(way);
	});
	stage.victim.want_nothing();
}

void add_fragments(Cases &all)
{
	const std::pair<const char *, Cuts> ways[] = {
		{"two fragments", {600}},
		{"the first one has only UDP's header", {8}},
		{"the datagram's header is in four", {8, 16, 24}},
		{"fragments of 8 octets", {8, 16, 24, 32, 40, 48, 56, 64, 72, 80}},
	};

	for (const auto &[name, cuts] : ways)
		for (const bool backwards : {false, true})
			add_both(all, std::string(name) + (backwards ? ", the last one first" : ""),
				 [cuts, backwards](Stage &stage, const Way &way) {
					 arrives_in(stage, way, cuts, backwards);
				 });
	for (const size_t missing : {0, 1, 2})
		add_both(all, "fragment " + std::to_string(missing + 1) + " of three is missing",
			 [=](Stage &stage, const Way &way) { lacks(stage, way, missing); });
}

// ---- addresses and options ----

void options(Stage &stage, const Way &way)
{
	const Datagram datagram = stage.datagram();

	stage.want_drops(Drop::arrives, 0, [&] {
		send_with_options(datagram.octets(), way);
		stage.victim.want(datagram, way);
		stage.exercise(way);
	});
}

void link_local(Stage &stage)
{
	stage.want_drops(Drop::arrives, 0, [&] { stage.exercise(stage.local_way()); });
}

// A QP is reached by the GIDs of its device only: programs could not answer.
void to_another(Stage &stage, Way way, const std::string &address)
{
	const Way usual = way;

	way.destination = address;
	stage.want_drops(Drop::no_qp, 1, [&] {
		send(stage.datagram(), way);
		stage.exercise(usual);
	});
	stage.victim.want_nothing();
}

} // namespace

Cases packet_cases()
{
	Cases all;

	for (const Row &row : rows)
		add_both(all, row.name,
			 [&](Stage &stage, const Way &way) { play(stage, row, way); });
	add_fragments(all);
	add_both(all, "ib 83: options of IP, which the receive does not get", options);
	all.push_back({"ib 90: between link-local addresses", link_local});
	all.push_back({"ib 90: to the broadcast address", [](Stage &stage) {
			       to_another(stage, stage.way(false), stage.broadcast());
		       }});
	all.push_back({"ib 90: to all nodes of the link", [](Stage &stage) {
			       to_another(stage, stage.local_way(), "ff02::1%" + stage.interface());
		       }});
	all.push_back({"ib 90: to an address that its host has, and not its device",
		       [](Stage &stage) { to_another(stage, stage.way(false), stage.beside()); }});
	return all;
}

} // namespace strays
