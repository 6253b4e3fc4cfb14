// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Both ends of the victim's good connection: attacks on another connection may not harm it.
#pragma once

#include "arena.hh"

namespace victim {

class Good {
public:
	Good(ibv_pd *protection, const char *host) : pd(protection), completions(pd->context)
	{
		rdma_conn_param param = depths();

		channel = need(rdma_create_event_channel(), "rdma_create_event_channel");
		rdma_cm_id *listener = listen_on(channel, host, 7191);

		client = resolve(channel, host, 7191);
		create_qp(client, pd, completions.cq);
		need(rdma_connect(client, &param), "rdma_connect");
		server = want_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST).id;
		create_qp(server, pd, completions.cq);
		need(rdma_accept(server, &param), "rdma_accept");
		want_event(channel, RDMA_CM_EVENT_ESTABLISHED);
		want_event(channel, RDMA_CM_EVENT_ESTABLISHED);
		rdma_destroy_id(listener);
		mr = need(ibv_reg_mr(pd, buffers, sizeof(buffers), remote_both), "ibv_reg_mr");
	}

	// Send, Write and Read to the other end, and a Send back: "ok" or an error.
	std::string ping_pong()
	{
		u8 *near = buffers[0], *far = buffers[1], *back = buffers[2];

		for (u8 &octet : buffers[0])
			octet = static_cast<u8>(&octet - near + ++round);
		std::memset(far, 0, 2 * sizeof(buffers[1]));
		try {
			post_receive(server->qp, sge(far + 64, 64), 1);
			post_receive(client->qp, sge(back + 64, 64), 1);
			post_send(client->qp, IBV_WR_RDMA_WRITE, sge(near, 64), at(far), mr->rkey);
			post_send(client->qp, IBV_WR_RDMA_READ, sge(back, 64), at(far), mr->rkey);
			post_send(client->qp, IBV_WR_SEND, sge(near + 64, 64));
			collect(4);
			post_send(server->qp, IBV_WR_SEND, sge(far + 64, 64));
			collect(2);
		} catch (const std::exception &e) {
			return e.what();
		}
		if (next_event(channel, 0).there)
			return "event";
		return std::memcmp(near, far, 128) || std::memcmp(near, back, 128) ? "damaged"
										   : "ok";
	}

private:
	ibv_pd *pd;
	Completions completions;
	rdma_event_channel *channel;
	rdma_cm_id *client, *server;
	ibv_mr *mr;
	u8 buffers[3][128];
	u8 round = 0;

	ibv_sge sge(const u8 *at, u32 len) const { return sge_of(at, len, mr); }
	static u64 at(const u8 *where) { return reinterpret_cast<std::uintptr_t>(where); }

	void collect(int count)
	{
		ibv_wc wc;

		while (count--) {
			if (!completions.next(&wc, patience))
				throw std::runtime_error("stuck");
			if (wc.status)
				throw std::runtime_error("status-" + std::to_string(wc.status));
		}
	}
};

} // namespace victim
