// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Datagrams between QPs of type UD (Documentation/ib.rst, "Datagrams"): their header, checked as
// far as no QP has to be known for it, and the global route header of a receive.
#include "ib/datagram.hh"

#include "ib/pairing_frame.hh"
#include "rdma/srnic-abi.h"

namespace srnic::ib {
namespace {

constexpr u8 datagram_magic[5] = "srud";
constexpr u8 datagram_version = 1;
constexpr u8 udp = 17; // the protocol number of IP

bool is_known(const DatagramHeader &header)
{
	return __builtin_memcmp(header.magic, datagram_magic, sizeof(header.magic)) == 0 &&
	       header.version == datagram_version;
}

core_datagram decode(const DatagramHeader &header)
{
	core_datagram d = {
		.to = header.destination_qpn.host() & qpn_bits,
		.from = header.source_qpn.host() & qpn_bits,
		.qkey = header.qkey.host(),
		.payload = header.payload.host(),
		.imm = {},
		.with_imm = (header.flags & datagram_with_imm) != 0,
		.solicited = (header.flags & datagram_solicited) != 0,
	};

	if (d.with_imm)
		__builtin_memcpy(d.imm, header.imm, sizeof(d.imm));
	return d;
}

// IBA volume 1, 10.2.5: a Q_Key with this bit stands for that of the sending QP.
constexpr u32 own_qkey = 0x80000000;

// Agents read a whole MAD, whatever the length of the datagram is.
bool may_have(u32 to, u32 payload)
{
	return to == CORE_QP1 ? payload == CORE_MAD : payload <= CORE_DATAGRAM_MAX;
}

u8 flags_of(const core_datagram &d)
{
	return static_cast<u8>((d.with_imm ? datagram_with_imm : 0) |
			       (d.solicited ? datagram_solicited : 0));
}

Ipv6Header ipv6_of(const core_grh &grh)
{
	const u32 first = u32{6} << 28 | u32{grh.traffic_class} << 20 | (grh.flow_label & 0xfffff);
	Ipv6Header header = {
		be<u32>::from_host(first),
		be<u16>::from_host(grh.octets),
		udp,
		grh.hop_limit,
		{},
		{},
	};

	__builtin_memcpy(header.source, grh.source, sizeof(header.source));
	__builtin_memcpy(header.destination, grh.destination, sizeof(header.destination));
	return header;
}

// RFC 791 3.1, "Header Checksum".
be<u16> checksum_of(const Ipv4Header &header)
{
	u8 octets[sizeof(header)];
	u32 sum = 0;

	store(octets, header);
	for (u32 n = 0; n < sizeof(octets); n += 2)
		sum += load<be<u16>>(octets + n).host();
	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16;
	return be<u16>::from_host(static_cast<u16>(~sum));
}

// Without options: programs expect a header of 20 octets.
Ipv4Header ipv4_of(const core_grh &grh)
{
	Ipv4Header header{};

	header.version_ihl = 0x45;
	header.tos = grh.traffic_class;
	header.total = be<u16>::from_host(static_cast<u16>(sizeof(header) + grh.octets));
	header.ttl = grh.hop_limit;
	header.protocol = udp;
	__builtin_memcpy(header.source, grh.source + 12, sizeof(header.source));
	__builtin_memcpy(header.destination, grh.destination + 12, sizeof(header.destination));
	header.checksum = checksum_of(header);
	return header;
}

} // namespace
} // namespace srnic::ib

using namespace srnic;
using namespace srnic::ib;

u8 core_datagram_of_request(const struct srnic_send_wqe *wqe, u32 length,
			    const struct core_datagram_sender *sender, struct core_datagram *out)
{
	const u32 qpn = static_cast<u32>(wqe->remote_addr);
	const u32 qkey = static_cast<u32>(wqe->remote_addr >> 32);

	if ((wqe->opcode != SRNIC_OP_SEND && wqe->opcode != SRNIC_OP_IMM) || qpn & ~qpn_bits)
		return SRNIC_WC_LOC_QP_OP_ERR;
	if (length > min(sender->mtu, u32{CORE_DATAGRAM_MAX}))
		return SRNIC_WC_LOC_LEN_ERR;
	*out = core_datagram{
		.to = qpn,
		.from = sender->qpn,
		.qkey = qkey & own_qkey ? sender->qkey : qkey,
		.payload = static_cast<u16>(length),
		.imm = {},
		.with_imm = static_cast<u8>(wqe->opcode == SRNIC_OP_IMM),
		.solicited = (wqe->flags & SRNIC_WQE_SOLICITED) != 0,
	};
	if (out->with_imm)
		__builtin_memcpy(out->imm, &wqe->arg[0], sizeof(out->imm));
	return SRNIC_WC_SUCCESS;
}

void core_datagram_build(const struct core_datagram *d, u8 out[CORE_DATAGRAM_HEADER])
{
	DatagramHeader header = {
		.magic = {},
		.version = datagram_version,
		.flags = flags_of(*d),
		.payload = be<u16>::from_host(d->payload),
		.destination_qpn = be<u32>::from_host(d->to & qpn_bits),
		.source_qpn = be<u32>::from_host(d->from & qpn_bits),
		.qkey = be<u32>::from_host(d->qkey),
		.imm = {},
	};

	__builtin_memcpy(header.magic, datagram_magic, sizeof(header.magic));
	if (d->with_imm)
		__builtin_memcpy(header.imm, d->imm, sizeof(header.imm));
	store(out, header);
}

int core_datagram_parse(const u8 *in, u32 octets, struct core_datagram *out)
{
	if (octets < CORE_DATAGRAM_HEADER)
		return 0;
	const auto header = load<DatagramHeader>(in);
	if (!is_known(header))
		return 0;
	const auto d = decode(header);
	if (!may_have(d.to, d.payload) || d.payload != octets - CORE_DATAGRAM_HEADER)
		return 0;
	*out = d;
	return 1;
}

void core_grh_build(const struct core_grh *grh, u8 out[CORE_DATAGRAM_GRH])
{
	if (!grh->v4) {
		store(out, ipv6_of(*grh));
		return;
	}
	__builtin_memset(out, 0, CORE_DATAGRAM_GRH - sizeof(Ipv4Header));
	store(out + CORE_DATAGRAM_GRH - sizeof(Ipv4Header), ipv4_of(*grh));
}
