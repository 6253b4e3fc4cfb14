// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A peer of another release: another version, or features that this one does not know
// (Documentation/ib.rst rules 42 to 46, 52). The peer is a plain TCP program.
#include <functional>
#include <poll.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <sys/socket.h>

#include "../../shared/bytes.hh"
#include "wall.hh"

using namespace wire;

namespace {

constexpr uint32_t peer_qpn = 0x77;
constexpr size_t header = 20, fields = 96, shortest = 20;

Bytes octets_of(const ibv_gid &gid) { return {gid.raw, gid.raw + sizeof(gid.raw)}; }

ibv_gid gid_of(const std::string &address)
{
	ibv_gid gid{};

	gid.raw[10] = gid.raw[11] = 0xff;
	expect(inet_pton(AF_INET, address.c_str(), gid.raw + 12) == 1, "an address");
	return gid;
}

// A startup frame. Both kinds have the same fields.
struct Frame {
	bool reply = false;
	u8 version = 1, reason = 0;
	u32 features = 0, needs = 0;
	Bytes from, to; // GIDs
	u32 from_qpn = 0, to_qpn = 0, attempt = 1, peer_attempt = 0;
	u64 incarnation = 0x1234, peer_incarnation = 0;
	size_t len = fields; // of the private data

	Bytes octets() const
	{
		const std::string key = reply ? "MPA ID Rep Frame" : "MPA ID Req Frame",
				  magic = "srnic-ib";
		const u8 rejects = reason ? 0x20 : 0;
		Bytes data = Bytes(magic.begin(), magic.end()) + Bytes{version, reason, 0, 0} +
			     be32(features) + be32(needs) + from + to + be32(from_qpn) +
			     be32(to_qpn) + be16(8) + be16(8) + be32(0) + be32(0) + be32(attempt) +
			     be32(peer_attempt) + be64(incarnation) + be64(peer_incarnation);

		data.resize(len);
		return Bytes(key.begin(), key.end()) + Bytes{rejects, 2} + be16(len) + data;
	}
};

u64 number(const Bytes &in, size_t at, size_t len)
{
	u64 value = 0;

	for (size_t i = 0; i < len; i++)
		value = value << 8 | in.at(header + at + i);
	return value;
}

Frame parsed(const Bytes &in)
{
	Frame frame;

	expect(std::string(in.begin() + header, in.begin() + header + 8) == "srnic-ib", "magic");
	expect(!(in[16] & 0x20) == !number(in, 9, 1), "R of a Reply that refuses");
	frame.version = static_cast<u8>(number(in, 8, 1));
	frame.reason = static_cast<u8>(number(in, 9, 1));
	frame.features = static_cast<u32>(number(in, 12, 4));
	frame.needs = static_cast<u32>(number(in, 16, 4));
	frame.from = Bytes(in.begin() + header + 20, in.begin() + header + 36);
	frame.to = Bytes(in.begin() + header + 36, in.begin() + header + 52);
	frame.from_qpn = static_cast<u32>(number(in, 52, 4));
	frame.to_qpn = static_cast<u32>(number(in, 56, 4));
	frame.attempt = static_cast<u32>(number(in, 72, 4));
	frame.peer_attempt = static_cast<u32>(number(in, 76, 4));
	frame.incarnation = number(in, 80, 8);
	return frame;
}

class Connection {
	const int fd;

public:
	explicit Connection(int with) : fd(with) { expect(fd >= 0, "a connection"); }
	Connection(const Connection &) = delete;
	~Connection() { close(fd); }
	void say(const Frame &what) const
	{
		const Bytes out = what.octets();

		expect(::send(fd, out.data(), out.size(), MSG_NOSIGNAL) == ssize_t(out.size()),
		       "send");
	}
	Frame hears() const
	{
		Bytes in(header + fields);
		const timeval patience{5, 0};

		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		expect(recv(fd, in.data(), in.size(), MSG_WAITALL) == ssize_t(in.size()),
		       "a startup frame");
		return parsed(in);
	}
	// The other end resets it.
	void is_reset() const
	{
		u8 octet;

		expect(recv(fd, &octet, 1, 0) < 0 && errno == ECONNRESET, "a reset");
	}
};

sockaddr_in port_at(const std::string &address)
{
	sockaddr_in at{};

	at.sin_family = AF_INET;
	at.sin_port = htons(4791);
	inet_pton(AF_INET, address.c_str(), &at.sin_addr);
	return at;
}

// ---- this release is the responder ----

// It asks for this pair, from the address of sr0.
int connected()
{
	const sockaddr_in at = port_at(settings.there.address);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	expect(!connect(fd, reinterpret_cast<const sockaddr *>(&at), sizeof(at)), "connect");
	return fd;
}

Frame answer_to(Frame request, const End &qp)
{
	request.from = octets_of(gid_of(settings.here.address));
	request.to = octets_of(gid_of(settings.there.address));
	request.from_qpn = peer_qpn;
	request.to_qpn = qp.qp->qp_num;
	Connection stranger(connected());

	stranger.say(request);
	return stranger.hears();
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
	const Frame known{};
	Frame other = known, old = known, wants = known, knows = known;

	expect(!qp.init() && !qp.rtr({gid_of(settings.here.address), peer_qpn, 0, 0}) && !qp.rts(),
	       "RTS");
	other.version = old.version = 2;
	old.len = shortest;
	wants.features = wants.needs = 0x80000000;
	knows.features = 0x80000001;
	refuses(other, qp, 7);
	refuses(old, qp, 7);
	refuses(wants, qp, 8);
	const Frame answer = answer_to(knows, qp);

	expect(!answer.reason && !answer.features && answer.peer_attempt == known.attempt,
	       "features that nobody needs are agreed with");
}

// ---- this release is the initiator ----

// The peer has the port of sr1 instead of a device.
class Listener {
	Undo device{"rdma link delete " + settings.there.device,
		    "nsenter --net=/run/netns/sr1 rdma link add " + settings.there.device +
			    " type srnic_ib netdev veth1"};
	int fd = -1;

