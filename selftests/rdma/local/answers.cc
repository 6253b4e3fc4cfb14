// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Calls of rdma_cm in an order that its manual forbids: an id that is accepted twice, or accepted
// and rejected, or gone at once. ANSWER_ROUNDS: of each.
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <netdb.h>
#include <poll.h>
#include <thread>
#include <unistd.h>

#include "case.hh"
#include "process.hh"

namespace {

constexpr const char *port = "7189";

// Of no id: rdma_cm knows it only by its number.
struct Qp {
	ibv_qp *qp;

	explicit Qp(const Objects &objects)
	{
		ibv_qp_init_attr init{};

		init.send_cq = init.recv_cq = objects.cq;
		init.cap = {4, 4, 1, 1, 0};
		init.qp_type = IBV_QPT_RC;
		qp = ibv_create_qp(objects.pd, &init);
		require(qp, "ibv_create_qp");
	}
	Qp(const Qp &) = delete;
	~Qp() { destroy(); }
	void destroy()
	{
		if (qp)
			require(!ibv_destroy_qp(qp), "ibv_destroy_qp");
		qp = nullptr;
	}
	uint32_t number() const { return qp->qp_num; }
};

// An event channel, whose calls do not wait, and the ids on it.
struct Channel {
	rdma_event_channel *channel = rdma_create_event_channel();

	Channel() { require(channel, "rdma_create_event_channel"); }
	Channel(const Channel &) = delete;
	~Channel() { rdma_destroy_event_channel(channel); }
	// The type of the next event, and its id in *from; -1 if none comes in time.
	int next(rdma_cm_id **from = nullptr, int timeout_ms = 20000) const
	{
		pollfd file{channel->fd, POLLIN, 0};
		rdma_cm_event *event;

		if (poll(&file, 1, timeout_ms) != 1)
			return -1;
		require(!rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
		const int type = event->event;
		if (from)
			*from = event->id;
		rdma_ack_cm_event(event);
		return type;
	}
	void expect(rdma_cm_event_type type, rdma_cm_id **from = nullptr) const
	{
		const int got = next(from);

		require(got == type,
			"event " + std::to_string(got) + " instead of " + rdma_event_str(type));
	}
};

struct Id {
	rdma_cm_id *id = nullptr;

	explicit Id(const Channel &channel)
	{
		require(!rdma_create_id(channel.channel, &id, nullptr, RDMA_PS_TCP),
			"rdma_create_id");
	}
	explicit Id(rdma_cm_id *given) : id(given) {}
	Id(const Id &) = delete;
	~Id() { destroy(); }
	void destroy()
	{
		if (id)
			rdma_destroy_id(id);
		id = nullptr;
	}
};

int answer(rdma_cm_id *id, uint32_t number)
{
	rdma_conn_param param{};

	param.qp_num = number;
	return rdma_accept(id, &param) ? errno : 0;
}

// A client's id that has called rdma_connect() for the address. All in one thread, as programs with
// an event loop: connecting must not wait for the server.
struct Client {
	Channel channel;
	Id id{channel};
	Qp qp;

	explicit Client(const Objects &objects) : qp(objects)
	{
		addrinfo *found;
		rdma_conn_param param{};

		require(!getaddrinfo(address.c_str(), port, nullptr, &found), "getaddrinfo");
		int ret = rdma_resolve_addr(id.id, nullptr, found->ai_addr, 5000);
		freeaddrinfo(found);
		require(!ret, "rdma_resolve_addr");
		channel.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
		require(!rdma_resolve_route(id.id, 5000), "rdma_resolve_route");
		channel.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
		param.qp_num = qp.number();
		require(!rdma_connect(id.id, &param), "rdma_connect");
	}
};

struct Listener {
	Objects objects;
	Channel channel;
	Id id{channel};

	Listener()
	{
		addrinfo *found;

		require(!getaddrinfo(address.c_str(), port, nullptr, &found), "getaddrinfo");
		int ret = rdma_bind_addr(id.id, found->ai_addr) ?: rdma_listen(id.id, 8);
		freeaddrinfo(found);
		require(!ret, "rdma_listen");
	}
	rdma_cm_id *request() const
	{
		rdma_cm_id *from = nullptr;

		channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST, &from);
		return from;
	}
};

// A request that waits for its answer, with two QPs for that.
struct Request {
	Client client;
	Qp first, second;
	Channel channel;
	Id server;

