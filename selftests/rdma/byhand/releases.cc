// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A peer of another release: another version, or features that this one does not know
// (Documentation/ib.rst rules 42 to 46, 52). The peer is a plain TCP program.
#include "../hostile/peer.hh"
#include "case.hh"
#include "frame.hh"

using namespace byhand;
using hostile::Pace, hostile::Socket;

namespace {

constexpr u32 peer_qpn = 0x77;
constexpr size_t shortest = 20;

const Frame known{.flags = 0};

Name peer_at(const std::string &address)
{
	Name peer{.qpn = peer_qpn};

	std::ranges::copy(gid_of(address), peer.gid.raw);
	return peer;
}

Frame heard(const Socket &socket)
{
	const Frame frame = frame_of(socket.receive(frame_size));

	expect(frame.magic == known.magic, "magic");
	expect(!(frame.flags & flag_reject) == !frame.reason, "R of a Reply that refuses");
	return frame;
}

// ---- this release is the responder ----

// It asks for this pair, from the address of sr0.
Frame answer_to(Frame request, const End &qp)
{
	const Socket stranger = Socket::connect(settings.there.address, port);

	request.source_gid = gid_of(settings.here.address);
	request.destination_gid = gid_of(settings.there.address);
	request.source_qpn = peer_qpn;
	request.destination_qpn = qp.qp->qp_num;
	expect(stranger.send(request.octets(), Pace::whole), "send");
	return heard(stranger);
}

void refuses(const Frame &request, const End &qp, u8 reason)
{
	const Frame answer = answer_to(request, qp);

	expect(answer.version == 1 && answer.reason == reason,
	       "reason " + std::to_string(reason) + ", got " + std::to_string(answer.reason));
	expect(qp.state() == IBV_QPS_RTS, "the QP waits");
}

void responder()
{
	Ports ports;
	End qp(ports.there);
	Frame other = known, old = known, wants = known, knows = known;

	expect(!qp.init() && !qp.rtr(peer_at(settings.here.address)) && !qp.rts(), "RTS");
	other.version = old.version = 2;
	old.length = shortest;
	wants.features = wants.needs = 0x80000000;
	knows.features = 0x80000000 | feature_extended;
	refuses(other, qp, version);
	refuses(old, qp, version);
	refuses(wants, qp, features);
	const Frame answer = answer_to(knows, qp);

	expect(!answer.reason && !(answer.features & ~feature_extended) &&
		       answer.destination_attempt == known.source_attempt,
	       "a feature that this release does not know is agreed with");
}

// ---- this release is the initiator ----

// The peer has the port of sr1 instead of a device.
class Listener {
	Undo device{"rdma link delete " + settings.there.device,
		    "nsenter --net=/run/netns/sr1 rdma link add " + settings.there.device +
			    " type srnic_ib netdev veth1"};
	Socket socket;

public:
	Listener()
	{
		inside("sr1", [this] { socket = Socket::listen(settings.there.address, port); });
	}
	bool is_asked(int ms) const { return !socket.silent(ms); }
	Socket accepted() const { return socket.accept(); }
};

// What srnicctl says of the QP. It waits long (rule 64).
void gives_up(const Listener &listener, const Frame &answer, const std::string &words)
{
	Port here(settings.here.device, settings.here.address);
	End qp(here);

	expect(!qp.init() && !qp.rtr(peer_at(settings.there.address)) && !qp.rts(), "RTS");
	const Socket initiator = listener.accepted();
	const Frame request = heard(initiator);
	Frame reply = reply_to(request, answer);
	hostile::End how;

	expect(request.version == 1 && !(request.features & ~feature_extended) && !request.needs,
	       "a Request");
	reply.flags = reply.reason ? flag_reject : 0;
	reply.source_gid = request.destination_gid;
	reply.destination_gid = request.source_gid;
	reply.source_qpn = request.destination_qpn;
	reply.destination_qpn = request.source_qpn;
	expect(initiator.send(reply.octets(), Pace::whole), "send");
	expect(initiator.rest(&how).empty() && how == hostile::End::reset, "a reset");
	command("srnicctl show | grep -q '" + words + "'");
	expect(!listener.is_asked(1500) && qp.state() == IBV_QPS_RTS, "the QP waits");
}

void initiator()
{
	const std::string of_version = "the other end has another version",
			  of_feature = "an end needs a feature that the other does not know";
	Frame other = known, old = known, wants = known, uses = known;
	Listener listener;

	old.version = other.version = 2;
	old.reason = version;
	old.length = shortest;
	wants.reason = features;
	wants.features = wants.needs = 0x80000000;
	uses.features = uses.needs = 0x80000000;
	gives_up(listener, old, of_version);
	gives_up(listener, other, of_version);
	gives_up(listener, wants, of_feature);
	gives_up(listener, uses, of_feature);
}

} // namespace

Cases release_cases()
{
	return {
		{"a peer of another release asks: version and features", responder},
		{"a peer of another release answers: version and features", initiator},
	};
}
