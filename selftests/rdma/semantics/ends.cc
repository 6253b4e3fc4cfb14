// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Both ends of a connection in one process.
#include "ends.hh"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

namespace {

bool readable(int fd, int within_ms)
{
	pollfd wanted = {fd, POLLIN, 0};

	return poll(&wanted, 1, within_ms) > 0;
}

int open_namespace(const std::string &path)
{
	const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);

	need(fd >= 0, path.c_str());
	return fd;
}

// This thread is in the namespace; objects created meanwhile stay there. (An id stays where it was
// created; siw's sockets are where the caller is.)
struct Visit {
	int home = open_namespace("/proc/thread-self/ns/net");

	explicit Visit(const std::string &ns)
	{
		const int there = open_namespace("/run/netns/" + ns);

		need(!setns(there, CLONE_NEWNET), "setns");
		close(there);
	}
	~Visit()
	{
		if (setns(home, CLONE_NEWNET))
			abort();
		close(home);
	}
};

sockaddr_in sockaddr_of(const Place &place, uint16_t port = 0) // port: as in the network
{
	sockaddr_in out{};

	out.sin_family = AF_INET;
	out.sin_port = port;
	need(inet_pton(AF_INET, place.address.c_str(), &out.sin_addr) == 1, "inet_pton");
	return out;
}

