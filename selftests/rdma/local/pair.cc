// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Connected pairs, and finding the rings.
#include "pair.hh"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

void require(bool condition, const std::string &what)
{
	if (!condition)
		throw Failure(what);
}

std::vector<Ring> mapped_rings()
{
	std::ifstream maps("/proc/self/maps");
	std::vector<Ring> rings;

	for (std::string line; std::getline(maps, line);) {
		unsigned long from = 0, to = 0, offset = 0;

		if (line.find("infiniband/uverbs") == line.npos ||
		    sscanf(line.c_str(), "%lx-%lx %*s %lx", &from, &to, &offset) != 3)
			continue;
		auto *header = reinterpret_cast<volatile srnic_ring_hdr *>(from);
		if (header->magic == SRNIC_RING_MAGIC)
			rings.push_back(
				{header,
				 reinterpret_cast<uint8_t *>(from) + SRNIC_RING_SLOTS_OFFSET,
				 to - from - SRNIC_RING_SLOTS_OFFSET, offset});
	}
	return rings;
}

void End::adopt(rdma_cm_id *connected)
{
	id = connected;
	mr = ibv_reg_mr(id->pd, buffer.data(), buffer.size(),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	require(mr, "ibv_reg_mr");
}

End::~End()
{
	if (mr)
		ibv_dereg_mr(mr);
	if (id)
		rdma_destroy_ep(id);
}

int End::post_recv(uint64_t wr_id, uint32_t len, uint32_t lkey_flip)
{
	ibv_sge list = sge(len);
	ibv_recv_wr wr{}, *bad;

	list.lkey ^= lkey_flip;
	wr.wr_id = wr_id;
	wr.sg_list = &list;
	wr.num_sge = 1;
	return ibv_post_recv(id->qp, &wr, &bad);
}

int End::post_send(uint64_t wr_id, uint32_t len, uint32_t lkey_flip)
{
	ibv_sge list = sge(len);
	ibv_send_wr wr{}, *bad;

	list.lkey ^= lkey_flip;
	wr.wr_id = wr_id;
	wr.sg_list = &list;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_SIGNALED;
	return ibv_post_send(id->qp, &wr, &bad);
}

int End::post_write(uint64_t wr_id, uint32_t len, const End &peer)
{
	return post_write_to(wr_id, len, reinterpret_cast<uintptr_t>(peer.buffer.data()),
			     peer.mr->rkey);
}

int End::post_write_to(uint64_t wr_id, uint32_t len, uint64_t remote_addr, uint32_t rkey)
{
	ibv_sge list = sge(len);
	ibv_send_wr wr{}, *bad;

	wr.wr_id = wr_id;
	wr.sg_list = &list;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = remote_addr;
	wr.wr.rdma.rkey = rkey;
	return ibv_post_send(id->qp, &wr, &bad);
}

int End::modify_to_error()
{
	ibv_qp_attr attr{};

	attr.qp_state = IBV_QPS_ERR;
	return ibv_modify_qp(id->qp, &attr, IBV_QP_STATE);
}

void End::ring_doorbell()
{
	struct {
		ib_uverbs_cmd_hdr hdr;
		ib_uverbs_post_send cmd;
	} call{};
	ib_uverbs_post_send_resp resp{};

	call.hdr = {IB_USER_VERBS_CMD_POST_SEND, sizeof(call) / 4, sizeof(resp) / 4};
	call.cmd.response = reinterpret_cast<uintptr_t>(&resp);
	call.cmd.qp_handle = id->qp->handle;
	call.cmd.wqe_size = sizeof(ib_uverbs_send_wr);
	require(write(id->verbs->cmd_fd, &call, sizeof(call)) == sizeof(call), "doorbell");
}

std::optional<ibv_wc> End::completion(bool receive, int timeout_ms)
{
	auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
	ibv_wc wc;

	for (;;) {
		// Arm before polling, so that no completion is missed.
		const bool over = std::chrono::steady_clock::now() >= end;

		if (ibv_poll_cq(receive ? id->recv_cq : id->send_cq, 1, &wc) == 1)
			return wc;
		if (over)
			return {};
		std::this_thread::yield();
	}
}

rdma_cm_id *create_ep(const std::string &address, int flags, const char *port,
		      const ibv_qp_cap &cap)
{
	rdma_addrinfo hints{}, *found;
	ibv_qp_init_attr attr{};
	rdma_cm_id *id = nullptr;

	hints.ai_flags = flags;
	hints.ai_port_space = RDMA_PS_TCP;
	attr.cap = cap;
	attr.qp_type = IBV_QPT_RC;
	require(!rdma_getaddrinfo(address.c_str(), port, &hints, &found), "rdma_getaddrinfo");
	int ret = rdma_create_ep(&id, found, nullptr, &attr);
	rdma_freeaddrinfo(found);
	require(!ret, "rdma_create_ep");
	return id;
}

void join(End &client, End &server, const std::function<rdma_cm_id *(int flags)> &create,
	  const std::function<void()> &ready)
{
	rdma_cm_id *listener = create(RAI_PASSIVE);

	require(!rdma_listen(listener, 1), "rdma_listen");
	std::thread accepting([&] {
		rdma_cm_id *id;

		if (rdma_get_request(listener, &id))
			return;
		server.adopt(id);
		ready();
		rdma_accept(id, nullptr);
	});
	client.adopt(create(0));
	int ret = rdma_connect(client.id, nullptr);
	accepting.join();
	rdma_destroy_ep(listener);
	require(!ret && server.id, "rdma_connect");
}

Pair::Pair(const std::string &address)
{
	const size_t before = mapped_rings().size();

	join(client, server, [&](int flags) { return create_ep(address, flags); });
	rings = mapped_rings();
	require(rings.size() >= before + 8,
		"each end maps a send queue, a receive queue and two CQs");
}

void Pair::exercise()
{
	for (uint32_t i = 0; i < 16; i++) {
		memset(client.buffer.data(), static_cast<int>('a' + i), 4096);
		memset(server.buffer.data(), 0, 4096);
		require(!server.post_recv(i, 4096) && !client.post_send(i, 4096), "posting");
		auto sent = client.completion(false), got = server.completion(true);
		require(sent && sent->status == IBV_WC_SUCCESS && got &&
				got->status == IBV_WC_SUCCESS,
			"a Send");
		require(got->byte_len == 4096 && client.buffer == server.buffer,
			"the octets of a Send");
	}
}
