// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Calls of librdmacm, from an id to the end of a connection from the device to itself, and requests
// posted on one.
#include "calls.hh"

#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <thread>

#include <infiniband/verbs.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>

namespace {

constexpr int patience_ms = 15000;

struct Id {
	rdma_event_channel *events = rdma_create_event_channel();
	rdma_cm_id *id = nullptr;

	Id()
	{
		need(events && !rdma_create_id(events, &id, nullptr, RDMA_PS_TCP),
		     "rdma_create_id");
	}
	Id(const Id &) = delete;
	~Id()
	{
		if (id && id->qp)
			rdma_destroy_ep(id); // and the CQs that rdma_create_qp made
		else if (id)
			rdma_destroy_id(id);
		rdma_destroy_event_channel(events);
	}
};

rdma_cm_event_type event_of(rdma_event_channel *events, rdma_cm_id **id = nullptr)
{
	pollfd wanted = {events->fd, POLLIN, 0};
	rdma_cm_event *event;

	if (poll(&wanted, 1, patience_ms) <= 0)
		throw std::runtime_error("no connection event came");
	need(!rdma_get_cm_event(events, &event), "rdma_get_cm_event");
	const rdma_cm_event_type type = event->event;
	if (id)
		*id = event->id;
	rdma_ack_cm_event(event);
	return type;
}

void need_event(rdma_event_channel *events, rdma_cm_event_type type, rdma_cm_id **id = nullptr)
{
	const rdma_cm_event_type came = event_of(events, id);

	if (came != type)
		throw std::runtime_error(std::string(rdma_event_str(came)) + " instead of " +
					 rdma_event_str(type));
}

struct Address {
	rdma_addrinfo *found = nullptr;

	explicit Address(const std::string &name)
	{
		rdma_addrinfo hints{};

		hints.ai_flags = RAI_PASSIVE | RAI_NUMERICHOST;
		hints.ai_port_space = RDMA_PS_TCP;
		need(!rdma_getaddrinfo(name.c_str(), "7198", &hints, &found), "rdma_getaddrinfo");
	}
	~Address() { rdma_freeaddrinfo(found); }
	sockaddr *get() const { return found->ai_src_addr; }
};

void make_queues(rdma_cm_id *id)
{
	ibv_qp_init_attr attr{};

	attr.cap = {64, 64, 4, 4, 64};
	attr.qp_type = IBV_QPT_RC;
	need(!rdma_create_qp(id, nullptr, &attr), "rdma_create_qp");
}

rdma_conn_param parameters()
{
	static const char words[] = "private data of this connection";
	rdma_conn_param param{};

	param.initiator_depth = param.responder_resources = 4;
	param.private_data = words;
	param.private_data_len = sizeof(words);
	return param;
}

// Both ends of a connection in progress.
struct Meeting {
	const Address address;
	Id listener;
	std::unique_ptr<Id> client;
	rdma_cm_id *server = nullptr;

