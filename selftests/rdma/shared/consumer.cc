// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Maps rdma_cm's events to the few that the cases need; and sockets.
#include "consumer.hh"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../local/pair.hh"

using namespace std::string_literals;

const std::string good_request = "MPA ID Req Frame\x50\x02\0\x04\xc0\x01\xc0\x01"s;
const std::string good_reply = "MPA ID Rep Frame\x50\x02\0\x04\xc0\x01\xc0\x01"s;

int reply_flags(const std::string &octets)
{
	return octets.size() >= 20 && octets.starts_with("MPA ID Rep Frame")
		       ? static_cast<unsigned char>(octets[16])
		       : -1;
}

namespace {

struct Found {
	addrinfo *list = nullptr;

	Found(const std::string &address, const char *port)
	{
		addrinfo hints{};

		hints.ai_socktype = SOCK_STREAM;
		hints.ai_flags = AI_NUMERICHOST;
		require(!getaddrinfo(address.c_str(), port, &hints, &list),
			"getaddrinfo " + address);
	}
	~Found() { freeaddrinfo(list); }
	addrinfo *operator->() const { return list; }
};

bool readable(int fd, int timeout_ms)
{
	pollfd which{fd, POLLIN, 0};

	return poll(&which, 1, timeout_ms) == 1;
}

void make_qp(rdma_cm_id *id)
{
	ibv_qp_init_attr init{};

	init.cap = {4, 4, 1, 1, 0};
	init.qp_type = IBV_QPT_RC;
	require(!rdma_create_qp(id, nullptr, &init), "rdma_create_qp");
}

void end(rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

rdma_conn_param depth_of_one()
{
	rdma_conn_param param{};

	param.responder_resources = param.initiator_depth = 1;
	return param;
}

} // namespace

// ---- server ----

Server::Server(Manner how, const std::string &address, const char *port, int backlog)
	: manner(how), channel(rdma_create_event_channel())
{
	Found found(address, port);

	require(channel && !rdma_create_id(channel, &listening, nullptr, RDMA_PS_TCP),
		"rdma_create_id");
	if (rdma_bind_addr(listening, found->ai_addr) || rdma_listen(listening, backlog)) {
		const std::string why = strerror(errno);

		rdma_destroy_id(listening);
		rdma_destroy_event_channel(channel);
		throw Failure("listening at " + address + ": " + why);
	}
	if (manner != Manner::is_deaf)
		thread = std::thread([this] { serve(); });
}

// Closing the channel's descriptor ends all its ids in the kernel, including connections and
// requests not fetched yet.
Server::~Server()
{
	stop = true;
	if (thread.joinable())
		thread.join();
	if (manner != Manner::is_deaf)
		rdma_destroy_id(listening);
	rdma_destroy_event_channel(channel);
}

std::string Server::device() const
{
	std::lock_guard<std::mutex> lock(mutex);

	return last_device;
}

uint16_t Server::peer_port() const
{
	std::lock_guard<std::mutex> lock(mutex);

	return last_peer_port;
}

void Server::answer(rdma_cm_id *id)
{
	rdma_conn_param param = depth_of_one();

	{
		std::lock_guard<std::mutex> lock(mutex);

		last_device = ibv_get_device_name(id->verbs->device);
		last_peer_port = ntohs(rdma_get_dst_port(id));
	}
	if (manner == Manner::rejects) {
		rdma_reject(id, "no", 2);
		rdma_destroy_id(id);
		return;
	}
	if (manner == Manner::accepts_late)
		std::this_thread::sleep_for(std::chrono::milliseconds(200));
	make_qp(id);
	if (rdma_accept(id, &param))
		end(id);
	else if (manner == Manner::disconnects)
		rdma_disconnect(id);
}

void Server::serve()
{
	rdma_cm_event *event;

	while (!stop) {
		if (!readable(channel->fd, 20) || rdma_get_cm_event(channel, &event))
			continue;
		rdma_cm_id *id = event->id;
		const rdma_cm_event_type type = event->event;
		rdma_ack_cm_event(event);
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
			answer(id);
		else if (id != listening && type != RDMA_CM_EVENT_ESTABLISHED &&
			 type != RDMA_CM_EVENT_TIMEWAIT_EXIT)
			end(id);
	}
}

// ---- client ----

Client::Client(const std::string &from, const std::string &to, const char *port,
	       const char *from_port)
	: channel(rdma_create_event_channel())
{
	Found source(from, from_port), target(to, port);
	rdma_conn_param param = depth_of_one();
	int reuse = from_port != nullptr;

	require(channel && !rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
	require(!rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &reuse,
				 sizeof(reuse)),
		"RDMA_OPTION_ID_REUSEADDR");
	require(!rdma_resolve_addr(id, source->ai_addr, target->ai_addr, 10000) &&
			outcome(11000) == RDMA_CM_EVENT_ADDR_RESOLVED &&
			!rdma_resolve_route(id, 10000) &&
			outcome(11000) == RDMA_CM_EVENT_ROUTE_RESOLVED,
		"resolving " + to);
	make_qp(id);
	const int refused = rdma_connect(id, &param);
	require(!refused, std::string("rdma_connect: ") + strerror(errno));
}

Client::~Client()
{
	end(id);
	rdma_destroy_event_channel(channel);
}

rdma_cm_event_type Client::outcome(int timeout_ms)
{
	rdma_cm_event *event;

	require(readable(channel->fd, timeout_ms) && !rdma_get_cm_event(channel, &event),
		"no event came");
	const rdma_cm_event_type type = event->event;
	rdma_ack_cm_event(event);
	return type;
}

uint16_t Client::source_port() const { return ntohs(rdma_get_src_port(id)); }

void Client::disconnect() { require(!rdma_disconnect(id), "rdma_disconnect"); }

// ---- plain TCP ----

Tcp::Tcp(const std::string &address, const char *port)
{
	Found found(address, port);

	fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, found->ai_addr, found->ai_addrlen)) {
		close(fd);
		throw Failure("TCP to " + address + ": " + strerror(errno));
	}
}

Tcp::~Tcp()
{
	if (fd >= 0)
		close(fd);
}

bool Tcp::try_send(const std::string &octets) const
{
	return ::send(fd, octets.data(), octets.size(), MSG_NOSIGNAL) ==
	       static_cast<ssize_t>(octets.size());
}

void Tcp::send(const std::string &octets) const
{
	require(try_send(octets), "the peer takes no more octets");
}

std::string Tcp::receive(size_t len, int timeout_ms) const
{
	std::string got;
	char octets[512];

	while (got.size() < len && readable(fd, timeout_ms)) {
		ssize_t n = recv(fd, octets, std::min(sizeof(octets), len - got.size()), 0);

		if (n <= 0)
			break;
		got.append(octets, static_cast<size_t>(n));
	}
	return got;
}

bool Tcp::closed(int timeout_ms) const
{
	char octet;

	return readable(fd, timeout_ms) && recv(fd, &octet, 1, 0) <= 0;
}

void Tcp::reset()
{
	const linger none{1, 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	close(fd);
	fd = -1;
}

TcpListener::TcpListener(const std::string &address, const char *port)
{
	Found found(address, port);
	const int yes = 1;

	fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	require(!bind(fd, found->ai_addr, found->ai_addrlen) && !listen(fd, 16), "a TCP listener");
}

TcpListener::~TcpListener() { close(fd); }

Tcp TcpListener::accept() const
{
	require(readable(fd, 5000), "nobody connects");
	return Tcp(::accept(fd, nullptr, nullptr));
}
