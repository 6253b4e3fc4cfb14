// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Queue pairs, work requests and the connection manager's events, for the victim's program.
#include "verbs.hh"

#include <arpa/inet.h>
#include <poll.h>

namespace victim {

void need(int ret, const char *name)
{
	if (ret)
		throw std::runtime_error(std::string(name) + ": " +
					 std::strerror(ret > 0 ? ret : errno));
}

bool readable(int fd, int ms)
{
	pollfd p = {fd, POLLIN, 0};

	return poll(&p, 1, ms) > 0;
}

void create_qp(rdma_cm_id *id, ibv_pd *pd, ibv_cq *cq)
{
	ibv_qp_init_attr attr = {};

	attr.send_cq = attr.recv_cq = cq;
	attr.cap = {queue, queue, 1, 1, 0};
	attr.qp_type = IBV_QPT_RC;
	attr.sq_sig_all = 1;
	need(rdma_create_qp(id, pd, &attr), "rdma_create_qp");
}

ibv_sge sge_of(const void *at, u32 len, const ibv_mr *mr)
{
	return {reinterpret_cast<std::uintptr_t>(at), len, mr->lkey};
}

void post_receive(ibv_qp *qp, ibv_sge sge, u64 id)
{
	ibv_recv_wr wr = {}, *bad;

	wr.wr_id = id;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	need(ibv_post_recv(qp, &wr, &bad), "ibv_post_recv");
}

void post_send(ibv_qp *qp, ibv_wr_opcode opcode, ibv_sge sge, u64 remote, u32 rkey)
{
	ibv_send_wr wr = {}, *bad;

	wr.opcode = opcode;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.rdma.remote_addr = remote;
	wr.wr.rdma.rkey = rkey;
	need(ibv_post_send(qp, &wr, &bad), "ibv_post_send");
}

Event next_event(rdma_event_channel *channel, int ms)
{
	rdma_cm_event *raw;
	Event out;

	if (!readable(channel->fd, ms) || rdma_get_cm_event(channel, &raw))
		return out;
	out.there = true;
	out.type = raw->event;
	out.status = raw->status;
	out.id = raw->id;
	if (raw->event == RDMA_CM_EVENT_CONNECT_REQUEST ||
	    raw->event == RDMA_CM_EVENT_ESTABLISHED) {
		out.depth = raw->param.conn.initiator_depth;
		out.resources = raw->param.conn.responder_resources;
	}
	if (raw->event == RDMA_CM_EVENT_CONNECT_REQUEST || raw->event == RDMA_CM_EVENT_REJECTED) {
		const u8 *data = static_cast<const u8 *>(raw->param.conn.private_data);

		if (data)
			out.data.assign(data, data + raw->param.conn.private_data_len);
	}
	rdma_ack_cm_event(raw);
	return out;
}

Event want_event(rdma_event_channel *channel, rdma_cm_event_type type)
{
	Event event = next_event(channel, patience);

	if (!event.there || event.type != type)
		throw std::runtime_error("wanted " + std::string(rdma_event_str(type)) + ", got " +
					 event.name() + " " + std::to_string(event.status));
	return event;
}

namespace {

sockaddr_in address(const char *host, unsigned port)
{
	sockaddr_in out = {};

	out.sin_family = AF_INET;
	out.sin_port = htons(static_cast<std::uint16_t>(port));
	if (inet_pton(AF_INET, host, &out.sin_addr) != 1)
		throw std::runtime_error("bad address");
	return out;
}

rdma_cm_id *create_id(rdma_event_channel *channel)
{
	rdma_cm_id *id;

	need(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
	return id;
}

} // namespace

rdma_cm_id *listen_on(rdma_event_channel *channel, const char *host, unsigned port)
{
	sockaddr_in addr = address(host, port);
	rdma_cm_id *id = create_id(channel);

	need(rdma_bind_addr(id, reinterpret_cast<sockaddr *>(&addr)), "rdma_bind_addr");
	need(rdma_listen(id, 64), "rdma_listen");
	return id;
}

// rdma_cm may miss a neighbour until its timeout (faults/carrier.cc), which must be shorter than
// ours.
rdma_cm_id *resolve(rdma_event_channel *channel, const char *host, unsigned port)
{
	sockaddr_in addr = address(host, port);
	rdma_cm_id *id = create_id(channel);

	need(rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr *>(&addr), patience / 2),
	     "rdma_resolve_addr");
	want_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	need(rdma_resolve_route(id, patience / 2), "rdma_resolve_route");
	want_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	return id;
}

rdma_conn_param depths()
{
	rdma_conn_param param = {};

	param.responder_resources = param.initiator_depth = 4;
	param.retry_count = 7;
	return param;
}

} // namespace victim
