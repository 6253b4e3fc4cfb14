// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// rdma_cm consumers of both roles, event by event, and their plain TCP peers.
#pragma once
#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include <rdma/rdma_cma.h>

// What a server does with a request to connect.
enum class Manner {
	accepts,
	accepts_late, // after 200 ms
	rejects,
	disconnects, // accepts, and ends the connection at once
	is_deaf,     // fetches no events at all
};

// Listens; throws if that fails. Destroying it closes the listening id and all connections.
class Server {
	Manner manner;
	rdma_event_channel *channel;
	rdma_cm_id *listening = nullptr;
	std::atomic<bool> stop = false;
	std::thread thread;
	mutable std::mutex mutex;
	std::string last_device;
	uint16_t last_peer_port = 0;

public:
	Server(Manner manner, const std::string &address, const char *port, int backlog = 64);
	Server(const Server &) = delete;
	~Server();
	// Of the latest request.
	std::string device() const;
	uint16_t peer_port() const;

private:
	void serve();
	void answer(rdma_cm_id *id);
};

// Connects; the outcome is awaited separately.
class Client {
	rdma_event_channel *channel;
	rdma_cm_id *id = nullptr;

public:
	// from_port: with RDMA_OPTION_ID_REUSEADDR; without, rdma_cm chooses one.
	Client(const std::string &from, const std::string &to, const char *port,
	       const char *from_port = nullptr);
	Client(const Client &) = delete;
	~Client();
	// The next event; throws if none comes within the time.
	rdma_cm_event_type outcome(int timeout_ms);
	// Its local port, as rdma_cm has it.
	uint16_t source_port() const;
	// Begins a graceful end, whose outcome is DISCONNECTED.
	void disconnect();
};

// A TCP connection; closed by FIN at the end unless reset before.
class Tcp {
	int fd;

public:
	explicit Tcp(int connected) : fd(connected) {}
	Tcp(const std::string &address, const char *port);
	Tcp(const Tcp &) = delete;
	Tcp(Tcp &&other) : fd(other.fd) { other.fd = -1; }
	~Tcp();
	void send(const std::string &octets) const;
	bool try_send(const std::string &octets) const;
	// Up to so many octets: fewer if the peer closes or after a timeout.
	std::string receive(size_t len, int timeout_ms = 5000) const;
	// The peer has closed and sent nothing more.
	bool closed(int timeout_ms) const;
	void reset();
};

// A TCP listener; never accepts unless asked to.
class TcpListener {
	int fd;

public:
	TcpListener(const std::string &address, const char *port);
	TcpListener(const TcpListener &) = delete;
	~TcpListener();
	Tcp accept() const;
};

// Valid frames: RFC 5044 7.1.1 with RFC 6581's enhanced data (IRD and ORD of 1, peer-to-peer, every
// RTR).
extern const std::string good_request, good_reply;
// Is it a Reply, and which flags has it? -1 if not.
int reply_flags(const std::string &octets);