rdma_cm_id *make_id(rdma_event_channel *&events)
{
	rdma_cm_id *id;

	need((events = rdma_create_event_channel()), "rdma_create_event_channel");
	need(!rdma_create_id(events, &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
	return id;
}

CmEvent next_of_type(rdma_event_channel *events, rdma_cm_event_type type)
{
	const CmEvent event = next_event(events, patience_ms);

	if (event.type != type)
		throw Broken(std::string(rdma_event_str(event.type)) + " instead of " +
			     rdma_event_str(type));
	return event;
}

rdma_cm_id *listen_at(const Place &place, rdma_event_channel *&events)
{
	const Visit visit(place.ns);
	rdma_cm_id *id = make_id(events);
	sockaddr_in at = sockaddr_of(place);

	need(!rdma_bind_addr(id, reinterpret_cast<sockaddr *>(&at)), "rdma_bind_addr");
	need(!rdma_listen(id, 1), "rdma_listen");
	return id;
}

rdma_cm_id *resolve(const Place &from, const Place &to, uint16_t port, rdma_event_channel *&events)
{
	rdma_cm_id *id = make_id(events);
	sockaddr_in source = sockaddr_of(from), destination = sockaddr_of(to, port);

	const int ret = rdma_resolve_addr(id, reinterpret_cast<sockaddr *>(&source),
					  reinterpret_cast<sockaddr *>(&destination), 5000);
	need(!ret, "rdma_resolve_addr");
	next_of_type(events, RDMA_CM_EVENT_ADDR_RESOLVED);
	need(!rdma_resolve_route(id, 5000), "rdma_resolve_route");
	next_of_type(events, RDMA_CM_EVENT_ROUTE_RESOLVED);
	return id;
}

rdma_conn_param depths(uint8_t reads)
{
	rdma_conn_param param{};

	param.initiator_depth = param.responder_resources = reads;
	return param;
}

} // namespace

void need(bool worked, const char *what)
{
	if (!worked)
		throw Broken(std::string(what) + ": " + strerror(errno));
}

void expect(bool condition, const std::string &what)
{
	if (!condition)
		throw Wrong(what);
}

// ---- completions ----

Completions::Completions(ibv_context *verbs, int entries)
{
	need((channel = ibv_create_comp_channel(verbs)), "ibv_create_comp_channel");
	need((cq = ibv_create_cq(verbs, entries, nullptr, channel, 0)), "ibv_create_cq");
}

Completions::~Completions()
{
	ibv_destroy_cq(cq);
	ibv_destroy_comp_channel(channel);
}

std::optional<ibv_wc> Completions::there()
{
	ibv_wc wc;
	const int n = ibv_poll_cq(cq, 1, &wc);

	need(n >= 0, "ibv_poll_cq");
	return n ? std::optional(wc) : std::nullopt;
}

ibv_wc Completions::next(int within_ms)
{
	for (;;) {
		if (auto wc = there())
			return *wc;
		arm(false);
		if (auto wc = there())
			return *wc;
		if (!wakes(within_ms))
			throw Stalled("no completion");
	}
}

ibv_wc Completions::good(uint64_t wr_id)
{
	const ibv_wc wc = next();

	if (wc.status != IBV_WC_SUCCESS)
		throw Broken("request " + std::to_string(wc.wr_id) + ": " +
			     ibv_wc_status_str(wc.status));
	expect(wc.wr_id == wr_id,
	       "request " + std::to_string(wc.wr_id) + " completes, not " + std::to_string(wr_id));
	return wc;
}

void Completions::arm(bool solicited)
{
	need(!ibv_req_notify_cq(cq, solicited), "ibv_req_notify_cq");
}

bool Completions::wakes(int within_ms)
{
	void *context;
	ibv_cq *of;

	if (within_ms >= 0 && !readable(channel->fd, within_ms))
		return false;
	need(!ibv_get_cq_event(channel, &of, &context), "ibv_get_cq_event");
	ibv_ack_cq_events(of, 1);
	return true;
}

// ---- one end ----

void End::share(const End &other)
{
	sends = other.sends;
	receives = other.receives;
}

void End::adopt(rdma_cm_id *found, int entries)
{
	ibv_qp_init_attr attr{};

	id = found;
	if (!sends) {
		sends = std::make_shared<Completions>(id->verbs, entries);
		receives = std::make_shared<Completions>(id->verbs, entries);
	}
	attr.cap = {128, 128, 6, 6, inline_len};
	attr.qp_type = IBV_QPT_RC;
	attr.send_cq = sends->cq;
	attr.recv_cq = receives->cq;
	need(!rdma_create_qp(id, nullptr, &attr), "rdma_create_qp");
}

End::~End()
{
	if (id) {
		destroy_qp();
		sends.reset();
		receives.reset();
		rdma_destroy_id(id);
	}
	if (events)
		rdma_destroy_event_channel(events);
}

void End::destroy_qp()
{
	if (id->qp)
		rdma_destroy_qp(id);
}

void End::post(uint64_t wr_id, ibv_wr_opcode opcode, std::vector<ibv_sge> list, unsigned flags,
	       Target remote)
{
	ibv_send_wr wr{}, *bad;

	wr.wr_id = wr_id;
	wr.opcode = opcode;
	wr.sg_list = list.data();
	wr.num_sge = static_cast<int>(list.size());
	wr.send_flags = flags;
	wr.wr.rdma.remote_addr = remote.addr;
	wr.wr.rdma.rkey = remote.rkey;
	need(!(errno = ibv_post_send(id->qp, &wr, &bad)), "ibv_post_send");
}

void End::receive(uint64_t wr_id, std::vector<ibv_sge> list)
{
	ibv_recv_wr wr{}, *bad;

	wr.wr_id = wr_id;
	wr.sg_list = list.data();
	wr.num_sge = static_cast<int>(list.size());
	need(!(errno = ibv_post_recv(id->qp, &wr, &bad)), "ibv_post_recv");
}

void End::modify(ibv_qp_state to)
{
	ibv_qp_attr attr{};

	attr.qp_state = to;
	need(!ibv_modify_qp(id->qp, &attr, IBV_QP_STATE), "ibv_modify_qp");
}

ibv_qp_state End::state() const
{
	ibv_qp_init_attr init;
	ibv_qp_attr attr;

	need(!ibv_query_qp(id->qp, &attr, IBV_QP_STATE, &init), "ibv_query_qp");
	return attr.qp_state;
}

ibv_event_type End::async_event() const
{
	ibv_async_event event;

	if (!readable(id->verbs->async_fd, patience_ms))
		throw Stalled("no asynchronous event");
	need(!ibv_get_async_event(id->verbs, &event), "ibv_get_async_event");
	ibv_ack_async_event(&event);
	expect(event.element.qp == id->qp, "an asynchronous event of another QP");
	return event.event_type;
}

void End::await(rdma_cm_event_type type) const
{
	while (next_event(events, patience_ms).type != type)
		;
}

rdma_cm_id *End::listen(const Place &at) { return listen_at(at, events); }

void End::connect(const Place &to, const Place &from, uint16_t port, uint8_t reads, int entries)
{
	rdma_conn_param param = depths(reads);
	const Visit visit(from.ns);

	adopt(resolve(from, to, port, events), entries);
	need(!rdma_connect(id, &param), "rdma_connect");
}

void End::requested(int entries)
{
	adopt(next_of_type(events, RDMA_CM_EVENT_CONNECT_REQUEST).id, entries);
}

void End::accept(uint8_t reads)
{
	rdma_conn_param param = depths(reads);

	need(!rdma_accept(id, &param), "rdma_accept");
}

void End::established() const { next_of_type(events, RDMA_CM_EVENT_ESTABLISHED); }

Joint::Joint(const Place &to, const Place &from, uint8_t reads, int entries,
	     const Joint *with_cqs_of)
{
	rdma_cm_id *listener = server.listen(to);

	if (with_cqs_of) {
		client.share(with_cqs_of->client);
		server.share(with_cqs_of->server);
	}
	client.connect(to, from, rdma_get_src_port(listener), reads, entries);
	server.requested(entries);
	server.accept(reads);
	client.established(); // on InfiniBand librdmacm answers here, and the server waits for it
	server.established();
	rdma_destroy_id(listener);
}

// ---- memory ----

Region::Region(const End &end, void *memory, size_t len, int access)
	: mr(ibv_reg_mr(end.id->pd, memory, len, access)), at(static_cast<uint8_t *>(memory))
{
	need(mr, "ibv_reg_mr");
}

void Region::revoke()
{
	if (mr)
		need(!(errno = ibv_dereg_mr(mr)), "ibv_dereg_mr");
	mr = nullptr;
}

ibv_sge Region::piece(size_t offset, uint32_t len) const
{
	return {reinterpret_cast<uintptr_t>(at + offset), len, mr->lkey};
}

Target Region::target(size_t offset) const
{
	return {reinterpret_cast<uintptr_t>(at + offset), mr->rkey};
}
