// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Many connections that begin at the same moment.
//	burst serve ADDRESS PORT
//	burst connect ADDRESS PORT CLASS PROCESSES CONNECTIONS [FROM]...
// The server accepts whatever comes, until it is killed. Each process of the client prepares its
// CONNECTIONS in the usual scheduling class, from one of the addresses after the other; then all
// change to the scheduling class CLASS (other, batch, idle, fifo, rr) and connect all of them
// without waiting for an answer. Prints how many connected and what became of the others; fails
// unless all connected.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <rdma/rdma_cma.h>

namespace {

constexpr int most = 1024; // of connections that wait for the server: rdma_cm's limit
constexpr int patience = 60000;

void need(bool worked, const std::string &what)
{
	if (!worked)
		throw std::runtime_error(what + ": " + strerror(errno));
}

class Found {
	addrinfo *list = nullptr;

public:
	Found(const char *address, const char *port)
	{
		addrinfo hints{};

		hints.ai_flags = AI_NUMERICHOST;
		hints.ai_socktype = SOCK_STREAM;
		if (getaddrinfo(address, port, &hints, &list))
			throw std::runtime_error(std::string("no address: ") + address);
	}
	Found(const Found &) = delete;
	~Found() { freeaddrinfo(list); }
	sockaddr *address() const { return list->ai_addr; }
};

// The ids of a process. All share a CQ.
class Ids {
	rdma_event_channel *const events = rdma_create_event_channel();
	ibv_cq *cq = nullptr;

public:
	rdma_cm_id *make()
	{
		rdma_cm_id *id;

		need(events && !rdma_create_id(events, &id, nullptr, RDMA_PS_TCP),
		     "rdma_create_id");
		return id;
	}
	void make_qp(rdma_cm_id *id)
	{
		ibv_qp_init_attr attr{};

		if (!cq)
			need((cq = ibv_create_cq(id->verbs, 4, nullptr, nullptr, 0)),
			     "ibv_create_cq");
		attr.cap = {1, 1, 1, 1, 0};
		attr.qp_type = IBV_QPT_RC;
		attr.send_cq = attr.recv_cq = cq;
		need(!rdma_create_qp(id, nullptr, &attr), "rdma_create_qp");
	}
	// The next event; nothing if none comes for a while. The id stays valid.
	bool next(rdma_cm_event_type &type, int &status, rdma_cm_id *&id) const
	{
		pollfd which{events->fd, POLLIN, 0};
		rdma_cm_event *event;

		if (poll(&which, 1, patience) != 1)
			return false;
		need(!rdma_get_cm_event(events, &event), "rdma_get_cm_event");
		type = event->event;
		status = event->status;
		id = event->id;
		rdma_ack_cm_event(event);
		return true;
	}
	void expect(rdma_cm_event_type wanted) const
	{
		rdma_cm_event_type type = RDMA_CM_EVENT_CONNECT_ERROR;
		rdma_cm_id *id;
		int status;

		if (!next(type, status, id) || type != wanted)
			throw std::runtime_error(std::string("no ") + rdma_event_str(wanted));
	}
};

rdma_conn_param depth_of_one()
{
	rdma_conn_param param{};

	param.initiator_depth = param.responder_resources = 1;
	return param;
}

// ---- the server ----

[[noreturn]] void serve(const char *address, const char *port)
{
	const Found at(address, port);
	rdma_conn_param param = depth_of_one();
	Ids ids;
	rdma_cm_id *const listening = ids.make();

	need(!rdma_bind_addr(listening, at.address()) && !rdma_listen(listening, most), "listen");
	for (;;) {
		rdma_cm_event_type type;
		rdma_cm_id *id;
		int status;

		if (!ids.next(type, status, id) || id == listening)
			continue;
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			ids.make_qp(id);
			rdma_accept(id, &param); // its error: the peer has left
		} else if (type == RDMA_CM_EVENT_DISCONNECTED) {
			rdma_destroy_qp(id);
			rdma_destroy_id(id);
		}
	}
}

// ---- the client ----