	void listen_here()
	{
		const sockaddr_in at = port_at(settings.there.address);
		const int on = 1;

		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		expect(!bind(fd, reinterpret_cast<const sockaddr *>(&at), sizeof(at)) &&
			       !listen(fd, 8),
		       "bind");
	}

public:
	Listener()
	{
		inside("sr1", [this] { listen_here(); });
	}
	~Listener() { close(fd); }
	bool is_asked(int ms) const
	{
		pollfd ready{fd, POLLIN, 0};

		return poll(&ready, 1, ms) == 1;
	}
	int accepted() const
	{
		expect(is_asked(5000), "an attempt to connect");
		return accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
	}
};

// What srnicctl says of the QP. It waits long (rule 64).
void gives_up(const Listener &listener, const Frame &answer, const std::string &words)
{
	Port port(settings.here.device, settings.here.address);
	End qp(port);

	expect(!qp.init() && !qp.rtr({gid_of(settings.there.address), peer_qpn, 0, 0}) && !qp.rts(),
	       "RTS");
	Connection initiator(listener.accepted());
	const Frame request = initiator.hears();
	Frame reply = answer;

	expect(request.version == 1 && !request.features && !request.needs, "a Request");
	reply.reply = true;
	reply.from = request.to;
	reply.to = request.from;
	reply.from_qpn = request.to_qpn;
	reply.to_qpn = request.from_qpn;
	reply.peer_attempt = request.attempt;
	reply.peer_incarnation = request.incarnation;
	initiator.say(reply);
	initiator.is_reset();
	command("srnicctl show | grep -q '" + words + "'");
	expect(!listener.is_asked(1500) && qp.state() == IBV_QPS_RTS, "the QP waits");
}

void initiator()
{
	const std::string version = "the other end has another version",
			  feature = "an end needs a feature that the other does not know";
	const Frame good{};
	Frame other = good, old = good, wants = good, uses = good;
	Listener listener;

	old.version = other.version = 2;
	old.reason = 7;
	old.len = shortest;
	wants.reason = 8;
	wants.features = wants.needs = 1;
	uses.features = uses.needs = 1;
	gives_up(listener, old, version);
	gives_up(listener, other, version);
	gives_up(listener, wants, feature);
	gives_up(listener, uses, feature);
}

} // namespace

Cases release_cases()
{
	return {
		{"a peer of another release asks: version and features", responder},
		{"a peer of another release answers: version and features", initiator},
	};
}
