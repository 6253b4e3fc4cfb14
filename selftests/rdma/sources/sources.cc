// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Connects a host to its own servers, in turn, and counts.
//	sources rdma|tcp ADDRESS held N		N connections that are there at once
//	sources rdma|tcp ADDRESS short N	one after the other; the client closes
//	sources rdma ADDRESS PORT N		at once, from this port, shared by them
// Prints how many connections came from another port than rdma_cm said, and how many there were.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "../local/pair.hh"
#include "../shared/consumer.hh"

namespace {

constexpr int num_servers = 8, first_port = 20000;

std::string port_of(int server) { return std::to_string(first_port + server); }

// ---- connections of both kinds ----

class RdmaConnection {
	Client client;

public:
	// Whether the server sees the port that rdma_cm said.
	bool is_true;

	RdmaConnection(const std::string &address, const Server &server, const std::string &port,
		       const char *from_port)
		: client(address, address, port.c_str(), from_port)
	{
		const uint16_t said = client.source_port();
		const rdma_cm_event_type outcome = client.outcome(20000);

		require(outcome == RDMA_CM_EVENT_ESTABLISHED,
			std::string("connecting: ") + rdma_event_str(outcome));
		is_true = server.peer_port() == said;
	}
	void close()
	{
		client.disconnect();
		require(client.outcome(20000) == RDMA_CM_EVENT_DISCONNECTED, "disconnecting");
	}
};

class Rdma {
	const std::string address;
	const char *from_port;
	std::vector<std::unique_ptr<Server>> servers;

public:
	using Connection = RdmaConnection;

	Rdma(const char *at, const char *port) : address(at), from_port(port)
	{
		for (int i = 0; i < num_servers; i++)
			servers.push_back(std::make_unique<Server>(Manner::accepts, address,
								   port_of(i).c_str()));
	}
	std::unique_ptr<Connection> connect(int server)
	{
		return std::make_unique<Connection>(address, *servers[server], port_of(server),
						    from_port);
	}
};

class TcpConnection {
	std::unique_ptr<Tcp> client;
	Tcp server;

public:
	const bool is_true = true;

	TcpConnection(const std::string &address, const TcpListener &listener,
		      const std::string &port)
		: client(std::make_unique<Tcp>(address, port.c_str())), server(listener.accept())
	{
	}
	void close()
	{
		client.reset();
		require(server.closed(20000), "a FIN does not arrive");
	}
};

class PlainTcp {
	const std::string address;
	std::vector<std::unique_ptr<TcpListener>> servers;

public:
	using Connection = TcpConnection;

	PlainTcp(const char *at, const char *) : address(at)
	{
		for (int i = 0; i < num_servers; i++)
			servers.push_back(
				std::make_unique<TcpListener>(address, port_of(i).c_str()));
	}
	std::unique_ptr<Connection> connect(int server)
	{
		return std::make_unique<Connection>(address, *servers[server], port_of(server));
	}
};

// ---- what is done with them ----

struct Count {
	int connections = 0, untrue = 0;
};

template <class Kind> void connect_all(Kind &kind, bool held, int wanted, Count &count)
{
	std::vector<std::unique_ptr<typename Kind::Connection>> all;

	while (count.connections < wanted) {
		auto connection = kind.connect(count.connections % num_servers);

		count.untrue += !connection->is_true;
		count.connections++;
		if (held)
			all.push_back(std::move(connection));
		else
			connection->close();
	}
	for (auto &connection : all)
		connection->close();
}

template <class Kind> int run(const char *address, const char *how, int wanted)
{
	const bool is_short = !strcmp(how, "short"), is_port = atoi(how);
	Kind kind(address, is_port ? how : nullptr);
	Count count;
	int status = 0;

	try {
		connect_all(kind, !is_short, wanted, count);
	} catch (const std::exception &trouble) {
		printf("%s\n", trouble.what());
		status = 1;
	}
	printf("untrue %d\nconnections %d\n", count.untrue, count.connections);
	return status;
}

} // namespace

int main(int argc, char **argv)
try {
	if (argc != 5)
		throw std::runtime_error("sources rdma|tcp ADDRESS held|short|PORT N");
	return (!strcmp(argv[1], "tcp") ? run<PlainTcp> : run<Rdma>)(argv[2], argv[3],
								     atoi(argv[4]));
} catch (const std::exception &trouble) {
	fprintf(stderr, "%s\n", trouble.what());
	return 1;
}