	explicit Meeting(const std::string &name) : address(name) {}
	~Meeting()
	{
		client.reset();
		if (server && server->qp)
			rdma_destroy_ep(server);
		else if (server)
			rdma_destroy_id(server);
	}
	void bind() { need(!rdma_bind_addr(listener.id, address.get()), "rdma_bind_addr"); }
	void listen() { bind(), need(!rdma_listen(listener.id, 8), "rdma_listen"); }
	void resolve()
	{
		client = std::make_unique<Id>();
		need(!rdma_resolve_addr(client->id, nullptr, address.get(), patience_ms),
		     "rdma_resolve_addr");
		need_event(client->events, RDMA_CM_EVENT_ADDR_RESOLVED);
	}
	void route()
	{
		resolve();
		need(!rdma_resolve_route(client->id, patience_ms), "rdma_resolve_route");
		need_event(client->events, RDMA_CM_EVENT_ROUTE_RESOLVED);
	}
	int connect()
	{
		rdma_conn_param param = parameters();

		return errno_of(rdma_connect(client->id, &param));
	}
	int accept()
	{
		rdma_conn_param param = parameters();

		return errno_of(rdma_accept(server, &param));
	}
	void request() { need_event(listener.events, RDMA_CM_EVENT_CONNECT_REQUEST, &server); }
	// connect(), and all steps before accept().
	void until_accept()
	{
		listen();
		route();
		make_queues(client->id);
		need(!connect(), "rdma_connect");
		request();
		make_queues(server);
	}
	void until_connected()
	{
		until_accept();
		need(!accept(), "rdma_accept");
		established();
	}
	void established()
	{
		need_event(client->events, RDMA_CM_EVENT_ESTABLISHED);
		need_event(listener.events, RDMA_CM_EVENT_ESTABLISHED);
	}
};

std::shared_ptr<Meeting> meeting;

using Stage = std::function<void(Meeting &)>;

// A call on a meeting that ready has prepared; done: what follows if the call worked.
Verb meeting_verb(const Place &place, const char *name, Stage ready,
		  std::function<int(Meeting &)> call, Stage done)
{
	return {name,
		[=] {
			meeting = std::make_shared<Meeting>(place.address);
			ready(*meeting);
		},
		[=] { return call(*meeting); },
		[=] { done(*meeting); },
		[] { meeting.reset(); },
		true};
}

void nothing_more(Meeting &) {}

// connect() worked: now the other end accepts.
void go_on_from_connect(Meeting &m)
{
	m.request();
	make_queues(m.server);
	need(!m.accept(), "rdma_accept");
	m.established();
}

int create_id(Meeting &m)
{
	rdma_cm_id *id;
	const int ret = rdma_create_id(m.listener.events, &id, nullptr, RDMA_PS_TCP);

	return ret ? errno : errno_of(rdma_destroy_id(id));
}

int create_queues(rdma_cm_id *id)
{
	try {
		make_queues(id);
	} catch (const std::runtime_error &) {
		return errno ?: EPROTO;
	}
	return 0;
}

// Takes the pending event. If the library cannot handle a request it rejects it and waits for the
// next event, so the channel must not block.
int get_event(Meeting &m)
{
	rdma_cm_event *event;

	if (rdma_get_cm_event(m.listener.events, &event))
		return errno;
	m.server = event->id;
	return errno_of(rdma_ack_cm_event(event));
}

// ---- transfers ----

constexpr uint32_t piece = 1 << 17;

struct Regions {
	std::vector<uint8_t> from = std::vector<uint8_t>(piece), to = std::vector<uint8_t>(piece);
	ibv_mr *from_mr = nullptr, *to_mr = nullptr;
};

std::shared_ptr<Regions> regions;

void connect_with_regions(Meeting &m)
{
	const int access =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

	m.until_connected();
	regions = std::make_shared<Regions>();
	for (size_t i = 0; i < piece; i++)
		regions->from[i] = i * 31 + i / 256;
	regions->from_mr = ibv_reg_mr(m.client->id->pd, regions->from.data(), piece, access);
	regions->to_mr = ibv_reg_mr(m.client->id->pd, regions->to.data(), piece, access);
	need(regions->from_mr && regions->to_mr, "ibv_reg_mr");
}

int post(Meeting &m, ibv_wr_opcode opcode, uint32_t len)
{
	const bool read = opcode == IBV_WR_RDMA_READ;
	const ibv_mr *local = read ? regions->to_mr : regions->from_mr,
		     *remote = read ? regions->from_mr : regions->to_mr;
	ibv_sge list = {reinterpret_cast<uintptr_t>(local->addr), len, local->lkey};
	ibv_send_wr wr{}, *bad;

	wr.sg_list = &list;
	wr.num_sge = 1;
	wr.opcode = opcode;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma = {reinterpret_cast<uintptr_t>(remote->addr), remote->rkey};
	return ibv_post_send(m.client->id->qp, &wr, &bad);
}

// One successful completion, whatever was refused before.
void complete(Meeting &m, uint32_t len)
{
	ibv_wc wc{};
	int n = 0;

	for (int i = 0; i < patience_ms && !(n = ibv_poll_cq(m.client->id->send_cq, 1, &wc)); i++)
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	if (n != 1)
		throw std::runtime_error("no completion came");
	if (wc.status != IBV_WC_SUCCESS)
		throw std::runtime_error(std::string("completed with ") +
					 ibv_wc_status_str(wc.status));
	for (int i = 0; i < patience_ms && memcmp(regions->from.data(), regions->to.data(), len);
	     i++)
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	if (memcmp(regions->from.data(), regions->to.data(), len))
		throw std::runtime_error("the octets did not arrive");
	if (ibv_poll_cq(m.client->id->send_cq, 1, &wc))
		throw std::runtime_error("a request that was refused is completed as well");
}

Verb transfer(const Place &place, const char *name, ibv_wr_opcode opcode, uint32_t len)
{
	Verb verb = meeting_verb(
		place, name, connect_with_regions, [=](Meeting &m) { return post(m, opcode, len); },
		[=](Meeting &m) { complete(m, len); });

	verb.spent = false;
	verb.clean = [] {
		ibv_dereg_mr(regions->from_mr);
		ibv_dereg_mr(regions->to_mr);
		meeting.reset();
	};
	return verb;
}

} // namespace

