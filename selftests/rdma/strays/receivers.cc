// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// QPs that cannot take a datagram, and what becomes of it.
#include "stage.hh"

namespace strays {
namespace {

void want_dropped(Stage &stage, Drop why, const ibv_qp *qp, unsigned count = 1)
{
	const Way way = stage.way(false);

	stage.want_drops(why, count, [&] {
		for (unsigned i = 0; i < count; i++)
			send(stage.datagram_to(qp), way);
		stage.exercise(way);
	});
}

void want_arrival(Stage &stage, Receiver &receiver, u32 qkey = victims_qkey)
{
	Datagram datagram = stage.datagram_to(receiver.qp);

	datagram.qkey = qkey;
	send(datagram, stage.way(false));
	receiver.want(datagram, stage.way(false));
}

void connected_qp(Stage &stage)
{
	End end(stage.port);

	end.init();
	want_dropped(stage, Drop::no_qp, end.qp);
}

void destroyed_qp(Stage &stage)
{
	ibv_qp was{};

	{
		Receiver receiver(stage.port);

		was.qp_num = receiver.qp->qp_num;
	}
	want_dropped(stage, Drop::no_qp, &was);
}

// The receives of one that is in RESET are gone.
void states(Stage &stage)
{
	Receiver receiver(stage.port, 0);

	receiver.to(IBV_QPS_RESET);
	want_dropped(stage, Drop::no_qp, receiver.qp);
	receiver.to(IBV_QPS_INIT);
	receiver.post();
	receiver.post();
	want_dropped(stage, Drop::no_qp, receiver.qp);
	receiver.want_nothing();
	receiver.to(IBV_QPS_RTR);
	want_arrival(stage, receiver);
	receiver.to(IBV_QPS_RTS);
	want_arrival(stage, receiver);
	receiver.to(IBV_QPS_SQD);
	want_arrival(stage, receiver);
	receiver.to(IBV_QPS_RTS);
	receiver.to_sqe();
	want_arrival(stage, receiver);
	receiver.to(IBV_QPS_ERR);
	want_dropped(stage, Drop::no_qp, receiver.qp);
}

void no_receive(Stage &stage)
{
	Receiver receiver(stage.port, 0);

	want_dropped(stage, Drop::no_receive, receiver.qp, 100);
	receiver.post();
	want_arrival(stage, receiver);
}

void more_than_receives(Stage &stage)
{
	Receiver receiver(stage.port, 4);
	const Way way = stage.way(true);
	std::vector<Datagram> datagrams;

	stage.want_drops(Drop::no_receive, 46, [&] {
		for (unsigned i = 0; i < 50; i++) {
			datagrams.push_back(stage.datagram_to(receiver.qp));
			send(datagrams.back(), way);
		}
		stage.exercise(way);
	});
	for (unsigned i = 0; i < 4; i++)
		receiver.want(datagrams[i], way, 3 - i);
}

void new_qkey(Stage &stage)
{
	Receiver receiver(stage.port);
	ibv_qp_attr attr{};

	attr.qkey = 0x5555;
	expect(!ibv_modify_qp(receiver.qp, &attr, IBV_QP_QKEY), "another Q_Key");
	want_dropped(stage, Drop::qkey, receiver.qp);
	want_arrival(stage, receiver, attr.qkey);
}

// Of 100 octets and the 40 before them.
void short_receive(Stage &stage, u32 octets)
{
	Receiver receiver(stage.port, 1, octets);

	want_dropped(stage, Drop::too_long, receiver.qp, 3);
	receiver.want_nothing();
	if (octets < grh_octets)
		return;
	const Datagram datagram = stage.datagram_to(receiver.qp, octets - grh_octets);

	send(datagram, stage.way(false));
	receiver.want(datagram, stage.way(false));
}

// Its memory is another's: the completion says so, and the QP takes no more.
void bad_receive(Stage &stage)
{
	Receiver receiver(stage.port, 0);

	receiver.post_bad();
	want_dropped(stage, Drop::no_receive, receiver.qp);
	receiver.receives.is(0, IBV_WC_LOC_PROT_ERR);
	expect(receiver.state() == IBV_QPS_ERR, "the QP is in ERR");
	want_dropped(stage, Drop::no_qp, receiver.qp);
}

} // namespace

Cases receiver_cases()
{
	Cases all = {
		{"ib 90: to a QP of type RC", connected_qp},
		{"ib 90: to a QP that is destroyed", destroyed_qp},
		{"ib 91: a QP receives in RTR, RTS, SQD and SQE", states},
		{"ib 93: no receive is posted", no_receive},
		{"ib 93: more come than receives are posted", more_than_receives},
		{"ib 95: a receive whose memory is not its program's", bad_receive},
		{"ib 92: a program gives its QP another Q_Key", new_qkey},
	};

	for (const u32 octets : {139u, 40u, 39u, 1u})
		all.push_back({"ib 94: a receive of " + std::to_string(octets) +
				       " octets is too short, and serves the next one",
			       [=](Stage &stage) { short_receive(stage, octets); }});
	return all;
}

} // namespace strays
