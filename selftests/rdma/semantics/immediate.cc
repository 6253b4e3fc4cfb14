// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Immediate Data (RFC 7306 6): RDMA Writes with Immediate Data, and empty Sends with them, with the
// completions at both ends.
#include <arpa/inet.h>
#include <cerrno>

#include "case.hh"

namespace {

constexpr uint32_t data = 0x01020304;

Joint connected() { return Joint(settings.there, settings.here); }

// Returns the errno.
int post(End &end, ibv_wr_opcode opcode, std::vector<ibv_sge> list, unsigned flags = 0,
	 Target remote = {}, uint32_t value = data)
{
	ibv_send_wr wr{}, *bad;

	wr.wr_id = value;
	wr.opcode = opcode;
	wr.sg_list = list.data();
	wr.num_sge = static_cast<int>(list.size());
	wr.send_flags = IBV_SEND_SIGNALED | flags;
	wr.imm_data = htonl(value);
	wr.wr.rdma.remote_addr = remote.addr;
	wr.wr.rdma.rkey = remote.rkey;
	return ibv_post_send(end.id->qp, &wr, &bad);
}

// MPA has no Send with Immediate Data: an empty one is Immediate Data alone.
const ibv_wc_opcode of_send = IBV_WC_RECV;

void arrives(Joint &joint, uint64_t wr_id, uint32_t written, uint32_t value = data,
	     ibv_wc_opcode opcode = IBV_WC_RECV_RDMA_WITH_IMM)
{
	const ibv_wc wc = joint.server.receives->good(wr_id);

	expect(wc.opcode == (settings.rdmatcp ? opcode : IBV_WC_RECV_RDMA_WITH_IMM),
	       "the receive's opcode");
	expect(wc.wc_flags == IBV_WC_WITH_IMM && wc.imm_data == htonl(value), "the data");
	expect(wc.byte_len == written, "the receive has another length than was written");
}

// 6: one work request, one completion at each end; the receive's memory is not touched.
void writes()
{
	Joint joint = connected();
	Buffer ours(joint.client, 300000), theirs(joint.server, 300000), idle(joint.server, 64);

	ours.fill(7);
	for (uint32_t len : {1u, 64u, 4096u, 300000u}) {
		joint.server.receive(len, {idle.region.piece(0, 64)});
		expect(!post(joint.client, IBV_WR_RDMA_WRITE_WITH_IMM, {ours.region.piece(0, len)},
			     0, theirs.region.target(), len),
		       "ibv_post_send");
		arrives(joint, len, len, len);
		expect(std::equal(theirs.octets.begin(), theirs.octets.begin() + len,
				  ours.octets.begin()),
		       "the Write is not there when its Immediate Data is");
		expect(joint.client.sends->good(len).opcode == IBV_WC_RDMA_WRITE,
		       "the Write's completion");
	}
	expect(idle.octets == std::vector<uint8_t>(64), "Immediate Data has changed memory");
}

void without_payload()
{
	Joint joint = connected();

	joint.server.receive(1, {});
	joint.server.receive(2, {});
	expect(!post(joint.client, IBV_WR_RDMA_WRITE_WITH_IMM, {}), "an empty Write");
	arrives(joint, 1, 0);
	expect(!post(joint.client, IBV_WR_SEND_WITH_IMM, {}), "an empty Send");
	arrives(joint, 2, 0, data, of_send);
	expect(joint.client.sends->good(data).opcode == IBV_WC_RDMA_WRITE, "the Write's end");
	expect(joint.client.sends->good(data).opcode == IBV_WC_SEND, "the Send's end");
}

void in_order()
{
	Joint joint = connected();
	Buffer ours(joint.client, 64), theirs(joint.server, 64);

	for (uint64_t i = 0; i < 4; i++)
		joint.server.receive(i, {theirs.region.piece(0, 64)});
	joint.client.post(0, IBV_WR_SEND, {ours.region.piece(0, 5)}, 0);
	post(joint.client, IBV_WR_RDMA_WRITE_WITH_IMM, {ours.region.piece(0, 6)}, 0,
	     theirs.region.target());
	post(joint.client, IBV_WR_SEND_WITH_IMM, {}, 0, {}, 9);
	joint.client.post(3, IBV_WR_SEND, {ours.region.piece(0, 7)}, 0);
	expect(joint.server.receives->good(0).byte_len == 5, "the first Send");
	arrives(joint, 1, 6);
	arrives(joint, 2, 0, 9, of_send);
	expect(joint.server.receives->good(3).byte_len == 7, "the last Send");
}

void solicited()
{
	Joint joint = connected();

	for (unsigned flags : {0u, unsigned{IBV_SEND_SOLICITED}}) {
		joint.server.receives->arm(true);
		joint.server.receive(1, {});
		post(joint.client, IBV_WR_RDMA_WRITE_WITH_IMM, {}, flags);
		joint.client.sends->good(data);
		expect(joint.server.receives->wakes(flags ? patience_ms : 100) == !!flags,
		       "the solicited event");
	}
}

// rdmatcp.rst 13.
void with_a_send_of_rdmatcp()
{
	Joint joint = connected();
	Buffer ours(joint.client, 64), theirs(joint.server, 64);

	ours.fill(3);
	for (uint32_t len : {0u, 1u, 64u}) {
		joint.server.receive(len, {theirs.region.piece(0, 64)});
		expect(!post(joint.client, IBV_WR_SEND_WITH_IMM, {ours.region.piece(0, len)}),
		       "ibv_post_send");
		arrives(joint, len, len, data, of_send);
		expect(std::equal(theirs.octets.begin(), theirs.octets.begin() + len,
				  ours.octets.begin()),
		       "the payload");
	}
}

// RFC 7306 3 has no message with both.
void with_a_send()
{
	Joint joint = connected();
	Buffer ours(joint.client, 64);

	expect(post(joint.client, IBV_WR_SEND_WITH_IMM, {ours.region.piece(0, 1)}) == EOPNOTSUPP,
	       "a Send with payload and Immediate Data is not refused");
	joint.server.receive(1, {});
	expect(!post(joint.client, IBV_WR_SEND_WITH_IMM, {ours.region.piece(0, 0)}),
	       "one of no bytes is refused");
	arrives(joint, 1, 0);
}

// RFC 5041 7.2: no buffer is available.
void without_a_receive()
{
	Joint joint = connected();
	Buffer ours(joint.client, 64), theirs(joint.server, 64);

	post(joint.client, IBV_WR_RDMA_WRITE_WITH_IMM, {ours.region.piece(0, 64)}, 0,
	     theirs.region.target());
	joint.client.await(RDMA_CM_EVENT_DISCONNECTED);
	expect(!joint.server.receives->there(), "there is a completion of a receive");
}

} // namespace

Cases immediate_cases()
{
	return {
		{"RFC 7306 6: a Write with Immediate Data is there when they come", writes},
		{"RFC 7306 6: Immediate Data without payload", without_payload},
		{"RFC 7306 7: Immediate Data is completed in order", in_order},
		{"RFC 7306 4.1: Immediate Data with Solicited Event", solicited},
		settings.rdmatcp ? Case{"rdmatcp.rst 13: a Send with Immediate Data and payload",
					with_a_send_of_rdmatcp}
				 : Case{"RFC 7306 4.2: a Send with Immediate Data has no payload",
					with_a_send},
		{"RFC 5041 7.2: Immediate Data without a receive ends the stream",
		 without_a_receive},
	};
}