std::vector<Verb> connection_verbs(const Place &place)
{
	const auto verb = [&](const char *name, Stage ready, std::function<int(Meeting &)> call,
			      Stage done) { return meeting_verb(place, name, ready, call, done); };

	return {
		verb("rdma_create_id", nothing_more, create_id, nothing_more),
		verb(
			"rdma_bind_addr", nothing_more,
			[](Meeting &m) {
				return errno_of(rdma_bind_addr(m.listener.id, m.address.get()));
			},
			nothing_more),
		verb(
			"rdma_listen", [](Meeting &m) { m.bind(); },
			[](Meeting &m) { return errno_of(rdma_listen(m.listener.id, 8)); },
			[](Meeting &m) {
				m.route();
				make_queues(m.client->id);
				need(!m.connect(), "rdma_connect");
				go_on_from_connect(m);
			}),
		verb(
			"rdma_resolve_addr", [](Meeting &m) { m.client = std::make_unique<Id>(); },
			[](Meeting &m) {
				return errno_of(rdma_resolve_addr(m.client->id, nullptr,
								  m.address.get(), patience_ms));
			},
			[](Meeting &m) { event_of(m.client->events); }),
		verb(
			"rdma_resolve_route", [](Meeting &m) { m.resolve(); },
			[](Meeting &m) {
				return errno_of(rdma_resolve_route(m.client->id, patience_ms));
			},
			[](Meeting &m) { event_of(m.client->events); }),
		verb(
			"rdma_create_qp", [](Meeting &m) { m.route(); },
			[](Meeting &m) { return create_queues(m.client->id); }, nothing_more),
		verb(
			"rdma_connect",
			[](Meeting &m) { m.listen(), m.route(), make_queues(m.client->id); },
			[](Meeting &m) { return m.connect(); }, go_on_from_connect),
		verb(
			"rdma_get_cm_event (CONNECT_REQUEST)",
			[](Meeting &m) {
				m.listen(), m.route(), make_queues(m.client->id);
				need(!m.connect(), "rdma_connect");
				pollfd wanted = {m.listener.events->fd, POLLIN, 0};
				need(poll(&wanted, 1, patience_ms) == 1,
				     "no connection event came");
				fcntl(wanted.fd, F_SETFL, O_NONBLOCK);
			},
			get_event, nothing_more),
		verb(
			"rdma_accept", [](Meeting &m) { m.until_accept(); },
			[](Meeting &m) { return m.accept(); }, [](Meeting &m) { m.established(); }),
		verb(
			"rdma_reject", [](Meeting &m) { m.until_accept(); },
			[](Meeting &m) { return errno_of(rdma_reject(m.server, "no", 2)); },
			[](Meeting &m) { need_event(m.client->events, RDMA_CM_EVENT_REJECTED); }),
		verb(
			"rdma_disconnect", [](Meeting &m) { m.until_connected(); },
			[](Meeting &m) { return errno_of(rdma_disconnect(m.client->id)); },
			[](Meeting &m) {
				need_event(m.listener.events, RDMA_CM_EVENT_DISCONNECTED);
			}),
	};
}

Verb long_write(const Place &place)
{
	return transfer(place, "ibv_post_send, RDMA Write of 128 KiB", IBV_WR_RDMA_WRITE, piece);
}

std::vector<Verb> transfer_verbs(const Place &place)
{
	return {
		transfer(place, "ibv_post_send, RDMA Write of 100 octets", IBV_WR_RDMA_WRITE, 100),
		long_write(place),
		transfer(place, "ibv_post_send, RDMA Read of 128 KiB", IBV_WR_RDMA_READ, piece),
	};
}
