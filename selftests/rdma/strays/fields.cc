// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Each field of a datagram wrong, one by one (Documentation/ib.rst rules 81 to 92).
#include "stage.hh"

namespace strays {
namespace {

struct Row {
	std::string name;
	Drop why;
	std::function<void(Datagram &datagram, Way &way)> change;
};

void play(Stage &stage, const Row &row, Way way)
{
	const Way usual = way;
	Datagram datagram = stage.datagram();

	row.change(datagram, way);
	stage.want_drops(row.why, 1, [&] {
		send(datagram, way);
		if (row.why == Drop::arrives)
			stage.victim.want(datagram, way);
		stage.exercise(usual);
	});
}

const Row rows[] = {
	{"ib 81, 83: a right datagram arrives", Drop::arrives, [](auto &, auto &) {}},
	{"ib 82: the first octet of the magic", Drop::malformed,
	 [](auto &d, auto &) { d.magic[0] ^= 0x20; }},
	{"ib 82: the last octet of the magic", Drop::malformed,
	 [](auto &d, auto &) { d.magic[3] ^= 1; }},
	{"ib 82: no magic", Drop::malformed, [](auto &d, auto &) { d.magic = Bytes(4); }},
	{"ib 82: version 0", Drop::malformed, [](auto &d, auto &) { d.version = 0; }},
	{"ib 82: version 2", Drop::malformed, [](auto &d, auto &) { d.version = 2; }},
	{"ib 82: version 255", Drop::malformed, [](auto &d, auto &) { d.version = 255; }},
	{"ib 81: Immediate Data", Drop::arrives,
	 [](auto &d, auto &) {
		 d.flags = with_imm;
		 d.imm = 0x01020304;
	 }},
	{"ib 81: Immediate Data without the flag are not read", Drop::arrives,
	 [](auto &d, auto &) { d.imm = 0x01020304; }},
	{"ib 81: the flag of a solicited event", Drop::arrives,
	 [](auto &d, auto &) { d.flags = solicited; }},
	{"ib 81: other flags are not checked", Drop::arrives,
	 [](auto &d, auto &) { d.flags = 0xfc; }},
	{"ib 81: nor are the bits beside the QPNs", Drop::arrives,
	 [](auto &d, auto &) {
		 d.to |= 0xff000000;
		 d.from |= 0xa5000000;
	 }},
	{"ib 81: from QP 0", Drop::arrives, [](auto &d, auto &) { d.from = 0; }},
	{"ib 81: from QP 1", Drop::arrives, [](auto &d, auto &) { d.from = 1; }},
	{"ib 81: from the greatest number", Drop::arrives,
	 [](auto &d, auto &) { d.from = 0xffffff; }},
	{"ib 81: from the victim's own number", Drop::arrives,
	 [](auto &d, auto &) { d.from = d.to; }},
	{"ib 82: 1 octet", Drop::arrives, [](auto &d, auto &) { d.payload = payload(1); }},
	{"ib 82: no payload", Drop::arrives, [](auto &d, auto &) { d.payload = {}; }},
	{"ib 82, 86: 4096 octets, in fragments, whatever the MTU is", Drop::arrives,
	 [](auto &d, auto &) { d.payload = payload(4096, 7); }},
	{"ib 82: 4097 octets", Drop::malformed, [](auto &d, auto &) { d.payload = payload(4097); }},
	{"ib 82: as many as UDP has", Drop::malformed,
	 [](auto &d, auto &) { d.payload = payload(65507 - header_octets); }},
	{"ib 82: that many, and it says 4096", Drop::malformed,
	 [](auto &d, auto &) {
		 d.payload = payload(65507 - header_octets);
		 d.says = 4096;
	 }},
	{"ib 82: it says one octet more", Drop::malformed,
	 [](auto &d, auto &) { d.says = static_cast<int>(d.payload.size()) + 1; }},
	{"ib 82: it says one octet less", Drop::malformed,
	 [](auto &d, auto &) { d.says = static_cast<int>(d.payload.size()) - 1; }},
	{"ib 82: it says that there are none", Drop::malformed,
	 [](auto &d, auto &) { d.says = 0; }},
	{"ib 82: it says 4096", Drop::malformed, [](auto &d, auto &) { d.says = 4096; }},
	{"ib 82: it says 65535", Drop::malformed, [](auto &d, auto &) { d.says = 65535; }},
	{"ib 82: it says as many as make 2^16 with the header", Drop::malformed,
	 [](auto &d, auto &) { d.says = 65536 - static_cast<int>(header_octets); }},
	{"ib 82: none are there, and it says one", Drop::malformed,
	 [](auto &d, auto &) {
		 d.payload = {};
		 d.says = 1;
	 }},
	{"ib 90: to a number of no QP", Drop::no_qp, [](auto &d, auto &) { d.to ^= 0x5a5a5a; }},
	{"ib 90: to QP 0", Drop::no_qp, [](auto &d, auto &) { d.to = 0; }},
	{"ib 90: to the number of multicast", Drop::no_qp,
	 [](auto &d, auto &) { d.to = 0xffffff; }},
	{"ib 92: Q_Key 0", Drop::qkey, [](auto &d, auto &) { d.qkey = 0; }},
	{"ib 92: the last bit of the Q_Key", Drop::qkey, [](auto &d, auto &) { d.qkey ^= 1; }},
	{"ib 92: the first bit of the Q_Key", Drop::qkey,
	 [](auto &d, auto &) { d.qkey ^= 0x80000000; }},
	{"ib 92: the Q_Key of QP 1", Drop::qkey, [](auto &d, auto &) { d.qkey = 0x80010000; }},
	{"ib 84: from port 290", Drop::malformed, [](auto &, auto &w) { w.source_port = 290; }},
	{"ib 84: from port 292", Drop::malformed, [](auto &, auto &w) { w.source_port = 292; }},
	{"ib 84: from port 4791", Drop::malformed, [](auto &, auto &w) { w.source_port = 4791; }},
	{"ib 84: from a port of any program", Drop::malformed,
	 [](auto &, auto &w) { w.source_port = 50000; }},
	{"ib 84: to port 290", Drop::unseen, [](auto &, auto &w) { w.destination_port = 290; }},
	{"ib 83: another traffic class", Drop::arrives,
	 [](auto &, auto &w) { w.traffic_class = 0xb8; }},
	{"ib 83: one hop", Drop::arrives, [](auto &, auto &w) { w.hops = 1; }},
	{"ib 83: 255 hops", Drop::arrives, [](auto &, auto &w) { w.hops = 255; }},
};

const Row rows_of_v6[] = {
	{"ib 83: a flow label", Drop::arrives, [](auto &, auto &w) { w.flow_label = 0x12345; }},
};

} // namespace

Cases field_cases()
{
	Cases all;

	for (const Row &row : rows)
		add_both(all, row.name,
			 [&](Stage &stage, const Way &way) { play(stage, row, way); });
	for (const Row &row : rows_of_v6)
		all.push_back({row.name, [&](Stage &stage) { play(stage, row, stage.way(true)); }});
	for (int octets = 0; octets < static_cast<int>(header_octets); octets++) {
		const Row row = {"ib 82: " + std::to_string(octets) + " octets in all",
				 Drop::malformed, [=](auto &d, auto &) { d.cut = octets; }};

		add_both(all, row.name,
			 [=](Stage &stage, const Way &way) { play(stage, row, way); });
	}
	return all;
}

} // namespace strays
