// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Many connections that are idle: prints the kernel's memory for each end, and how often a
// processor was given to somebody.
//	crowd rdma|tcp ADDRESS CONNECTIONS
// Both ends are in this process. Each connection has carried a message both ways. The ends of all
// share a protection domain and a CQ. Rings are counted apart: they are as large as asked for. Half
// as many connections come first, uncounted: they take what earlier users of the kernel's caches
// left.
#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <netinet/in.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <rdma/rdma_cma.h>

namespace {

using namespace std::chrono_literals;

constexpr auto idle = 4s;

void need(bool worked, const std::string &what)
{
	if (!worked)
		throw std::runtime_error(what + ": " + strerror(errno));
}

// ---- what is measured ----

// A number of a file whose lines are "NAME... NUMBER...".
long number(const char *path, const std::string &name)
{
	std::ifstream file(path);
	std::string line, word;

	while (std::getline(file, line)) {
		std::istringstream words(line);
		long value;

		if (words >> word && word == name && words >> value)
			return value;
	}
	throw std::runtime_error(std::string("no ") + name + " in " + path);
}

// Octets that neither a process nor a file has.
long kernel_memory()
{
	constexpr const char *path = "/proc/meminfo";
	long kib = number(path, "MemTotal:");

	for (const char *name : {"MemFree:", "Buffers:", "Cached:", "AnonPages:", "PageTables:"})
		kib -= number(path, name);
	return 1024 * kib;
}

// The same, once it changes no more: pages that are kept for reuse are given back after a second,
// and what was deleted before this program began is freed by and by.
long steady_memory()
{
	constexpr long same = 64 << 10;
	long memory = kernel_memory(), last;
	int patience = 20;

	do {
		std::this_thread::sleep_for(2s);
		last = memory;
		memory = kernel_memory();
	} while (labs(memory - last) > same && patience--);
	return memory;
}

long switches() { return number("/proc/stat", "ctxt"); }

// Octets of the rings that this process has mapped.
long rings()
{
	std::ifstream file("/proc/self/maps");
	std::string line;
	long sum = 0;

	while (std::getline(file, line)) {
		unsigned long begin, end;

		if (line.find("/dev/infiniband/uverbs") != line.npos &&
		    sscanf(line.c_str(), "%lx-%lx", &begin, &end) == 2)
			sum += static_cast<long>(end - begin);
	}
	return sum;
}

// ---- RDMA ----

sockaddr_in address_of(const char *text, uint16_t port)
{
	sockaddr_in at{};

	at.sin_family = AF_INET;
	at.sin_port = htons(port);
	need(inet_pton(AF_INET, text, &at.sin_addr) == 1, text);
	return at;
}

class Side {
public:
	rdma_event_channel *const events = rdma_create_event_channel();
	std::vector<rdma_cm_id *> ids;

	rdma_cm_id *make_id()
	{
		rdma_cm_id *id;

		need(events && !rdma_create_id(events, &id, nullptr, RDMA_PS_TCP),
		     "rdma_create_id");
		return id;
	}
	rdma_cm_id *await(rdma_cm_event_type type) const
	{
		rdma_cm_event *event;

		need(!rdma_get_cm_event(events, &event), "rdma_get_cm_event");
		rdma_cm_id *id = event->id;
		const rdma_cm_event_type came = event->event;
		rdma_ack_cm_event(event);
		if (came != type)
			throw std::runtime_error(std::string(rdma_event_str(came)) +
						 " instead of " + rdma_event_str(type));
		return id;
	}
	void make_qp(rdma_cm_id *id)
	{
		ibv_qp_init_attr attr{};

		if (!cq)
			begin(id->verbs);
		attr.cap = {1, 1, 1, 1, 0};
		attr.qp_type = IBV_QPT_RC;
		attr.send_cq = attr.recv_cq = cq;
		need(!rdma_create_qp(id, pd, &attr), "rdma_create_qp");
		ids.push_back(id);
		receive(id);
	}
	void send(rdma_cm_id *id)
	{
		ibv_sge piece{reinterpret_cast<uintptr_t>(octets), sizeof(octets), mr->lkey};
		ibv_send_wr *bad, wr{};

		wr.sg_list = &piece;
		wr.num_sge = 1;
		wr.opcode = IBV_WR_SEND;
		wr.send_flags = IBV_SEND_SIGNALED;
		need(!(errno = ibv_post_send(id->qp, &wr, &bad)), "ibv_post_send");
	}
	// The completions of a send and of a receive.
	void both_complete()
	{
		for (int done = 0; done < 2; done++) {
			ibv_wc wc;
			int n;

			while (!(n = ibv_poll_cq(cq, 1, &wc)))
				std::this_thread::yield();
			if (n < 0 || wc.status != IBV_WC_SUCCESS)
				throw std::runtime_error("a message failed");
		}
	}

private:
	ibv_pd *pd = nullptr;
	ibv_cq *cq = nullptr;
	ibv_mr *mr = nullptr;
	char octets[64] = "";