void change_class(const std::string &name)
{
	static const std::map<std::string, int> classes = {{"other", SCHED_OTHER},
							   {"batch", SCHED_BATCH},
							   {"idle", SCHED_IDLE},
							   {"fifo", SCHED_FIFO},
							   {"rr", SCHED_RR}};
	const int which = classes.at(name);
	const sched_param param{which == SCHED_FIFO || which == SCHED_RR};

	need(!sched_setscheduler(0, which, &param), "sched_setscheduler");
}

rdma_cm_id *prepare(Ids &ids, const Found *from, const Found &to)
{
	rdma_cm_id *id = ids.make();

	need(!rdma_resolve_addr(id, from ? from->address() : nullptr, to.address(), 10000),
	     "rdma_resolve_addr");
	ids.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	need(!rdma_resolve_route(id, 10000), "rdma_resolve_route");
	ids.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	ids.make_qp(id);
	return id;
}

// True if all connect.
bool outcomes(const Ids &ids, size_t wanted)
{
	std::map<std::string, int> others;
	size_t connected = 0, failed = 0;

	while (connected + failed < wanted) {
		rdma_cm_event_type type;
		rdma_cm_id *id;
		int status;

		if (!ids.next(type, status, id))
			break;
		if (type == RDMA_CM_EVENT_ESTABLISHED) {
			connected++;
			continue;
		}
		failed++;
		others[std::string(rdma_event_str(type)) + " " + std::to_string(status)]++;
	}
	if (connected == wanted)
		return true;
	printf("%zu of %zu connected\n", connected, wanted);
	for (const auto &[what, times] : others)
		printf("%d times %s\n", times, what.c_str());
	fflush(stdout);
	return false;
}

struct Burst {
	const char *address, *port;
	std::string scheduling;
	int processes, connections;
	std::vector<const char *> from;
};

// ready: a line for each process that has prepared; go: closed when all have.
bool connect_all(const Burst &burst, int number, int ready, int go)
{
	const Found to(burst.address, burst.port);
	rdma_conn_param param = depth_of_one();
	std::vector<rdma_cm_id *> prepared;
	Ids ids;
	char octet = '\n';

	for (int i = 0; i < burst.connections; i++) {
		const size_t nth = static_cast<size_t>(number * burst.connections + i);

		if (burst.from.empty()) {
			prepared.push_back(prepare(ids, nullptr, to));
			continue;
		}
		const Found from(burst.from[nth % burst.from.size()], nullptr);
		prepared.push_back(prepare(ids, &from, to));
	}
	need(write(ready, &octet, 1) == 1 && !read(go, &octet, 1), "the start");
	change_class(burst.scheduling);
	for (rdma_cm_id *id : prepared)
		need(!rdma_connect(id, &param), "rdma_connect");
	return outcomes(ids, prepared.size());
}

[[noreturn]] void run_child(const Burst &burst, int number, const int ready[2], const int go[2])
{
	int status = 1;

	close(ready[0]);
	close(go[1]);
	try {
		status = !connect_all(burst, number, ready[1], go[0]);
	} catch (const std::exception &trouble) {
		printf("%s\n", trouble.what());
		fflush(stdout);
	}
	_exit(status); // the kernel closes all of it
}

bool connect_from_processes(const Burst &burst)
{
	int ready[2], go[2], status, failed = 0;
	char octet;

	need(!pipe(ready) && !pipe(go), "pipe");
	for (int i = 0; i < burst.processes; i++)
		if (!fork())
			run_child(burst, i, ready, go);
	close(ready[1]);
	close(go[0]);
	for (int i = 0; i < burst.processes && read(ready[0], &octet, 1) == 1; i++)
		;
	close(go[1]);
	while (wait(&status) > 0)
		failed += status != 0;
	return !failed;
}

} // namespace

int main(int argc, char **argv)
try {
	if (argc == 4 && !strcmp(argv[1], "serve"))
		serve(argv[2], argv[3]);
	if (argc < 7 || strcmp(argv[1], "connect"))
		throw std::runtime_error("burst serve ADDRESS PORT, or burst connect ADDRESS PORT "
					 "CLASS PROCESSES CONNECTIONS [FROM]...");
	return !connect_from_processes({argv[2], argv[3], argv[4], atoi(argv[5]), atoi(argv[6]),
					std::vector<const char *>(argv + 7, argv + argc)});
} catch (const std::exception &trouble) {
	fprintf(stderr, "%s\n", trouble.what());
	return 1;
}
