// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Datagrams (Documentation/ib.rst, "Datagrams"): octets, and what a stranger may get wrong.
#include "../shared/wire.hh"
#include "api/core.h"
#include "rdma/srnic-abi.h"

using wire::be16;
using wire::be32;
using wire::Bytes;
using wire::hex;

namespace {

core_datagram sample()
{
	core_datagram d{};

	d.to = 0x112233;
	d.from = 0x445566;
	d.qkey = 0x80010203;
	d.payload = 3;
	d.imm[0] = 0xaa;
	d.imm[3] = 0xdd;
	d.with_imm = 1;
	d.solicited = 1;
	return d;
}

Bytes header_of(const core_datagram &d)
{
	Bytes out(CORE_DATAGRAM_HEADER, 0xee);

	core_datagram_build(&d, out.data());
	return out;
}

Bytes octets_of(size_t payload, u8 flags = 3)
{
	return hex("73727564") + Bytes{1, flags} + be16(payload) + be32(0x112233) + be32(0x445566) +
	       be32(0x80010203) + hex("aa0000dd") + Bytes(payload, 0x5a);
}

bool parses(const Bytes &octets, core_datagram &out)
{
	return core_datagram_parse(octets.data(), static_cast<u32>(octets.size()), &out);
}

bool parses(const Bytes &octets)
{
	core_datagram out{};

	return parses(octets, out);
}

// 81
TEST(Datagram, TheHeaderIsAsInTheFigure)
{
	EXPECT_EQ(header_of(sample()) + Bytes(3, 0x5a), octets_of(3));
}

TEST(Datagram, AllFieldsAreRead)
{
	core_datagram d{};

	ASSERT_TRUE(parses(octets_of(3), d));
	EXPECT_EQ(d.to, 0x112233u);
	EXPECT_EQ(d.from, 0x445566u);
	EXPECT_EQ(d.qkey, 0x80010203u);
	EXPECT_EQ(d.payload, 3);
	EXPECT_EQ(Bytes(d.imm, d.imm + 4), hex("aa0000dd"));
	EXPECT_TRUE(d.with_imm && d.solicited);
}

TEST(Datagram, WithoutImmediateDataTheirFieldIsSentAsZeroAndNotRead)
{
	const Bytes octets = octets_of(3, 2);
	core_datagram d = sample();

	d.with_imm = 0;
	EXPECT_EQ(header_of(d), Bytes(octets.begin(), octets.begin() + 20) + Bytes(4));
	ASSERT_TRUE(parses(octets_of(3, 2), d));
	EXPECT_FALSE(d.with_imm);
	EXPECT_EQ(Bytes(d.imm, d.imm + 4), Bytes(4));
}

TEST(Datagram, ReservedBitsAreNotChecked)
{
	core_datagram d{};
	Bytes octets = octets_of(3, 0xfe);

	octets[8] = octets[12] = 0xff;
	ASSERT_TRUE(parses(octets, d));
	EXPECT_EQ(d.to, 0x112233u);
	EXPECT_EQ(d.from, 0x445566u);
	EXPECT_FALSE(d.with_imm);
	EXPECT_TRUE(d.solicited);
}

TEST(Datagram, ReservedBitsAreSentAsZero)
{
	core_datagram d = sample();

	d.to |= 0xff000000;
	d.from |= 0xff000000;
	EXPECT_EQ(header_of(d), header_of(sample()));
}

// 82
TEST(Datagram, OfAnotherMagicOrVersionIsDropped)
{
	for (size_t at = 0; at < 5; at++) {
		Bytes octets = octets_of(3);

		octets[at] ^= 1;
		EXPECT_FALSE(parses(octets)) << "octet " << at;
	}
}

TEST(Datagram, HasAsManyOctetsAsItSays)
{
	EXPECT_TRUE(parses(octets_of(0)));
	EXPECT_TRUE(parses(octets_of(CORE_DATAGRAM_MAX)));
	EXPECT_FALSE(parses(octets_of(3) + Bytes(1)));
	EXPECT_FALSE(parses(octets_of(CORE_DATAGRAM_MAX + 1)));
	EXPECT_FALSE(parses(octets_of(65535 - CORE_DATAGRAM_HEADER)));
	for (size_t octets = 0; octets < CORE_DATAGRAM_HEADER + 3; octets++) {
		const Bytes all = octets_of(3);

		EXPECT_FALSE(parses(Bytes(all.begin(), all.begin() + octets))) << octets;
	}
}

// 97
TEST(Datagram, WhatIsSentToQp1HasTheLengthOfAMad)
{
	const auto to_qp1 = [](size_t payload) {
		return hex("73727564") + Bytes{1, 0} + be16(payload) + be32(1) + be32(1) +
		       be32(0x80010000) + Bytes(4) + Bytes(payload, 0x5a);
	};

	EXPECT_TRUE(parses(to_qp1(CORE_MAD)));
	for (const size_t payload : {0, 1, 255, 257, 4096})
		EXPECT_FALSE(parses(to_qp1(payload))) << payload;
}

TEST(Datagram, OneThatIsDroppedLeavesTheResultAlone)
{
	core_datagram d = sample();

	EXPECT_FALSE(parses(octets_of(3) + Bytes(1), d));
	EXPECT_EQ(header_of(d), header_of(sample()));
}

// ---- 83: the global route header ----

core_grh between(const Bytes &source, const Bytes &destination)
{
	core_grh grh{};

	std::copy(source.begin(), source.end(), grh.source);
	std::copy(destination.begin(), destination.end(), grh.destination);
	grh.flow_label = 0xfabcde;
	grh.octets = 35;
	grh.traffic_class = 0x12;
	grh.hop_limit = 64;
	return grh;
}

Bytes built(const core_grh &grh)
{
	Bytes out(CORE_DATAGRAM_GRH, 0xee);

	core_grh_build(&grh, out.data());
	return out;
}

TEST(Grh, OfIpv6IsItsHeader)
{
	EXPECT_EQ(built(between(hex("fe80 0000 0000 0000 0202 03ff fe04 0506"),
				hex("fd00 0000 0000 0000 0000 0000 0000 0002"))),
		  hex("612abcde 0023 11 40") + hex("fe80 0000 0000 0000 0202 03ff fe04 0506") +
			  hex("fd00 0000 0000 0000 0000 0000 0000 0002"));
}

core_grh way_v4()
{
	core_grh grh = between(hex("0000 0000 0000 0000 0000 ffff c000 0201"),
			       hex("0000 0000 0000 0000 0000 ffff c000 0202"));

	grh.v4 = 1;
	return grh;
}

// RFC 791 3.1: the ones' complement sum of all 16-bit words is 0xffff.
u32 folded_sum(const Bytes &octets)
{
	u32 sum = 0;

	for (size_t n = 0; n < octets.size(); n += 2)
		sum += u32{octets[n]} << 8 | octets[n + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

TEST(Grh, OfIpv4IsZerosAndItsHeader)
{
	const Bytes octets = built(way_v4());

	EXPECT_EQ(Bytes(octets.begin(), octets.begin() + 20), Bytes(20));
	EXPECT_EQ(Bytes(octets.begin() + 20, octets.begin() + 30),
		  hex("45 12 0037 0000 0000 40 11"));
	EXPECT_EQ(Bytes(octets.begin() + 32, octets.end()), hex("c0000201 c0000202"));
}

// The RDMA core tells the IP versions apart by it.
TEST(Grh, TheChecksumOfIpv4IsGood)
{
	core_grh grh = way_v4();

	for (u32 n = 0; n < 70000; n += 7) {
		grh.octets = static_cast<u16>(n);
		grh.hop_limit = static_cast<u8>(n >> 3);
		grh.source[15] = static_cast<u8>(n >> 5);
		const Bytes octets = built(grh);
		ASSERT_EQ(folded_sum(Bytes(octets.begin() + 20, octets.end())), 0xffffu) << n;
	}
}

// ---- what a request becomes ----

struct Request {
	srnic_send_wqe wqe{};
	core_datagram_sender sender{0x445566, 0x01020304, 1024};
	u32 length = 3;
	core_datagram out{};

	Request()
	{
		wqe.opcode = SRNIC_OP_SEND;
		wqe.remote_addr = u64{0x00010203} << 32 | 0x112233;
	}
	u8 status() { return core_datagram_of_request(&wqe, length, &sender, &out); }
};

// 85
TEST(Datagram, ARequestBecomesOne)
{
	Request r;

	ASSERT_EQ(r.status(), SRNIC_WC_SUCCESS);
	EXPECT_EQ(r.out.to, 0x112233u);
	EXPECT_EQ(r.out.from, 0x445566u);
	EXPECT_EQ(r.out.qkey, 0x00010203u);
	EXPECT_EQ(r.out.payload, 3);
	EXPECT_FALSE(r.out.with_imm);
	EXPECT_FALSE(r.out.solicited);
	r.wqe.opcode = SRNIC_OP_IMM;
	r.wqe.flags = SRNIC_WQE_SOLICITED;
	__builtin_memcpy(&r.wqe.arg[0], "\xaa\xbb\xcc\xdd\xee", 5);
	ASSERT_EQ(r.status(), SRNIC_WC_SUCCESS);
	EXPECT_TRUE(r.out.with_imm);
	EXPECT_TRUE(r.out.solicited);
	EXPECT_EQ(Bytes(r.out.imm, r.out.imm + 4), hex("aabbccdd"));
}

// 86
TEST(Datagram, ARequestMayBeAsLongAsTheMtu)
{
	Request r;

	for (u32 mtu : {256u, 1024u, 4096u, 8192u}) {
		r.sender.mtu = mtu;
		const u32 most = mtu > 4096 ? 4096 : mtu;
		for (u32 length : {0u, most - 1, most}) {
			r.length = length;
			EXPECT_EQ(r.status(), SRNIC_WC_SUCCESS);
			EXPECT_EQ(r.out.payload, length);
		}
		for (u32 length : {most + 1, 65536 + 1u, 0xffffffffu}) {
			r.length = length;
			EXPECT_EQ(r.status(), SRNIC_WC_LOC_LEN_ERR);
		}
	}
}

// 87
TEST(Datagram, AQkeyWithItsHighestBitIsTheSendersOwn)
{
	Request r;

	for (u32 qkey : {0x80000000u, 0x80010000u, 0xffffffffu}) {
		r.wqe.remote_addr = u64{qkey} << 32 | 5;
		ASSERT_EQ(r.status(), SRNIC_WC_SUCCESS);
		EXPECT_EQ(r.out.qkey, 0x01020304u);
	}
	r.wqe.remote_addr = u64{0x7fffffff} << 32 | 5;
	ASSERT_EQ(r.status(), SRNIC_WC_SUCCESS);
	EXPECT_EQ(r.out.qkey, 0x7fffffffu);
}

// 88
TEST(Datagram, OnlySendsBecomeOne)
{
	Request r;

	for (u32 opcode = 0; opcode < 256; opcode++) {
		r.wqe.opcode = static_cast<u8>(opcode);
		EXPECT_EQ(r.status(), opcode == SRNIC_OP_SEND || opcode == SRNIC_OP_IMM
					      ? SRNIC_WC_SUCCESS
					      : SRNIC_WC_LOC_QP_OP_ERR);
	}
}

// 88
TEST(Datagram, AQpnHas24Bits)
{
	Request r;

	for (u32 qpn : {0u, 1u, 0xffffffu}) {
		r.wqe.remote_addr = qpn;
		EXPECT_EQ(r.status(), SRNIC_WC_SUCCESS);
	}
	for (u32 qpn : {0x1000000u, 0x80000001u, 0xffffffffu}) {
		r.wqe.remote_addr = qpn;
		EXPECT_EQ(r.status(), SRNIC_WC_LOC_QP_OP_ERR);
	}
}

} // namespace