	explicit Request(const Listener &listener)
		: client(listener.objects), first(listener.objects), second(listener.objects),
		  server(listener.request())
	{
		require(!rdma_migrate_id(server.id, channel.channel), "rdma_migrate_id");
	}
	void expect_established() const
	{
		channel.expect(RDMA_CM_EVENT_ESTABLISHED);
		client.channel.expect(RDMA_CM_EVENT_ESTABLISHED);
	}
	// Nothing that came after the first answer has changed the connection.
	void expect_end() const
	{
		require(!rdma_disconnect(server.id), "rdma_disconnect");
		channel.expect(RDMA_CM_EVENT_DISCONNECTED);
		client.channel.expect(RDMA_CM_EVENT_DISCONNECTED);
	}
};

void each_round(const std::function<void(Request &)> &body)
{
	const char *rounds = getenv("ANSWER_ROUNDS");
	Listener listener;

	for (int i = rounds ? atoi(rounds) : 50; i; i--) {
		Request request(listener);

		body(request);
	}
}

void accepted(Request &request)
{
	require(!answer(request.server.id, request.first.number()), "rdma_accept");
}

void refused(int error, const char *what)
{
	require(error == EINVAL, std::string(what) + " after an accept: " + std::to_string(error));
}

// ---- one thread ----

void accepted_twice()
{
	each_round([](Request &request) {
		accepted(request);
		refused(answer(request.server.id, request.first.number()), "accept");
		request.expect_established();
		refused(answer(request.server.id, request.first.number()), "accept");
		request.expect_end();
		refused(answer(request.server.id, request.first.number()), "accept");
	});
}

void accepted_with_another_qp()
{
	each_round([](Request &request) {
		accepted(request);
		refused(answer(request.server.id, request.second.number()), "accept");
		request.second.destroy();
		request.expect_established();
		request.expect_end();
	});
}

void accepted_with_no_qp()
{
	each_round([](Request &request) {
		accepted(request);
		refused(answer(request.server.id, 0xfffffe), "accept");
		request.expect_established();
		request.expect_end();
	});
}

void accepted_and_rejected()
{
	each_round([](Request &request) {
		accepted(request);
		refused(rdma_reject(request.server.id, nullptr, 0) ? errno : 0, "reject");
		request.expect_established();
		refused(rdma_reject(request.server.id, nullptr, 0) ? errno : 0, "reject");
		request.expect_end();
	});
}

void rejected_and_accepted()
{
	each_round([](Request &request) {
		require(!rdma_reject(request.server.id, nullptr, 0), "rdma_reject");
		require(answer(request.server.id, request.first.number()), "accepted");
		request.client.channel.expect(RDMA_CM_EVENT_REJECTED);
	});
}

// The peer, the id or the QP goes between the two accepts, or after them.
void accepted_and_gone()
{
	each_round([](Request &request) {
		const auto what = chance() % 4;

		if (what == 0)
			request.client.qp.destroy();
		answer(request.server.id, request.first.number());
		if (what == 1)
			request.first.destroy();
		if (what == 2)
			request.client.qp.destroy();
		answer(request.server.id, request.second.number());
		if (what == 3)
			request.server.destroy();
	});
}

void connected_twice()
{
	each_round([](Request &request) {
		rdma_conn_param param{};

		param.qp_num = request.second.number();
		require(rdma_connect(request.client.id.id, &param), "a second rdma_connect");
		require(rdma_connect(request.server.id, &param), "rdma_connect of a request");
		accepted(request);
		require(rdma_connect(request.server.id, &param), "rdma_connect after an accept");
		request.expect_established();
		require(rdma_connect(request.client.id.id, &param), "rdma_connect when connected");
		request.expect_end();
	});
}

// ---- more threads ----

void raced(const std::function<int(Request &)> &other)
{
	each_round([&](Request &request) {
		int second = 0;
		std::thread thread([&] { second = other(request); });
		const int first = answer(request.server.id, request.first.number());

		thread.join();
		require((first == 0) != (second == 0),
			"both answers count, or none: " + std::to_string(first) + ", " +
				std::to_string(second));
	});
}

void accepts_race()
{
	raced([](Request &request) { return answer(request.server.id, request.second.number()); });
}

void accept_and_reject_race()
{
	raced([](Request &request) {
		return rdma_reject(request.server.id, nullptr, 0) ? errno : 0;
	});
}

void killed_while_accepting()
{
	for (int i = 0; i < 5; i++) {
		pid_t child = start([] {
			for (Listener listener;;) {
				Request request(listener);

				answer(request.server.id, request.first.number());
				answer(request.server.id, request.second.number());
				rdma_reject(request.server.id, nullptr, 0);
			}
		});

		usleep(100000 + chance() % 200000);
		kill_alive(child);
	}
}

} // namespace

Cases answer_cases()
{
	return {
		{"an id is accepted twice", accepted_twice},
		{"an id is accepted twice, with two QPs", accepted_with_another_qp},
		{"an id is accepted again, with a QP that is not there", accepted_with_no_qp},
		{"an id is accepted and rejected", accepted_and_rejected},
		{"an id is rejected and accepted", rejected_and_accepted},
		{"an id is accepted twice, and peer, QP or id go meanwhile", accepted_and_gone},
		{"an id is connected twice, or connected and accepted", connected_twice},
		{"two threads accept an id", accepts_race},
		{"one thread accepts an id and another rejects it", accept_and_reject_race},
		{"kill -9 while accepting twice", killed_while_accepting},
	};
}