	void begin(ibv_context *verbs)
	{
		need((pd = ibv_alloc_pd(verbs)), "ibv_alloc_pd");
		need((cq = ibv_create_cq(verbs, 4, nullptr, nullptr, 0)), "ibv_create_cq");
		need((mr = ibv_reg_mr(pd, octets, sizeof(octets), IBV_ACCESS_LOCAL_WRITE)),
		     "ibv_reg_mr");
	}
	void receive(rdma_cm_id *id)
	{
		ibv_sge piece{reinterpret_cast<uintptr_t>(octets), sizeof(octets), mr->lkey};
		ibv_recv_wr *bad, wr{};

		wr.sg_list = &piece;
		wr.num_sge = 1;
		need(!(errno = ibv_post_recv(id->qp, &wr, &bad)), "ibv_post_recv");
	}
};

class RdmaCrowd {
	Side server, client;
	rdma_cm_id *listening;
	sockaddr_in at;

public:
	explicit RdmaCrowd(const char *address)
		: listening(server.make_id()), at(address_of(address, 0))
	{
		need(!rdma_bind_addr(listening, reinterpret_cast<sockaddr *>(&at)),
		     "rdma_bind_addr");
		need(!rdma_listen(listening, 16), "rdma_listen");
		at.sin_port = rdma_get_src_port(listening);
	}
	void add()
	{
		rdma_cm_id *id = client.make_id();
		rdma_conn_param param{};

		param.initiator_depth = param.responder_resources = 1;
		need(!rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr *>(&at), 5000),
		     "rdma_resolve_addr");
		client.await(RDMA_CM_EVENT_ADDR_RESOLVED);
		need(!rdma_resolve_route(id, 5000), "rdma_resolve_route");
		client.await(RDMA_CM_EVENT_ROUTE_RESOLVED);
		client.make_qp(id);
		need(!rdma_connect(id, &param), "rdma_connect");
		rdma_cm_id *accepted = server.await(RDMA_CM_EVENT_CONNECT_REQUEST);
		server.make_qp(accepted);
		need(!rdma_accept(accepted, &param), "rdma_accept");
		server.await(RDMA_CM_EVENT_ESTABLISHED);
		client.await(RDMA_CM_EVENT_ESTABLISHED);
		client.send(id);
		server.send(accepted);
		client.both_complete();
		server.both_complete();
	}
};

// ---- TCP ----

class TcpCrowd {
	const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	sockaddr_in at;

public:
	explicit TcpCrowd(const char *address) : at(address_of(address, 0))
	{
		socklen_t len = sizeof(at);

		need(!bind(listening, reinterpret_cast<sockaddr *>(&at), len) &&
			     !listen(listening, 16) &&
			     !getsockname(listening, reinterpret_cast<sockaddr *>(&at), &len),
		     "listen");
	}
	void add()
	{
		const int from = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		char octets[64] = "";

		need(!connect(from, reinterpret_cast<sockaddr *>(&at), sizeof(at)), "connect");
		const int to = accept(listening, nullptr, nullptr);
		for (auto [writes, reads] : {std::pair(from, to), std::pair(to, from)})
			need(write(writes, octets, sizeof(octets)) == sizeof(octets) &&
				     read(reads, octets, sizeof(octets)) == sizeof(octets),
			     "a message");
	}
};

struct Memory {
	long kernel, rings;

	Memory beyond(const Memory &earlier, long ends) const
	{
		const long ring = rings - earlier.rings;

		return {(kernel - earlier.kernel - ring) / ends, ring / ends};
	}
};

template <class Crowd> Memory with_more(Crowd &crowd, int connections)
{
	for (int i = 0; i < connections; i++)
		crowd.add();
	return {steady_memory(), rings()};
}

template <class Crowd> void measure(const char *address, int connections)
{
	Crowd crowd(address);
	const Memory before = with_more(crowd, connections / 2);
	const Memory each = with_more(crowd, connections).beyond(before, 2L * connections);
	const long began = switches();

	std::this_thread::sleep_for(idle);
	printf("octets %ld\nrings %ld\nswitches %ld\n", each.kernel, each.rings,
	       switches() - began);
	fflush(stdout);
	_exit(0); // the kernel closes all of it
}

} // namespace

int main(int argc, char **argv)
try {
	if (argc != 4)
		throw std::runtime_error("crowd rdma|tcp ADDRESS CONNECTIONS");
	if (!strcmp(argv[1], "tcp"))
		measure<TcpCrowd>(argv[2], atoi(argv[3]));
	measure<RdmaCrowd>(argv[2], atoi(argv[3]));
} catch (const std::exception &trouble) {
	fprintf(stderr, "%s\n", trouble.what());
	return 1;
}
