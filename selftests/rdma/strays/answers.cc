// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What the victim sends, octet by octet: to a stranger whose address it has from a completion
// (ibv_create_ah_from_wc), or from its program.
#include "sockets.hh"
#include "stage.hh"

#include <memory>
#include <netinet/in.h>
#include <poll.h>

namespace strays {
namespace {

constexpr int hosts_hops = 64;

using Ah = std::unique_ptr<ibv_ah, int (*)(ibv_ah *)>;

// Hears what comes to the stranger's port.
class Ear {
	const Socket socket;

	static int number_in(msghdr &message, int level, int type)
	{
		for (cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
			if (c->cmsg_level == level && c->cmsg_type == type)
				return *reinterpret_cast<const int *>(CMSG_DATA(c));
		return -1;
	}

public:
	struct Heard {
		Bytes octets;
		Bytes source; // address
		u16 source_port = 0;
		int hops = 0, traffic_class = 0;
	};

	explicit Ear(const Way &way) : socket(way, SOCK_DGRAM, 0)
	{
		const int yes = 1;

		setsockopt(socket.fd, IPPROTO_IP, IP_RECVTTL, &yes, sizeof(yes));
		setsockopt(socket.fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, &yes, sizeof(yes));
		setsockopt(socket.fd, IPPROTO_IPV6, IPV6_RECVTCLASS, &yes, sizeof(yes));
		setsockopt(socket.fd, IPPROTO_IP, IP_RECVTOS, &yes, sizeof(yes));
		socket.bind_to(way.source, port);
	}
	bool silent() const
	{
		pollfd wanted{socket.fd, POLLIN, 0};

		return poll(&wanted, 1, 100) == 0;
	}
	Heard hear() const;
};

Ear::Heard Ear::hear() const
{
	pollfd wanted{socket.fd, POLLIN, 0};
	Heard heard{Bytes(65536)};
	sockaddr_in6 from{};
	char control[256];
	iovec where{heard.octets.data(), heard.octets.size()};
	msghdr message{&from, sizeof(from), &where, 1, control, sizeof(control), 0};

	expect(poll(&wanted, 1, 5000) == 1, "a datagram comes");
	const ssize_t octets = recvmsg(socket.fd, &message, 0);

	expect(octets >= 0, "recvmsg");
	heard.octets.resize(static_cast<size_t>(octets));
	const auto *source = reinterpret_cast<const u8 *>(&from);

	heard.source = from.sin6_family == AF_INET6 ? Bytes(source + 8, source + 24)
						    : Bytes(source + 4, source + 8);
	heard.source_port = ntohs(from.sin6_port);
	if (from.sin6_family == AF_INET6) {
		heard.hops = number_in(message, IPPROTO_IPV6, IPV6_HOPLIMIT);
		heard.traffic_class = number_in(message, IPPROTO_IPV6, IPV6_TCLASS);
	} else {
		heard.hops = number_in(message, IPPROTO_IP, IP_TTL);
		heard.traffic_class = number_in(message, IPPROTO_IP, IP_TOS) & 0xff;
	}
	return heard;
}

// ---- the victim's side ----

ibv_ah_attr attr_of(const Port &from, const Way &way)
{
	const Bytes to = octets_of(way.source); // the stranger's
	ibv_ah_attr attr{};

	attr.is_global = 1;
	attr.port_num = 1;
	attr.grh.sgid_index = static_cast<u8>(from.gid_index);
	attr.grh.hop_limit = 33; // the RDMA core makes the host's own of it
	attr.grh.traffic_class = 0x20;
	if (to.size() == 4)
		attr.grh.dgid.raw[10] = attr.grh.dgid.raw[11] = 0xff;
	std::copy(to.begin(), to.end(), attr.grh.dgid.raw + 16 - to.size());
	return attr;
}

Ah make_ah(const Port &from, ibv_ah_attr attr)
{
	Ah ah(ibv_create_ah(from.pd, &attr), ibv_destroy_ah);

	expect(ah != nullptr, std::string("ibv_create_ah: ") + strerror(errno));
	return ah;
}

struct Message {
	Bytes octets;
	ibv_wr_opcode opcode = IBV_WR_SEND;
	unsigned flags = IBV_SEND_SIGNALED;
	u32 to = stranger_qpn, qkey = 0x12345678, imm = 0x0a0b0c0d;
	ibv_wc_status status = IBV_WC_SUCCESS;
};

// Posts it and waits for its completion.
void say(Receiver &victim, ibv_pd *pd, ibv_ah *ah, Message message)
{
	const std::unique_ptr<ibv_mr, int (*)(ibv_mr *)> mr(
		ibv_reg_mr(pd, message.octets.data(), std::max<size_t>(message.octets.size(), 1),
			   0),
		ibv_dereg_mr);
	ibv_sge sge = {reinterpret_cast<uintptr_t>(message.octets.data()),
		       static_cast<u32>(message.octets.size()), mr ? mr->lkey : 0};
	ibv_send_wr wr{}, *bad;

	wr.wr_id = 7;
	wr.opcode = message.opcode;
	wr.send_flags = message.flags;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.imm_data = htobe32(message.imm);
	wr.wr.ud = {ah, message.to, message.qkey};
	expect(!ibv_post_send(victim.qp, &wr, &bad), "ibv_post_send");
	victim.sends.is(7, message.status);
}

void want_octets(const Ear::Heard &heard, const Receiver &victim, const Message &message)
{
	const bool imm = message.opcode == IBV_WR_SEND_WITH_IMM;
	Datagram datagram = {.to = message.to, .from = victim.qp->qp_num, .qkey = message.qkey};

	datagram.flags = static_cast<u8>((imm ? with_imm : 0) |
					 (message.flags & IBV_SEND_SOLICITED ? solicited : 0));
	datagram.imm = imm ? message.imm : 0;
	datagram.payload = message.octets;
	if (message.qkey >> 31)
		datagram.qkey = victims_qkey;
	expect(heard.octets == datagram.octets(), "the octets are those of the message");
	expect(heard.source_port == port,
	       "they come from port " + std::to_string(heard.source_port));
}

void want_way(const Ear::Heard &heard, const Way &way, int traffic_class)
{
	expect(heard.source == octets_of(way.destination), "they come from the victim's address");
	expect(heard.hops == hosts_hops, "so many hops: " + std::to_string(heard.hops));
	expect(heard.traffic_class == traffic_class,
	       "the traffic class: " + std::to_string(heard.traffic_class));
}

struct Row {
	const char *name;
	Message message;
};

const Row rows[] = {
	{"a Send", {payload(100)}},
	{"one with Immediate Data", {payload(100), IBV_WR_SEND_WITH_IMM}},
	{"one with Solicited Event",
	 {payload(100), IBV_WR_SEND, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED}},
	{"inline", {payload(60), IBV_WR_SEND, IBV_SEND_SIGNALED | IBV_SEND_INLINE}},
	{"without payload", {{}}},
	{"ib 86: as long as the MTU", {payload(1024)}},
	{"ib 87: with the Q_Key of its QP",
	 {payload(100), IBV_WR_SEND, IBV_SEND_SIGNALED, stranger_qpn, 0x80000000}},
	{"to QP 1", {payload(100), IBV_WR_SEND, IBV_SEND_SIGNALED, 1}},
};

void play(Stage &stage, const Row &row, const Way &way)
{
	const Port &from = way.is_v6() ? stage.port6 : stage.port;
	const Ear ear(way);
	// Address handles are of the QP's protection domain.
	ibv_ah_attr attr = attr_of(from, way);
	const Ah ah = make_ah(stage.port, attr);

	say(stage.victim, stage.port.pd, ah.get(), row.message);
	const auto heard = ear.hear();

	want_octets(heard, stage.victim, row.message);
	want_way(heard, way, attr.grh.traffic_class);
	expect(ear.silent(), "it comes once");
}

void too_long(Stage &stage, const Way &way)
{
	const Ear ear(way);
	const Ah ah = make_ah(stage.port, attr_of(way.is_v6() ? stage.port6 : stage.port, way));
	Receiver victim(stage.port);
	const Message longest{payload(1024)};

	say(victim, stage.port.pd, ah.get(),
	    {.octets = payload(1025), .status = IBV_WC_LOC_LEN_ERR});
	expect(victim.state() == IBV_QPS_SQE, "the QP is in SQE");
	say(victim, stage.port.pd, ah.get(), {.octets = payload(1), .status = IBV_WC_WR_FLUSH_ERR});
	expect(ear.silent(), "nothing is sent");
	victim.to(IBV_QPS_RTS);
	say(victim, stage.port.pd, ah.get(), longest);
	want_octets(ear.hear(), victim, longest);
}

void no_handle(Stage &stage, const Way &way)
{
	const Ear ear(way);
	// Its protection domain is not that of the QP.
	const Ah ah = make_ah(stage.port6, attr_of(way.is_v6() ? stage.port6 : stage.port, way));
	Receiver victim(stage.port);

	say(victim, stage.port.pd, ah.get(),
	    {.octets = payload(100), .status = IBV_WC_LOC_QP_OP_ERR});
	expect(victim.state() == IBV_QPS_SQE, "the QP is in SQE");
	expect(ear.silent(), "nothing is sent");
}

// Programs answer what came to whom it came from.
void answers(Stage &stage, const Way &way)
{
	Datagram datagram = stage.datagram();
	ibv_ah_attr attr{};

	send(datagram, way);
	ibv_wc wc = stage.victim.want(datagram, way);
	Bytes grh = stage.victim.grh();

	expect(!ibv_init_ah_from_wc(stage.port.verbs, 1, &wc,
				    reinterpret_cast<ibv_grh *>(grh.data()), &attr),
	       "ibv_init_ah_from_wc");
	expect(attr.is_global && attr.grh.sgid_index == stage.index_of(way) &&
		       attr.grh.hop_limit == way.hops &&
		       attr.grh.traffic_class == way.traffic_class,
	       "ibv_init_ah_from_wc finds the way back");
	const Ear ear(way);
	const Ah ah(ibv_create_ah_from_wc(stage.port.pd, &wc,
					  reinterpret_cast<ibv_grh *>(grh.data()), 1),
		    ibv_destroy_ah);
	const Message message{payload(200)};

	expect(ah != nullptr, std::string("ibv_create_ah_from_wc: ") + strerror(errno));
	say(stage.victim, stage.port.pd, ah.get(), message);
	const auto heard = ear.hear();

	want_octets(heard, stage.victim, message);
	want_way(heard, way, way.traffic_class);
}

void answers_in_another_class(Stage &stage, Way way)
{
	way.traffic_class = 0xb8;
	way.hops = 17;
	answers(stage, way);
}

} // namespace

Cases answer_cases()
{
	Cases all;

	for (const Row &row : rows)
		add_both(all, std::string("ib 81, 84: the victim sends a datagram: ") + row.name,
			 [&](Stage &stage, const Way &way) { play(stage, row, way); });
	add_both(all, "ib 86, 88: the victim sends no more than its MTU", too_long);
	add_both(all, "ib 88: an address handle of another protection domain", no_handle);
	add_both(all, "ib 83: the victim answers by ibv_create_ah_from_wc()", answers);
	add_both(all, "ib 83: also in another traffic class", answers_in_another_class);
	all.push_back({"ib 83: also between link-local addresses",
		       [](Stage &stage) { answers(stage, stage.local_way()); }});
	return all;
}

} // namespace strays
